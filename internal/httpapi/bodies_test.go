package httpapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
)

// Who has no credential sends 64 KiB at most, however the length is told, and few bodies at once from one network.
func TestBodiesOfStrangersAreBounded(t *testing.T) {
	b := setup(t)
	large := `{"query": "{serverInfo{name}}", "operationName": "` + strings.Repeat("x", bodyPlace) + `"}`
	if a := b.do(http.MethodPost, "/graphql", large, with("Content-Type", mediaJSON)); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a stranger's: %d %s", a.status, a.body)
	}
	if a := b.do(http.MethodPost, "/graphql", large, with("Content-Type", mediaJSON), signedIn); a.status == http.StatusRequestEntityTooLarge {
		t.Errorf("that of somebody who is signed in: %d %s", a.status, a.body)
	}
	const head = "POST /graphql HTTP/1.1\r\nHost: ostler.test\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
	endless := b.raw()
	go func() { // until it is cut off
		_, _ = io.WriteString(endless, head)
		for err := error(nil); err == nil; {
			_, err = io.WriteString(endless, "400\r\n"+strings.Repeat(" ", 1<<10)+"\r\n")
		}
	}()
	if line, err := bufio.NewReader(endless).ReadString('\n'); err != nil || !strings.Contains(line, " 413 ") {
		t.Errorf("a body without end: %q, %v", line, err)
	}
	for range networkBodies {
		_, _ = io.WriteString(b.raw(), head+"1\r\n{\r\n")
	}
	for b.server.strangerBodies.Held("127.0.0.1") < networkBodies {
		if t.Context().Err() != nil {
			t.Fatal("they don't arrive")
		}
	}
	const query = `{"query": "{serverInfo{name}}"}`
	if a := b.do(http.MethodPost, "/graphql", query, with("Content-Type", mediaJSON)); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "1" {
		t.Errorf("one more of the network: %d %s", a.status, a.body)
	}
	if a := b.do(http.MethodPost, "/graphql", query, with("Content-Type", mediaJSON), signedIn); a.status != http.StatusOK {
		t.Errorf("somebody who is signed in: %d %s", a.status, a.body)
	}
}

// A large body of one organization holds places while it is read, a small one none.
func TestLargeBodiesAreCounted(t *testing.T) {
	b := setup(t)
	p := owner()
	ctx := auth.WithPrincipal(t.Context(), p)
	for length, want := range map[int64]int{0: 0, bodyPlace: 0, bodyPlace + 1: 2, -1: 16, 1 << 20: 16} {
		_, release, err := b.server.holdBody(ctx, length)
		if err != nil {
			t.Fatal(err)
		}
		if n := b.server.bodies.Held(p.OrgID); n != want {
			t.Errorf("a body of %s bytes holds %d places, want %d", strconv.FormatInt(length, 10), n, want)
		}
		release()
	}
	if n := b.server.bodies.Held(p.OrgID); n != 0 {
		t.Errorf("%d places are left", n)
	}
}

// gone is an authenticator whose caller goes away meanwhile.
type gone struct{ leave context.CancelFunc }

func (g gone) Authenticate(ctx context.Context, _ string) (*auth.Principal, error) {
	g.leave()
	return nil, errors.Join(errors.New("read what a token stands for"), ctx.Err())
}

// A client that goes away while it is authenticated is no failure of the server.
func TestWhoGoesAwayIsNoError(t *testing.T) {
	b := setup(t)
	ctx, leave := context.WithCancel(t.Context())
	b.server.deps.Authenticator = gone{leave}
	if _, err := b.server.authenticate(ctx, "token", auth.TransportBody); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if strings.Contains(b.log.String(), "authentication failed") {
		t.Errorf("the log is %s", b.log)
	}
}
