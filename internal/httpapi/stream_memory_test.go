package httpapi

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/99designs/gqlgen/graphql"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/graph/resolvers"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// turns are the resolvers of events, beside one that reads a turn whose error is long.
type turns struct {
	*resolvers.Resolver
	// size is the length of the error; 0 for none.
	size atomic.Int64
}

func (r *turns) Message() generated.MessageResolver { return turnOf{r} }

type turnOf struct{ *turns }

// Turn implements generated.MessageResolver.
func (r turnOf) Turn(context.Context, *model.Message) (*model.Turn, error) {
	return &model.Turn{ID: "turn_1", Error: &model.TurnError{Message: strings.Repeat("x", int(r.size.Load()))}}, nil
}

// kept notes the large answers that are made, and which of them are still there.
type kept struct {
	graphql.ExecutableSchema
	mu  sync.Mutex
	all []weak.Pointer[byte]
}

func (k *kept) Exec(ctx context.Context) graphql.ResponseHandler {
	next := k.ExecutableSchema.Exec(ctx)
	return func(ctx context.Context) *graphql.Response {
		resp := next(ctx)
		if resp != nil && len(resp.Data) > maxPooled {
			k.mu.Lock()
			defer k.mu.Unlock()
			k.all = append(k.all, weak.Make(&resp.Data[0]))
		}
		return resp
	}
}

func (k *kept) alive() (alive, made int) {
	runtime.GC()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.all {
		if p.Value() != nil {
			alive++
		}
	}
	return alive, len(k.all)
}

// nested subscribes to the messages of a session, with their turns.
func nested(session models.SessionID, after int) string {
	return fmt.Sprintf(`subscription { sessionEvents(sessionId: %q, after: %d) { kind sequence ... on MessageReceived { message { turn { error { message } } } } } }`, session, after)
}

// received commits a message.
func (d *delivery) received(org models.OrgID, session models.SessionID, sequence int64) {
	d.hub.Publish(org, session, []models.Event{d.tape.record(models.Event{
		OrgID: org, SessionID: session, Sequence: sequence, ID: models.NewID[models.EventEntity](), Kind: models.EventMessageReceived,
		Data: models.JSON(fmt.Sprintf(`{"message":{"id":%q,"role":"user","content":[],"createdAt":1},"delivery":"QUEUE"}`, models.NewID[models.MessageEntity]())),
	})})
}

// follower is the client's end of a subscription.
type follower struct {
	conn net.Conn
	// next reads an answer, as it was sent.
	next func() string
}

// followSocket subscribes over a socket.
func (d *delivery) followSocket(document string) follower {
	w := &many{wire: d.open(), t: d.TB.(*testing.T)}
	w.send(`{"id":"x","type":"subscribe","payload":{"query":` + quote(document) + `}}`)
	return follower{w.conn, func() string { return string(w.readFrame()) }}
}

// followStream subscribes over an event stream.
func (d *delivery) followStream(token, document string) follower {
	conn, err := d.dial(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	body := `{"query":` + quote(document) + `}`
	_, _ = fmt.Fprintf(conn, "POST /graphql HTTP/1.1\r\nHost: ostler.test\r\nAuthorization: Bearer %s\r\nAccept: text/event-stream\r\n"+
		"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", token, len(body), body)
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || res.StatusCode != http.StatusOK {
		d.Fatalf("got %v, %v", res, err)
	}
	in := bufio.NewReader(res.Body)
	return follower{conn, func() string {
		var all strings.Builder
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				d.Fatal(err)
			}
			if line == "\n" {
				return all.String()
			}
			all.WriteString(line)
		}
	}}
}

