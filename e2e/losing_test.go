package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// eventStream follows a session over SSE, and returns all lines that come, and how the connection ends.
func (c *client) eventStream(t *testing.T, session string) (began <-chan struct{}, ended <-chan []string, failure func() error) {
	t.Helper()
	body := document(sessionEvents, map[string]any{"id": session, "after": 0})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("Authorization", "Bearer "+c.Token)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
	first, all := make(chan struct{}), make(chan []string, 1)
	var end error
	go func() {
		var seen []string
		lines := bufio.NewReader(res.Body)
		for {
			line, err := lines.ReadString('\n')
			seen = append(seen, strings.TrimSpace(line))
			if strings.Contains(line, "CAUGHT_UP") {
				close(first)
			}
			if err != nil {
				end = err
				all <- seen
				return
			}
		}
	}()
	return first, all, func() error { return end }
}

// TestStreamsOfThoseWhoLose has streams whose token ends, whose sign-in ends, and whose membership is removed: a socket is
// closed with 4403, and an event stream breaks off after an error. Neither is ever told that it is complete.
func TestStreamsOfThoseWhoLose(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		for name, lose := range map[string]func(t *testing.T, c *client){
			"signed out": func(t *testing.T, c *client) {
				c.do(t, `mutation { signOut { ok userErrors { code message } } }`, nil, nil)
			},
			"membership removed": func(t *testing.T, c *client) {
				claims := claimsOf(t, c.Token)
				var org models.OrgID
				var user models.UserID
				if err := errors.Join(parse(&org, claims["org"]), parse(&user, claims["sub"])); err != nil {
					t.Fatal(err)
				}
				db := place.database(t)
				defer func() { _ = db.Close() }()
				err := db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
					return tx.Where("org_id = ? AND user_id = ?", org, user).Delete(&models.Membership{}).Error
				})
				if err != nil {
					t.Fatal(err)
				}
			},
			"token ended": nil,
		} {
			t.Run(name, func(t *testing.T) {
				c := signIn(t, p).secondOrg(t, p, name)
				session := c.session(t, c.agent(t, "echo", "sim-echo"))
				if lose == nil {
					const left = 10 * time.Second // for all that comes before, on a busy machine
					c.Token = issue(t, place, p.url, claimsOf(t, c.Token), time.Now().Add(left-auth.AccessTokenLifetime), "ostler")
				}
				socket := c.subscribe(t, session, 0)
				began, ended, failure := c.eventStream(t, session)
				socket.untilKind(t, "CAUGHT_UP", 1)
				<-began
				if lose != nil {
					lose(t, c)
				}
				if code := socket.ended(t); code != 4403 {
					t.Errorf("the socket was closed with %d, want 4403", code)
				}
				select {
				case lines := <-ended:
					text := strings.Join(lines, "\n")
					if !strings.HasSuffix(text, "}\n\n") || !strings.Contains(lines[len(lines)-3], `"code":"UNAUTHENTICATED"`) {
						t.Errorf("the last event is not the reason: %s", text)
					}
					if strings.Contains(text, "event: complete") || !errors.Is(failure(), io.ErrUnexpectedEOF) {
						t.Errorf("the stream ended as if it were complete: %v %s", failure(), text)
					}
				case <-time.After(patience):
					t.Error("the event stream did not end")
				}
			})
		}
	})
}
