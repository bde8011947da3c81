package egress

import (
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	none, dev, own := New(Config{}), New(Config{AllowLoopback: true}), New(Config{Allow: list(
		"10.0.0.0/8", "169.254.0.0/16", "fd00::/8", "127.0.0.1/32", "203.0.113.7/32")})
	for address, want := range map[string]struct {
		// The reasons without exceptions, with the development switch, and with networks of the operator; "" lets it through.
		none, dev, own string
	}{
		"8.8.8.8":                {"", "", ""},
		"1.1.1.1":                {"", "", ""},
		"172.15.255.255":         {"", "", ""},
		"172.32.0.1":             {"", "", ""},
		"100.63.255.255":         {"", "", ""},
		"100.128.0.1":            {"", "", ""},
		"2606:4700::1111":        {"", "", ""},
		"::ffff:8.8.8.8":         {"", "", ""},
		"64:ff9b::808:808":       {"", "", ""},
		"2002:808:808::1":        {"", "", ""},
		"127.0.0.1":              {reasonLoopback, "", ""},
		"127.8.9.10":             {reasonLoopback, "", reasonLoopback},
		"::1":                    {reasonLoopback, "", reasonLoopback},
		"::ffff:127.0.0.1":       {reasonLoopback, "", ""},
		"::ffff:7f00:1":          {reasonLoopback, "", ""},
		"64:ff9b::7f00:1":        {reasonLoopback, reasonLoopback, reasonLoopback},
		"2002:7f00:1::":          {reasonLoopback, reasonLoopback, reasonLoopback},
		"10.1.2.3":               {reasonPrivate, reasonPrivate, ""},
		"::ffff:10.1.2.3":        {reasonPrivate, reasonPrivate, ""},
		"64:ff9b::a01:203":       {reasonPrivate, reasonPrivate, reasonPrivate},
		"2002:a01:203::1":        {reasonPrivate, reasonPrivate, reasonPrivate},
		"172.16.0.1":             {reasonPrivate, reasonPrivate, reasonPrivate},
		"172.31.255.255":         {reasonPrivate, reasonPrivate, reasonPrivate},
		"192.168.1.1":            {reasonPrivate, reasonPrivate, reasonPrivate},
		"100.64.0.1":             {reasonPrivate, reasonPrivate, reasonPrivate},
		"100.127.255.255":        {reasonPrivate, reasonPrivate, reasonPrivate},
		"169.254.1.1":            {reasonPrivate, reasonPrivate, ""},
		"fe80::1":                {reasonPrivate, reasonPrivate, reasonPrivate},
		"fe80::1%eth0":           {reasonPrivate, reasonPrivate, reasonPrivate},
		"fd00::1%eth0":           {reasonPrivate, reasonPrivate, reasonPrivate},
		"fec0::1":                {reasonPrivate, reasonPrivate, reasonPrivate},
		"fc00::1":                {reasonPrivate, reasonPrivate, reasonPrivate},
		"fd12::1":                {reasonPrivate, reasonPrivate, ""},
		"169.254.169.254":        {reasonMetadata, reasonMetadata, reasonMetadata},
		"::ffff:169.254.169.254": {reasonMetadata, reasonMetadata, reasonMetadata},
		"64:ff9b::a9fe:a9fe":     {reasonMetadata, reasonMetadata, reasonMetadata},
		"2002:a9fe:a9fe::":       {reasonMetadata, reasonMetadata, reasonMetadata},
		"fd00:ec2::254":          {reasonMetadata, reasonMetadata, reasonMetadata},
		"fd20:ce::254":           {reasonMetadata, reasonMetadata, reasonMetadata},
		"100.100.100.200":        {reasonMetadata, reasonMetadata, reasonMetadata},
		"168.63.129.16":          {reasonMetadata, reasonMetadata, reasonMetadata},
		"0.0.0.0":                {reasonSpecial, reasonSpecial, reasonSpecial},
		"0.1.2.3":                {reasonSpecial, reasonSpecial, reasonSpecial},
		"::":                     {reasonSpecial, reasonSpecial, reasonSpecial},
		"::7f00:1":               {reasonSpecial, reasonSpecial, reasonSpecial},
		"64:ff9b:1::a01:203":     {reasonSpecial, reasonSpecial, reasonSpecial},
		"2001::1":                {reasonSpecial, reasonSpecial, reasonSpecial},
		"2001:db8::1":            {reasonSpecial, reasonSpecial, reasonSpecial},
		"100::1":                 {reasonSpecial, reasonSpecial, reasonSpecial},
		"ff02::1":                {reasonSpecial, reasonSpecial, reasonSpecial},
		"224.0.0.1":              {reasonSpecial, reasonSpecial, reasonSpecial},
		"239.1.2.3":              {reasonSpecial, reasonSpecial, reasonSpecial},
		"240.0.0.1":              {reasonSpecial, reasonSpecial, reasonSpecial},
		"255.255.255.255":        {reasonSpecial, reasonSpecial, reasonSpecial},
		"192.0.2.1":              {reasonSpecial, reasonSpecial, reasonSpecial},
		"198.18.0.1":             {reasonSpecial, reasonSpecial, reasonSpecial},
		"203.0.113.7":            {reasonSpecial, reasonSpecial, ""},
	} {
		a := netip.MustParseAddr(address)
		for i, c := range []*Client{none, dev, own} {
			want := []string{want.none, want.dev, want.own}[i]
			if got := c.check(a, false); got != want {
				t.Errorf("%s, client %d: %q, want %q", address, i, got, want)
			}
			// Unencrypted, only what the operator has allowed is reached.
			plain := c.check(a, true)
			allowed := want == "" && notPublic(a.Unmap().WithZone("")) != ""
			if allowed != (plain == "") {
				t.Errorf("%s over http, client %d: %q", address, i, plain)
			}
		}
	}
}