// TestAnswersOfSubscriptionsShareTheMemory has many subscribers of one organization for each of whom an answer is made of its own. They stop
// reading when an event has a large one: some hold it, and the others are told their place. What is held ends with those who hold it, be it
// read or not, and another organization has nothing to do with it.
func TestAnswersOfSubscriptionsShareTheMemory(t *testing.T) {
	const size, subscribers, most = 1 << 20, 10, 6 // of 8, a quarter is not for who has many
	for name, follow := range map[string]func(*delivery, string) follower{
		"sockets":       (*delivery).followSocket,
		"event streams": func(d *delivery, document string) follower { return d.followStream("good", document) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				network, schema, resolver := newPipes(), &kept{}, &turns{}
				d := startDelivery(t, network, func(cfg *Config, deps *Dependencies) {
					cfg.Sockets.SweepEvery, cfg.Sockets.WriteTimeout, cfg.AnswerTimeout = -1, time.Hour, time.Hour
					cfg.Limits.AnswerBytes, cfg.Limits.OperationsBytes = 2*size, 8*size
					schema.ExecutableSchema, deps.Schema = generated.NewExecutableSchema(generated.Config{Resolvers: resolver}), schema
				})
				d.dial, resolver.Resolver = network.dial, &resolvers.Resolver{Events: d.hub}
				other := owner()
				other.OrgID, other.ExpiresAt = models.NewID[models.OrgEntity](), time.Now().Add(time.Hour)
				d.people.set("theirs", other)
				memory := d.server.engine.memory
				const steps = (size - 128<<10 + store.MemoryStep) / store.MemoryStep

				session := models.NewID[models.SessionEntity]()
				var all []follower
				subscribe := func(after int) {
					f := follow(d, nested(session, after))
					t.Cleanup(func() { _ = f.conn.Close() })
					all = append(all, f)
				}
				expect := func(f follower, parts ...string) {
					t.Helper()
					got := f.next()
					for _, part := range parts {
						if !strings.Contains(got, part) {
							t.Fatalf("got %.300s without %s", got, part)
						}
					}
				}
				for range subscribers {
					subscribe(0)
					expect(all[len(all)-1], "CAUGHT_UP")
				}
				d.received(d.org, session, 1)
				for _, f := range all {
					expect(f, `"sequence":1`)
				}
				if n := memory.Held(d.org); n != 0 {
					t.Fatalf("small answers hold %d", n)
				}
				// all stop reading, and get an event with a large answer
				stop := func(sequence int64) (held int) {
					t.Helper()
					resolver.size.Store(size)
					d.received(d.org, session, sequence)
					synctest.Wait()
					held = memory.Held(d.org)
					if held == 0 || held > most*steps {
						t.Fatalf("what nobody reads holds %d of the %d that there may be", held, most*steps)
					}
					return held / steps
				}
				want := stop(2)

				theirs := models.NewID[models.SessionEntity]()
				f := d.followStream("theirs", nested(theirs, 0))
				expect(f, "CAUGHT_UP")
				d.received(other.OrgID, theirs, 1)
				expect(f, `"sequence":1`, strings.Repeat("x", size))
				_ = f.conn.Close()

				var held, ended int
				reading := all
				all = nil
				for _, f := range reading {
					if got := f.next(); strings.Contains(got, `"sequence":2`) && len(got) > size {
						held++
						all = append(all, f)
					} else if strings.Contains(got, `"SUBSCRIPTION_LAGGED"`) && strings.Contains(got, `"lastSequence":1`) &&
						strings.Contains(got, `"MEMORY"`) && strings.Contains(got, `"retryAfterSeconds":1`) && !strings.Contains(got, `"data"`) {
						ended++
					} else {
						t.Fatalf("got %.300s", got)
					}
				}
				if held != want || ended != subscribers-want {
					t.Fatalf("%d got the answer, and %d were ended", held, ended)
				}
				for range ended { // they lose nothing
					subscribe(1)
					f := all[len(all)-1]
					expect(f, `"sequence":2`, strings.Repeat("x", size))
					expect(f, "CAUGHT_UP")
				}
				synctest.Wait()
				if n := memory.Held(d.org); n != 0 {
					t.Fatalf("answers that were read hold %d", n)
				}
				if alive, made := schema.alive(); alive != 0 || made < subscribers {
					t.Fatalf("%d large answers of %d are still in memory", alive, made)
				}

				stop(3)
				for _, f := range all {
					_ = f.conn.Close()
				}
				synctest.Wait()
				if n := memory.Held(d.org) + memory.Held(other.OrgID); n != 0 {
					t.Fatalf("subscriptions that have gone hold %d", n)
				}
			})
		})
	}
}
