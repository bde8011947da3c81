package auth

import "testing"

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "192.0.2.1:5000": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "::1": "::/64",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "[2001:db8:1:2::9]:80": "2001:db8:1:2::/64", "": "", "@": "@",
	} {
		if got := Network(address); got != want {
			t.Errorf("%q: got %q, want %q", address, got, want)
		}
	}
}
