package sessions

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

func TestCreate(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s, err := e.svc.Create(t.Context(), e.by, NewSession{
			Title: ptr("A title ✓"), Tags: []string{"a", "b"}, Locale: ptr("pt-BR"), CustomerKey: ptr("c-1"), IdempotencyKey: ptr("k"),
		})
		if err != nil {
			t.Fatal(err)
		}
		if *s.Title != "A title ✓" || !slices.Equal(s.Tags, []string{"a", "b"}) || *s.Locale != "pt-BR" || s.Status != models.SessionStarted || s.LastSequence != 1 {
			t.Errorf("created is %+v", s)
		}
		started, err := events.Decode(models.EventSessionStarted, e.log(s.ID)[0].Data)
		if err != nil || *started.(events.SessionStarted).Title != "A title ✓" {
			t.Errorf("it started as %+v, %v", started, err)
		}
		again, err := e.svc.Create(t.Context(), e.by, NewSession{
			Title: ptr("A title ✓"), Tags: []string{"a", "b"}, Locale: ptr("pt-BR"), CustomerKey: ptr("c-1"), IdempotencyKey: ptr("k"),
		})
		if err != nil || again.ID != s.ID {
			t.Errorf("repeated, it gives %+v, %v", again, err)
		}
		_, err = e.svc.Create(t.Context(), e.by, NewSession{IdempotencyKey: ptr("k")})
		wantFault(t, err, fault.IdempotencyMismatch, "input.idempotencyKey")
		harness, model := models.NewID[models.HarnessEntity](), models.NewID[models.ModelEntity]()
		for _, c := range []struct {
			name string
			in   NewSession
			code fault.Code
			path string
		}{
			{"a long title", NewSession{Title: ptr(strings.Repeat("é", 201))}, fault.Invalid, "input.title"},
			{"a title with a NUL", NewSession{Title: ptr("\x00")}, fault.Invalid, "input.title"},
			{"an empty tag", NewSession{Tags: []string{"a", " "}}, fault.Invalid, "input.tags.1"},
			{"a long tag", NewSession{Tags: []string{strings.Repeat("x", 51)}}, fault.Invalid, "input.tags.0"},
			{"many tags", NewSession{Tags: make([]string, 21)}, fault.Invalid, "input.tags"},
			{"no language", NewSession{Locale: ptr("no language")}, fault.Invalid, "input.locale"},
			{"a bad customer key", NewSession{CustomerKey: ptr("\xff")}, fault.Invalid, "input.customerKey"},
			{"an unknown harness", NewSession{HarnessID: &harness}, fault.NotFound, "input.harnessId"},
			{"an unknown model", NewSession{ModelID: &model}, fault.NotFound, "input.modelId"},
		} {
			t.Run(c.name, func(t *testing.T) {
				_, err := e.svc.Create(t.Context(), e.by, c.in)
				wantFault(t, err, c.code, c.path)
			})
		}
		_, err = e.svc.Get(t.Context(), e.theirs.OrgID, s.ID)
		wantFault(t, err, fault.NotFound, "")
	})
}

func TestUpdate(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create()
		a, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{Name: "helper", SystemPrompt: "Help."})
		if err != nil {
			t.Fatal(err)
		}
		changed, err := e.svc.Update(t.Context(), e.by, s.ID, Change{
			Title: catalog.Give(ptr("new")), Tags: catalog.Give([]string{"x"}), AgentID: catalog.Give(&a.ID),
		})
		if err != nil || *changed.Title != "new" || !slices.Equal(changed.Tags, []string{"x"}) || *changed.AgentID != a.ID {
			t.Errorf("changed is %+v, %v", changed, err)
		}
		// What is as it was before is no change.
		if _, err := e.svc.Update(t.Context(), e.by, s.ID, Change{Title: catalog.Give(ptr("new"))}); err != nil {
			t.Fatal(err)
		}
		if cleared, err := e.svc.Update(t.Context(), e.by, s.ID, Change{Title: catalog.Give[*string](nil)}); err != nil || cleared.Title != nil || len(cleared.Tags) != 1 {
			t.Errorf("cleared is %+v, %v", cleared, err)
		}
		if got := e.kinds(s.ID); got != "SESSION_STARTED,SESSION_TITLE_CHANGED,SESSION_TITLE_CHANGED" {
			t.Errorf("the events are %s", got)
		}
		_, err = e.svc.Update(t.Context(), e.theirs, s.ID, Change{Title: catalog.Give(ptr("mine"))})
		wantFault(t, err, fault.NotFound, "")
		_, err = e.svc.Update(t.Context(), e.by, s.ID, Change{Tags: catalog.Give([]string{""})})
		wantFault(t, err, fault.Invalid, "input.tags.0")
		unknown := models.NewID[models.AgentEntity]()
		_, err = e.svc.Update(t.Context(), e.by, s.ID, Change{AgentID: catalog.Give(&unknown)})
		wantFault(t, err, fault.NotFound, "input.agentId")
	})
}

