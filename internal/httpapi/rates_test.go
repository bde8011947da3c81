package httpapi

import (
	"encoding/json"
	"net/http"
	"net/netip"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
)

// limited starts a server with limits, where "good" and "theirs" are of two organizations.
func limited(t *testing.T, v limits.Values) *bench {
	t.Helper()
	b := setup(t)
	b.server.deps.Limits = limits.New(limits.Config{Clock: b.clock, Usual: v})
	for _, token := range []string{"good", "theirs"} {
		p := owner()
		p.OrgID, p.ExpiresAt = models.NewID[models.OrgEntity](), start.Add(time.Hour)
		b.people.set(token, p)
	}
	return b
}

var theirs = with("Authorization", "Bearer theirs")

// wantWait checks that an answer says how long to wait, in the error and in the header.
func (b *bench) wantWait(a answer, seconds string) {
	b.Helper()
	if a.status != http.StatusTooManyRequests || a.header.Get(retryHeader) != seconds || !strings.Contains(a.body, `"retryAfterSeconds":`+seconds+`}`) ||
		!strings.Contains(a.body, "RATE_LIMITED") {
		b.Fatalf("%d, %s: %q: %s", a.status, retryHeader, a.header.Get(retryHeader), a.body)
	}
}

// All transports count the requests of an organization together, and say when there are more.
func TestRequestsOfAnOrganizationAreCounted(t *testing.T) {
	b := limited(t, limits.Values{RequestsPerMinute: 5})
	b.server.deps.Images, b.server.deps.Waits = noImages{}, callbackFunc(nil)
	b.clock.Advance(time.Minute - time.Duration(b.clock.Now().Second())*time.Second + 48*time.Second) // 12 s before the next minute
	const query = "{viewer{operator}}"
	c := b.dial().hello() // a socket is no request
	ask := func(id string) {
		c.send(`{"id":"` + id + `","type":"subscribe","payload":{"query":"{viewer{operator}}"}}`)
	}
	for range 2 {
		if a := b.query(query, nil, signedIn); a.status != http.StatusOK || a.errors != nil {
			t.Fatalf("%d: %s", a.status, a.body)
		}
	}
	ask("1")
	c.expect("next")
	c.expect("complete")
	if a := b.query(query, nil, signedIn, with("Accept", mediaEvents)); a.status != http.StatusOK {
		t.Fatalf("%d: %s", a.status, a.body)
	}
	if a := b.do(http.MethodGet, "/v1/images/img_x", "", signedIn); a.status != http.StatusNotFound {
		t.Fatalf("%d: %s", a.status, a.body)
	}
	// That was the fifth.
	b.wantWait(b.query(query, nil, signedIn), "12")
	b.wantWait(b.query(query, nil, signedIn, with("Accept", mediaEvents)), "12")
	b.wantWait(b.do(http.MethodGet, "/graphql?query="+query, "", signedIn), "12")
	b.wantWait(b.do(http.MethodGet, "/v1/images/img_x", "", signedIn), "12")
	b.wantWait(b.do(http.MethodPost, "/v1/images", "x", signedIn), "12")
	b.clock.Advance(1500 * time.Millisecond)
	ask("2")
	var errs []wireError
	if err := json.Unmarshal(c.expect("error").Payload, &errs); err != nil || len(errs) != 1 || errs[0].Extensions["code"] != codeRateLimited || errs[0].Extensions["retryAfterSeconds"] != 11.0 {
		t.Fatalf("%v, %v", errs, err)
	}
	// Others are not affected, nor is who is nobody.
	if a := b.query(query, nil, theirs); a.status != http.StatusOK || a.errors != nil {
		t.Errorf("the other organization: %d: %s", a.status, a.body)
	}
	if a := b.query("{serverInfo{name}}", nil); a.status != http.StatusOK || a.errors != nil {
		t.Errorf("nobody: %d: %s", a.status, a.body)
	}
	// The socket is still good for the next minute.
	b.clock.Advance(11 * time.Second)
	ask("3")
	c.expect("next")
}

type noImages struct{ Images }