func TestCheckURL(t *testing.T) {
	t.Parallel()
	none, dev, own := New(Config{}), New(Config{AllowLoopback: true}), New(Config{Allow: list("10.0.0.0/8", "127.0.0.1/32")})
	for address, want := range map[string]struct{ none, dev, own string }{
		"https://api.example.com/v1":           {"", "", ""},
		"https://api.example.com.:8443/v1":     {"", "", ""},
		"https://xn--bcher-kva.example":        {"", "", ""},
		"https://8.8.8.8/v1":                   {"", "", ""},
		"https://[2606:4700::1111]/v1":         {"", "", ""},
		"http://api.example.com/v1":            {reasonPlain, "", ""}, // the address decides when it is dialled
		"http://8.8.8.8/v1":                    {reasonPlain, reasonPlain, reasonPlain},
		"http://127.0.0.1:11434/v1":            {reasonLoopback, "", ""},
		"http://localhost:11434/v1":            {reasonLoopback, "", ""},
		"http://LOCALHOST.:11434/v1":           {reasonLoopback, "", ""},
		"http://a.localhost/v1":                {reasonLoopback, "", ""},
		"https://[::1]/v1":                     {reasonLoopback, "", reasonLoopback},
		"https://[::ffff:127.0.0.1]/v1":        {reasonLoopback, "", ""},
		"http://10.0.0.7/v1":                   {reasonPrivate, reasonPrivate, ""},
		"https://192.168.0.1":                  {reasonPrivate, reasonPrivate, reasonPrivate},
		"https://169.254.169.254/latest":       {reasonMetadata, reasonMetadata, reasonMetadata},
		"https://[fe80::1%25eth0]/":            {reasonPrivate, reasonPrivate, reasonPrivate},
		"https://2130706433/":                  {reasonHost, reasonHost, reasonHost},
		"https://0x7f000001/":                  {reasonHost, reasonHost, reasonHost},
		"https://0x7f.1/":                      {reasonHost, reasonHost, reasonHost},
		"https://0177.0.0.1/":                  {reasonHost, reasonHost, reasonHost},
		"https://127.1/":                       {reasonHost, reasonHost, reasonHost},
		"https://127.0.0.0x1/":                 {reasonHost, reasonHost, reasonHost},
		"https://1.2.3.4.5/":                   {reasonHost, reasonHost, reasonHost},
		"https://１２７.0.0.1/":                   {reasonHost, reasonHost, reasonHost},
		"https://127。0。0。1/":                   {reasonHost, reasonHost, reasonHost},
		"https://bücher.example/":              {reasonHost, reasonHost, reasonHost},
		"https://a..b/":                        {reasonHost, reasonHost, reasonHost},
		"https:///v1":                          {reasonHost, reasonHost, reasonHost},
		"https://:443/v1":                      {reasonHost, reasonHost, reasonHost},
		"https://example.com:0/":               {reasonPort, reasonPort, reasonPort},
		"https://example.com:65536/":           {reasonPort, reasonPort, reasonPort},
		"https://user@example.com/":            {reasonUser, reasonUser, reasonUser},
		"https://api.example.com@127.0.0.1/":   {reasonUser, reasonUser, reasonUser},
		"https://:secret@example.com/":         {reasonUser, reasonUser, reasonUser},
		"ftp://example.com/":                   {reasonScheme, reasonScheme, reasonScheme},
		"file:///etc/passwd":                   {reasonScheme, reasonScheme, reasonScheme},
		"gopher://127.0.0.1:6379/_x":           {reasonScheme, reasonScheme, reasonScheme},
		"//example.com/":                       {reasonScheme, reasonScheme, reasonScheme},
		"example.com":                          {reasonScheme, reasonScheme, reasonScheme},
		"https:example.com":                    {reasonScheme, reasonScheme, reasonScheme},
		"https://" + strings.Repeat("a.", 128): {reasonHost, reasonHost, reasonHost},
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Errorf("%s: %v", address, err)
			continue
		}
		for i, c := range []*Client{none, dev, own} {
			want, got := []string{want.none, want.dev, want.own}[i], ""
			if err := c.CheckURL(u); err != nil {
				got = err.(*BlockedError).Reason //nolint:errorlint // the type itself is promised
			}
			if got != want {
				t.Errorf("%s, client %d: %q, want %q", address, i, got, want)
			}
		}
	}
}