func TestLists(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		a, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{Name: "helper", SystemPrompt: "Help."})
		if err != nil {
			t.Fatal(err)
		}
		var all []models.SessionID
		for i := range 6 {
			in := NewSession{Tags: []string{fmt.Sprintf("t%d", i%2)}, CustomerKey: ptr(fmt.Sprintf("c%d", i%3))}
			if i%2 == 0 {
				in.AgentID = &a.ID
			}
			s, err := e.svc.Create(t.Context(), e.by, in)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, s.ID)
			e.clock.Advance(1_000_000)
		}
		if _, err := e.svc.Create(t.Context(), e.theirs, NewSession{Tags: []string{"t0"}}); err != nil {
			t.Fatal(err)
		}
		e.made(all, time.Millisecond)
		slices.Reverse(all)
		first, err := e.svc.Get(t.Context(), e.by.OrgID, all[5])
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			filter Filter
			want   []models.SessionID
		}{
			{"all", Filter{}, all},
			{"by agent", Filter{AgentID: &a.ID}, []models.SessionID{all[1], all[3], all[5]}},
			{"by harness", Filter{HarnessID: &first.HarnessID}, all},
			{"by tag", Filter{Tag: ptr("t1")}, []models.SessionID{all[0], all[2], all[4]}},
			{"by customer", Filter{CustomerKey: ptr("c0")}, []models.SessionID{all[2], all[5]}},
			{"by status", Filter{Status: []models.SessionStatus{models.SessionActive, models.SessionIdle}}, nil},
			{"by time", Filter{CreatedAfter: &first.CreatedAt}, all[:5]},
			{"by a time before all", Filter{CreatedAfter: ptr(first.CreatedAt - 1_000_000_000)}, all},
			{"by a time to come", Filter{CreatedAfter: ptr(first.CreatedAt + 1_000_000_000)}, nil},
			{"by several", Filter{Tag: ptr("t0"), CustomerKey: ptr("c0"), AgentID: &a.ID}, []models.SessionID{all[5]}},
		} {
			var got []models.SessionID
			var after *Place
			for {
				page, err := e.svc.List(t.Context(), e.by.OrgID, c.filter, Sorting{}, after, 2)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range page {
					got = append(got, s.ID)
				}
				if len(page) < 2 {
					break
				}
				after = &Place{ID: got[len(got)-1]}
			}
			n, err := e.svc.Count(t.Context(), e.by.OrgID, c.filter)
			if !slices.Equal(got, c.want) || n != len(c.want) || err != nil {
				t.Errorf("%s: %v, counted %d, %v; want %v", c.name, got, n, err, c.want)
			}
		}
		byID, err := e.svc.ByID(t.Context(), e.theirs.OrgID, all)
		if err != nil || len(byID) != 0 {
			t.Errorf("others get %d sessions, %v", len(byID), err)
		}
	})
}

func TestTurnsAndMessages(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		var sent []models.TurnID
		var messages []models.MessageID
		for i := range 5 {
			m, turn, err := e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s, Content: []NewPart{Text(fmt.Sprint(i))}, Delivery: turns.Queue})
			if err != nil {
				t.Fatal(err)
			}
			sent, messages = append(sent, turn.ID), append(messages, m.ID)
		}
		list, err := e.svc.Turns(t.Context(), e.by.OrgID, s, 0, true, &sent[1], 2)
		if err != nil || len(list) != 2 || list[0].ID != sent[2] || list[1].ID != sent[3] {
			t.Errorf("turns are %+v, %v", list, err)
		}
		list, err = e.svc.Turns(t.Context(), e.by.OrgID, s, 0, false, &sent[1], 2)
		if err != nil || len(list) != 1 || list[0].ID != sent[0] {
			t.Errorf("older turns are %+v, %v", list, err)
		}
		n, err := e.svc.CountTurns(t.Context(), e.by.OrgID, s, 0)
		if err != nil || n != 5 {
			t.Errorf("there are %d turns, %v", n, err)
		}
		page, err := e.svc.Messages(t.Context(), e.by.OrgID, s, 0, nil, nil, true, 2)
		if err != nil || len(page) != 2 || page[0].ID != messages[4] {
			t.Errorf("the newest messages are %+v, %v", page, err)
		}
		page, err = e.svc.Messages(t.Context(), e.by.OrgID, s, 0, &page[1].Sequence, nil, false, 5)
		if err != nil || len(page) != 1 || page[0].ID != messages[4] {
			t.Errorf("the messages after it are %+v, %v", page, err)
		}
		if n, err := e.svc.CountMessages(t.Context(), e.theirs.OrgID, s, 0); err != nil || n != 0 {
			t.Errorf("others count %d messages, %v", n, err)
		}
		if todos, err := e.svc.Todos(t.Context(), e.by.OrgID, s); err != nil || len(todos) != 0 || todos == nil {
			t.Errorf("the plan is %v, %v", todos, err)
		}
	})
}