// What a callback is refused with says how long to wait.
// Who has not signed in may ask so often from an address, whatever becomes of it; those who have are not bothered, nor other addresses.
func TestStrangersAreCountedByAddress(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) {
		c.Limits.Strangers = 4
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
	})
	b.clock.Advance(time.Minute - time.Duration(b.clock.Now().Second())*time.Second + 48*time.Second) // 12 s before the next minute
	from := func(address string) func(*http.Request) { return with("X-Forwarded-For", address) }
	const public = "{serverInfo{name}}"
	for i, a := range []answer{
		b.query(public, nil, from("2001:db8::1")), b.query("{", nil, from("2001:db8::2")),
		b.query(public, nil, from("2001:db8::3"), with("Authorization", "Bearer forged")),
		b.query(public, nil, from("2001:db8::4"), with("Accept", mediaEvents)),
	} {
		if a.status == http.StatusTooManyRequests {
			t.Fatalf("request %d: %s", i, a.body)
		}
	}
	b.wantWait(b.query(public, nil, from("2001:db8::5")), "12")
	b.wantWait(b.query("{", nil, from("2001:db8::5"), with("Authorization", "Bearer forged")), "12")
	if a := b.query(public, nil, from("2001:db8::5"), signedIn); a.status != http.StatusOK {
		t.Errorf("somebody who has signed in: %d, %s", a.status, a.body)
	}
	if a := b.query(public, nil, from("2001:db8:0:1::1")); a.status != http.StatusOK {
		t.Errorf("another network: %d, %s", a.status, a.body)
	}
	b.clock.Advance(12 * time.Second)
	if a := b.query(public, nil, from("2001:db8::5")); a.status != http.StatusOK {
		t.Errorf("a minute later: %d, %s", a.status, a.body)
	}
}

func TestACallbackThatComesTooSoon(t *testing.T) {
	b := setup(t)
	b.server.deps.Waits = callbackFunc(func(string, sessions.Outcome) (sessions.Resolved, error) {
		f := fault.New(fault.RateLimited, "Too many.")
		f.RetryAfterSeconds = 33
		return "", f
	})
	b.wantWait(b.do(http.MethodPost, "/v1/waits/ostw_x", `{"value": 1}`), "33")
}

// A socket too many is closed after it has said who it is; one that ends makes room.
func TestSocketsOfAnOrganizationAreCounted(t *testing.T) {
	b := limited(t, limits.Values{Sockets: 2})
	one := b.dial().hello()
	b.dial().hello()
	refused := b.dial()
	refused.send(`{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`)
	refused.expectClose(closeTooManySockets)
	other := b.dial()
	other.send(`{"type":"connection_init","payload":{"Authorization":"Bearer theirs"}}`)
	other.expect("connection_ack")
	// A socket that nobody has said anything on counts nowhere, and one that is refused gives nothing back.
	b.dial()
	_ = one.conn.CloseNow()
	b.eventually("the room of the socket that was closed", func() bool {
		c := b.dial()
		c.send(`{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`)
		_, data, err := c.conn.Read(t.Context())
		return err == nil && strings.Contains(string(data), "connection_ack")
	})
	again := b.dial()
	again.send(`{"type":"connection_init","payload":{"Authorization":"Bearer good"}}`)
	again.expectClose(closeTooManySockets)
}

// eventually waits until something holds.
func (b *bench) eventually(what string, holds func() bool) {
	b.Helper()
	for end := time.Now().Add(10 * time.Second); !holds(); {
		if time.Now().After(end) {
			b.Fatalf("%s: it never came", what)
		}
		runtime.Gosched()
	}
}

// Subscriptions are counted on sockets and event streams together. One too many is refused, and the socket stays.
func TestSubscriptionsOfAnOrganizationAreCounted(t *testing.T) {
	b := limited(t, limits.Values{Subscriptions: 1})
	events, done := b.feed()
	c := b.dial().hello()
	c.send(subscribeFrame)
	events <- event("evt_1") // it has begun
	c.expect("next")
	c.send(strings.Replace(subscribeFrame, `"id":"1"`, `"id":"2"`, 1))
	f := c.expect("error")
	if !strings.Contains(string(f.Payload), codeRateLimited) || !strings.Contains(string(f.Payload), `"retryAfterSeconds":5`) || f.ID != "2" {
		t.Fatalf("%s: %s", f.ID, f.Payload)
	}
	const document = "subscription{sessionEvents(sessionId:1){id}}"
	b.wantWait(b.query(document, nil, signedIn, with("Accept", mediaEvents)), "5")
	// Queries are no subscriptions.
	c.send(`{"id":"3","type":"subscribe","payload":{"query":"{viewer{operator}}"}}`)
	c.expect("next")
	c.expect("complete")
	c.send(`{"id":"1","type":"complete"}`)
	<-done
	b.eventually("the room of the one that has ended", func() bool { return b.space() })
	events, done = b.feed()
	c.send(strings.Replace(subscribeFrame, `"id":"1"`, `"id":"4"`, 1))
	events <- event("evt_2")
	c.expect("next")
	c.send(`{"id":"4","type":"complete"}`)
	<-done
}

// space looks whether there is room for a subscription.
func (b *bench) space() bool {
	l, org := b.server.deps.Limits, b.org("good")
	if !l.Open(b.Context(), org, limits.Subscription) {
		return false
	}
	l.Close(org, limits.Subscription)
	return true
}

func (b *bench) org(token string) models.OrgID {
	p, err := b.people.Authenticate(b.Context(), token)
	if err != nil {
		b.Fatal(err)
	}
	return p.OrgID
}