func TestFilesOfUsers(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		s := e.create().ID
		ctx := t.Context()
		// Users may write paths as they like; they are stored in one form.
		f, content, err := e.svc.WriteFile(ctx, e.by, NewFile{SessionID: s, Path: "docs//a.txt", Content: "hello", Encoding: "text"})
		if err != nil || f.Path != "/workspace/docs/a.txt" || string(content) != "hello" {
			t.Fatalf("written is %+v, %v", f, err)
		}
		if _, got, err := e.svc.File(ctx, e.by.OrgID, s, "docs/a.txt"); err != nil || string(got) != "hello" {
			t.Errorf("read is %q, %v", got, err)
		}
		if _, _, err = e.svc.WriteFile(ctx, e.by, NewFile{SessionID: s, Path: "bin", Content: "AP8=", Encoding: "base64", ExpectedHash: nil}); err != nil {
			t.Error(err)
		}
		list, err := e.svc.Files(ctx, e.by.OrgID, s, "/workspace/")
		if err != nil || len(list) != 2 || list[0].Path != "/workspace/bin" || !list[1].Directory {
			t.Errorf("listed are %+v, %v", list, err)
		}
		if one, err := e.svc.Files(ctx, e.by.OrgID, s, "bin"); err != nil || len(one) != 1 || one[0].Size != 2 {
			t.Errorf("of a file listed is %+v, %v", one, err)
		}
		for _, c := range []struct {
			name string
			in   NewFile
			code fault.Code
			path string
		}{
			{"outside", NewFile{SessionID: s, Path: "/etc/passwd", Encoding: "text"}, fault.Invalid, "path"},
			{"up", NewFile{SessionID: s, Path: "../x", Encoding: "text"}, fault.Invalid, "path"},
			{"a directory", NewFile{SessionID: s, Path: "docs", Encoding: "text"}, fault.Invalid, "path"},
			{"a root", NewFile{SessionID: s, Path: "/workspace", Encoding: "text"}, fault.Forbidden, "path"},
			{"below a file", NewFile{SessionID: s, Path: "bin/x", Encoding: "text"}, fault.Invalid, "path"},
			{"no base64", NewFile{SessionID: s, Path: "x", Content: "?", Encoding: "base64"}, fault.Invalid, "content"},
			{"no encoding", NewFile{SessionID: s, Path: "x"}, fault.Invalid, "encoding"},
			{"another hash", NewFile{SessionID: s, Path: "bin", Encoding: "text", ExpectedHash: ptr("00")}, fault.Conflict, "path"},
			{"an unknown session", NewFile{SessionID: models.NewID[models.SessionEntity](), Path: "x", Encoding: "text"}, fault.NotFound, "sessionId"},
		} {
			_, _, err := e.svc.WriteFile(ctx, e.by, c.in)
			if f := fault.As(err); f == nil || f.Code != c.code || strings.Join(f.Path, ".") != c.path || !strings.HasSuffix(f.Message, ".") || strings.HasSuffix(f.Message, "..") {
				t.Errorf("%s gives %+v, want %s at %q", c.name, err, c.code, c.path)
			}
		}
		_, _, err = e.svc.WriteFile(ctx, e.theirs, NewFile{SessionID: s, Path: "x", Encoding: "text"})
		wantFault(t, err, fault.NotFound, "sessionId")
		_, _, err = e.svc.File(ctx, e.theirs.OrgID, s, "bin")
		wantFault(t, err, fault.NotFound, "path")
		if got := e.kinds(s); got != "SESSION_STARTED,FILE_WRITTEN,FILE_WRITTEN" {
			t.Errorf("the events are %s", got)
		}
		e.wantCounted(s)
	})
}
