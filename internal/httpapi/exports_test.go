package httpapi

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// everybody knows the names of all users.
type everybody struct{ db *store.DB }

func (e everybody) Users(ctx context.Context, ids []models.UserID) (map[models.UserID]models.User, error) {
	var list []models.User
	err := e.db.ReadAcross(ctx).Where("id IN ?", ids).Find(&list).Error
	byID := map[models.UserID]models.User{}
	for _, u := range list {
		byID[u.ID] = u
	}
	return byID, err
}

// office is a server that exports what the organization of "good" has used.
type office struct {
	*bench

	db      *store.DB
	org     models.OrgID
	user    models.UserID
	agent   models.AgentID
	session models.SessionID
}

func newOffice(t *testing.T, db *store.DB) *office {
	t.Helper()
	o := &office{bench: gallery(t, db), db: db, agent: models.NewID[models.AgentEntity](), session: models.NewID[models.SessionEntity]()}
	o.server.deps.Exports = books.NewUsage(db, everybody{db})
	p := o.people.tokens["good"]
	o.org, o.user = p.OrgID, p.UserID
	h := models.Harness{OrgID: o.org, ID: models.NewID[models.HarnessEntity](), Name: "h", NameKey: "h", Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{}}
	err := errors.Join(
		db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Create(&models.User{ID: o.user, Name: "+Ada, the \"first\"", Email: "a", EmailKey: "a"}).Error
		}),
		db.Write(t.Context(), o.org, func(tx *gorm.DB) error {
			return errors.Join(tx.Create(&h).Error, tx.Create(&models.Agent{
				OrgID: o.org, ID: o.agent, Name: "a", NameKey: "a", DisplayName: "=HYPERLINK(1)", Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{}, Tags: []string{},
			}).Error, tx.Create(&models.Session{
				OrgID: o.org, ID: o.session, HarnessID: h.ID, Tags: []string{}, CreatedByKind: models.ActorSystem, Status: models.SessionIdle, Title: new("@title"),
			}).Error)
		}))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func (o *office) write(rows ...any) {
	o.Helper()
	err := o.db.Write(o.Context(), o.org, func(tx *gorm.DB) error {
		for _, row := range rows {
			if err := tx.Create(row).Error; err != nil {
				return fmt.Errorf("%T: %w", row, err)
			}
		}
		return nil
	})
	if err != nil {
		o.Fatal(err)
	}
}

// lines reads an export.
func (o *office) lines(query string, change ...func(*http.Request)) [][]string {
	o.Helper()
	a := o.do(http.MethodGet, "/v1/usage.csv?"+query, "", change...)
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "text/csv; charset=utf-8; header=present" || a.header.Get("Cache-Control") != "no-store" {
		o.Fatalf("%s: %d %v %s", query, a.status, a.header, a.body)
	}
	r := csv.NewReader(strings.NewReader(a.body))
	list, err := r.ReadAll()
	if err != nil || !strings.HasSuffix(a.body, "\r\n") || strings.Count(a.body, "\n") != strings.Count(a.body, "\r\n") {
		o.Fatalf("%s: %v: %q", query, err, a.body)
	}
	return list
}

func TestUsageAsCSV(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		gone := models.NewID[models.ModelEntity]()
		const at = 20_000*86_400_000 + 7_200_000 // 2024-10-04T02:00Z
		o.write(&models.SessionUsageHour{
			OrgID: o.org, Hour: at, SessionID: o.session, ModelID: gone, AgentID: o.agent, UserID: o.user, CustomerKey: "-acme, \"x\"",
			UsageSums: models.UsageSums{InputTokens: 1, OutputTokens: 2, CacheReadTokens: 3, CacheWriteTokens: 4, ReasoningTokens: 5, CostNanos: 1_000_000_001, ModelCalls: 6, Turns: 7},
		}, &models.SessionUsageHour{
			OrgID: o.org, Hour: at + 86_400_000, SessionID: o.session, ModelID: gone, AgentID: o.agent, UserID: o.user, Tool: "\ttool",
			UsageSums: models.UsageSums{CostNanos: 9, UnpricedCalls: 1, ToolCalls: 2},
		})
		const query = "groupBy=day,session,agent,user&from=2024-10-04&to=2024-10-06T00:00:00%2B01:00"
		sums := []string{"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_usd", "unpriced_calls", "model_calls", "tool_calls", "turns"}
		line := func(day string, names [3]string, sums ...string) []string {
			return append([]string{day, o.session.String(), names[0], o.agent.String(), names[1], o.user.String(), names[2]}, sums...)
		}
		names := [3]string{"'@title", "'=HYPERLINK(1)", "'+Ada, the \"first\""}
		want := [][]string{
			append([]string{"day", "session_id", "session", "agent_id", "agent", "user_id", "user"}, sums...),
			line("2024-10-04", names, "1", "2", "3", "4", "5", "1.000000001", "0", "6", "0", "7"),
			line("2024-10-05", names, "0", "0", "0", "0", "0", "", "1", "0", "2", "0"),
		}
		if got := o.lines(query, as("viewer")); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		if got := o.lines(query, with("Cookie", accessCookie+"=good")); !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("with a cookie: got  %q\nwant %q", got, want)
		}
		a := o.do(http.MethodGet, "/v1/usage.csv?"+query, "", signedIn)
		if got := a.header.Get("Content-Disposition"); got != `attachment; filename="usage.csv"` {
			t.Errorf("Content-Disposition is %q", got)
		}
		got := o.lines("kind=usage&groupBy=customer,MODEL,tool,session&from=2024-10-04&to=2024-10-06", signedIn)
		wantKeys := [][]string{
			{"customer_key", "model_id", "model", "tool", "session_id", "session"},
			{"", gone.String(), "", "'\ttool", o.session.String(), "'@title"},
			{"'-acme, \"x\"", gone.String(), "", "", o.session.String(), "'@title"},
		}
		for i := range got {
			got[i] = got[i][:6]
		}
		if !slices.EqualFunc(got, wantKeys, slices.Equal) {
			t.Errorf("got  %q\nwant %q", got, wantKeys)
		}
		// Who may see usage alone sees ids, and no names of what they may not read.
		only := *o.people.tokens["good"]
		only.Permissions = auth.PermissionsOf(auth.UsageRead)
		o.people.set("only", &only)
		if got := o.lines(query, as("only")); got[1][2] != "" || got[1][4] != "" || got[1][1] != o.session.String() || got[1][3] != o.agent.String() {
			t.Errorf("got %q", got)
		}
		if got := o.lines(query, as("theirs")); len(got) != 1 {
			t.Errorf("another organization sees %q", got)
		}
	})
}

// A journal and a ledger that are longer than what is read at once come whole, also where many facts are of the same moment.
func TestJournalAndLedgerAsCSV(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		o := newOffice(t, db)
		const n, at = 4001, models.Millis(1_728_000_000_000) // 2024-10-04T00:00Z
		budget := models.Budget{OrgID: o.org, ID: models.NewID[models.BudgetEntity](), Subject: models.SubjectOrg, SubjectID: new(models.SubjectID(o.org)), Currency: "tokens", LimitAmount: 9}
		dear := budget
		dear.ID, dear.Currency = models.NewID[models.BudgetEntity](), "usd"
		o.write(&budget, &dear)
		facts, postings := make([]models.JournalEntry, n), make([]models.LedgerEntry, n)
		for i := range n {
			facts[i] = models.JournalEntry{
				OrgID: o.org, ID: models.NewID[models.JournalEntity](), Kind: models.JournalModelCall, OccurredAt: at + models.Millis(i/3000), Model: "=m", AgentID: &o.agent, UserID: &o.user,
				Usage: models.Usage{InputTokens: int64(i), CostNanos: 5}, ProviderCost: true, DurationMs: 7,
			}
			postings[i] = models.LedgerEntry{
				OrgID: o.org, ID: models.NewID[models.LedgerEntity](), BudgetID: budget.ID, JournalID: facts[i].ID, Source: models.JournalModelCall, Amount: models.Amount(i),
				CreatedAt: at + models.Millis(i/3000),
			}
		}
		facts[n-1].Usage.Unpriced = true
		for page := range slices.Chunk(facts, 500) {
			o.write(&page)
		}
		for page := range slices.Chunk(postings, 500) {
			o.write(&page)
		}
		o.write(&models.LedgerEntry{
			OrgID: o.org, ID: models.NewID[models.LedgerEntity](), BudgetID: dear.ID, JournalID: facts[0].ID, Source: models.JournalTopUp, Amount: -1_500_000_000, Overrun: 1,
			Description: new("=1+1"), CreatedAt: at,
		})
		got := o.lines("kind=journal&from=2024-10-04&to=2024-10-05", signedIn)
		if len(got) != n+1 || len(got[0]) != 25 {
			t.Fatalf("the journal has %d lines, want %d", len(got), n+1)
		}
		for i := range facts {
			line := got[i+1]
			if line[1] != facts[i].ID.String() || line[14] != fmt.Sprint(i) || line[6] != "'+Ada, the \"first\"" || line[8] != "'=HYPERLINK(1)" || line[12] != "'=m" || line[21] != "true" {
				t.Fatalf("line %d is %q", i, line)
			}
		}
		if first, last := got[1], got[n]; first[0] != "2024-10-04T00:00:00.000Z" || first[19] != "0.000000005" || last[19] != "" || last[20] != "true" {
			t.Errorf("got %q and %q", first, last)
		}
		if got := o.lines("kind=journal&from=2024-10-04T00:00:00.001Z&to=2024-10-04T00:00:00.002Z", signedIn); len(got) != n-3000+1 {
			t.Errorf("a millisecond has %d lines", len(got))
		}
		ledger := o.lines("kind=ledger&budgetId="+budget.ID.String(), signedIn)
		if len(ledger) != n+1 {
			t.Fatalf("the ledger has %d lines", len(ledger))
		}
		for i := range postings {
			if line := ledger[i+1]; line[1] != postings[i].ID.String() || line[5] != fmt.Sprint(i) || line[7] != facts[i].ID.String() {
				t.Fatalf("line %d is %q", i, line)
			}
		}
		if got := o.lines("kind=ledger&from=2024-10-05&to=2024-10-06&budgetId="+budget.ID.String(), signedIn); len(got) != 1 {
			t.Errorf("another day has %d lines", len(got))
		}
		got = o.lines("kind=ledger&budgetId="+dear.ID.String(), signedIn)
		if len(got) != 2 || got[1][5] != "-1.5" || got[1][6] != "0.000000001" || got[1][3] != "usd" || got[1][11] != "'=1+1" {
			t.Errorf("got %q", got)
		}
		// What belongs to others is as what is not there.
		nobodys := models.NewID[models.BudgetEntity]()
		unknown := o.do(http.MethodGet, "/v1/usage.csv?kind=ledger&budgetId="+nobodys.String(), "", signedIn)
		foreign := o.do(http.MethodGet, "/v1/usage.csv?kind=ledger&budgetId="+budget.ID.String(), "", as("theirs"))
		noID := o.do(http.MethodGet, "/v1/usage.csv?kind=ledger&budgetId=x", "", signedIn)
		if unknown.status != http.StatusNotFound || foreign.status != unknown.status || noID.status != unknown.status ||
			strings.ReplaceAll(foreign.body, budget.ID.String(), nobodys.String()) != unknown.body {
			t.Errorf("unknown: %d %s; foreign: %d %s; no id: %d %s", unknown.status, unknown.body, foreign.status, foreign.body, noID.status, noID.body)
		}
		if got := o.lines("kind=journal&from=2024-10-04&to=2024-10-05", as("theirs")); len(got) != 1 {
			t.Errorf("another organization sees %d facts", len(got)-1)
		}
	})
}

func TestExportsThatAreRefused(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	only := *o.people.tokens["good"]
	only.Permissions = auth.PermissionsOf(auth.UsageRead)
	o.people.set("only", &only)
	const usage = "groupBy=day&from=2024-01-01&to=2024-01-02"
	for _, c := range []struct {
		method, query, token string
		status               int
		code, message        string
	}{
		{"GET", usage, "", 401, codeUnauthenticated, "Sign in"},
		{"GET", usage, "nothing", 403, codeForbidden, "You lack the permission USAGE_READ"},
		{"GET", "kind=ledger&budgetId=x", "only", 403, codeForbidden, "You lack the permission BUDGETS_READ"},
		{"POST", usage, "good", 405, codeBadUserInput, "Use GET"},
		{"GET", "", "good", 400, codeBadUserInput, "groupBy"},
		{"GET", "groupBy=&from=2024-01-01&to=2024-01-02", "good", 400, codeBadUserInput, `There is no group ""`},
		{"GET", "groupBy=hour&from=2024-01-01&to=2024-01-02", "good", 400, codeBadUserInput, `There is no group "HOUR"`},
		{"GET", "groupBy=day,day&from=2024-01-01&to=2024-01-02", "good", 400, codeBadUserInput, "has DAY twice"},
		{"GET", "groupBy=day,model,agent,user,tool&from=2024-01-01&to=2024-01-02", "good", 400, codeBadUserInput, "1 to 4"},
		{"GET", "groupBy=day&from=2024-01-01", "good", 400, codeBadUserInput, "to must be a time"},
		{"GET", "groupBy=day&from=yesterday&to=2024-01-02", "good", 400, codeBadUserInput, "from must be a time"},
		{"GET", "groupBy=day&from=2024-01-02&to=2024-01-02", "good", 400, codeBadUserInput, "from must be before to"},
		{"GET", "groupBy=day&from=2022-01-02&to=2024-01-02", "good", 400, codeBadUserInput, "400 days"},
		{"GET", "kind=journal&from=2022-01-02&to=2024-01-02", "good", 400, codeBadUserInput, "400 days"},
		{"GET", "kind=journal&groupBy=day&from=2024-01-01&to=2024-01-02", "good", 400, codeBadUserInput, "kind=usage needs groupBy"},
		{"GET", "kind=other&from=2024-01-01&to=2024-01-02", "good", 400, codeBadUserInput, "kind must be usage, journal or ledger"},
		{"GET", usage + "&budgetId=x", "good", 400, codeBadUserInput, "kind=ledger needs budgetId"},
		{"GET", "kind=ledger", "good", 400, codeBadUserInput, "kind=ledger needs budgetId"},
		{"GET", usage + "&format=xml", "good", 400, codeBadUserInput, "There is no parameter format"},
		{"GET", usage + "&from=2024-01-01", "good", 400, codeBadUserInput, "from is given twice"},
	} {
		a := o.do(c.method, "/v1/usage.csv?"+c.query, "", as(c.token))
		if code, message := a.failure(t); a.status != c.status || code != c.code || !strings.Contains(message, c.message) {
			t.Errorf("%s %s as %q: %d %s", c.method, c.query, c.token, a.status, a.body)
		}
	}
	if strings.Contains(o.log.String(), "budgetId") {
		t.Error("what was asked for is in the log")
	}
	o.server.deps.Limits = limits.New(limits.Config{Clock: o.clock, Usual: limits.Values{RequestsPerMinute: 1}})
	o.lines(usage, signedIn)
	a := o.do(http.MethodGet, "/v1/usage.csv?"+usage, "", signedIn)
	if code, _ := a.failure(t); a.status != http.StatusTooManyRequests || code != codeRateLimited || a.header.Get(retryHeader) == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// filtered writes the filter that it is asked with.
type filtered struct{}

func (filtered) WriteCSV(_ context.Context, org models.OrgID, f audit.Filter, to io.Writer) error {
	actor := ""
	if f.Actor != nil {
		actor = string(f.ActorKind) + " " + string(models.RefTo(f.ActorKind, *f.Actor))
	}
	_, err := fmt.Fprintf(to, "%s,%q,%s,%q,%d,%d", org, models.Value(f.Action), actor, models.Value(f.Target), models.Value(f.From), models.Value(f.To))
	return err
}

func TestTheAuditLogAsCSV(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	o.server.deps.AuditExports = filtered{}
	key := models.NewID[models.APIKeyEntity]().String()
	for query, want := range map[string]string{
		"": `"",,"",0,0`,
		"action=signin.failed&targetId=user_1&from=1970-01-02&to=1970-01-02T00:00:01Z": `"signin.failed",,"user_1",86400000,86401000`,
		"actorId=" + key: `"",API_KEY ` + key + `,"",0,0`,
		"actorId=x":      `"",USER ,"",0,0`,
	} {
		a := o.do(http.MethodGet, "/v1/audit.csv?"+query, "", signedIn)
		if a.status != http.StatusOK || a.body != o.org.String()+","+want || a.header.Get("Content-Disposition") != `attachment; filename="audit.csv"` {
			t.Errorf("%s: %d %v %s", query, a.status, a.header, a.body)
		}
	}
	only := *o.people.tokens["good"]
	only.Permissions = auth.PermissionsOf(auth.UsageRead)
	o.people.set("only", &only)
	for _, c := range []struct {
		method, query, token string
		status               int
		message              string
	}{
		{"GET", "", "", 401, "Sign in"},
		{"GET", "", "only", 403, "You lack the permission AUDIT_READ"},
		{"POST", "", "good", 405, "Use GET"},
		{"GET", "kind=usage", "good", 400, "There is no parameter kind"},
		{"GET", "action=a&action=b", "good", 400, "action is given twice"},
		{"GET", "action=a%00", "good", 400, "NUL"},
		{"GET", "action=", "good", 400, "action is empty"},
		{"GET", "targetId=", "good", 400, "targetId is empty"},
		{"GET", "from=yesterday", "good", 400, "from must be a time"},
		{"GET", "from=2024-01-02&to=2024-01-01", "good", 400, "from is after to"},
	} {
		a := o.do(c.method, "/v1/audit.csv?"+c.query, "", as(c.token))
		if _, message := a.failure(t); a.status != c.status || !strings.Contains(message, c.message) {
			t.Errorf("%s %s as %q: %d %s", c.method, c.query, c.token, a.status, a.body)
		}
	}
}

// breaking writes something and then does what it is told for the organization.
type breaking struct {
	begun chan struct{}
	goOn  map[models.OrgID]chan error
}

func (e breaking) WriteCSV(_ context.Context, by *auth.Principal, _ books.Export, to io.Writer) error {
	if _, err := to.Write([]byte("day\r\n")); err != nil {
		return err
	}
	e.begun <- struct{}{}
	return <-e.goOn[by.OrgID]
}

// An export that breaks off is no whole answer, and few are written at once.
func TestExportsThatBreakOff(t *testing.T) {
	o := newOffice(t, storetest.SQLite(t))
	mine, others := o.org, o.people.tokens["theirs"].OrgID
	e := breaking{begun: make(chan struct{}), goOn: map[models.OrgID]chan error{mine: make(chan error), others: make(chan error)}}
	o.server.deps.Exports = e
	const path = "/v1/usage.csv?groupBy=day&from=2024-01-01&to=2024-01-02"
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	results := make(chan error, maxOrgExports)
	for range maxOrgExports {
		go func() {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, o.url+path, http.NoBody)
			if err != nil {
				results <- err
				return
			}
			signedIn(r)
			resp, err := client.Do(r)
			if err == nil {
				_, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
			}
			results <- err
		}()
	}
	for range maxOrgExports {
		<-e.begun
	}
	a := o.do(http.MethodGet, path, "", signedIn)
	if code, _ := a.failure(t); a.status != http.StatusTooManyRequests || code != codeRateLimited {
		t.Errorf("one too many: %d %s", a.status, a.body)
	}
	theirs := make(chan answer)
	go func() { theirs <- o.do(http.MethodGet, path, "", as("theirs")) }()
	<-e.begun
	e.goOn[others] <- nil
	if a := <-theirs; a.status != http.StatusOK {
		t.Errorf("the other organization: %d %s", a.status, a.body)
	}
	e.goOn[mine] <- nil
	e.goOn[mine] <- errors.New("the disk is gone")
	failed := 0
	for range maxOrgExports {
		if err := <-results; err != nil {
			failed++
		}
	}
	if failed != 1 {
		t.Errorf("%d of the exports have failed, want one", failed)
	}
	if !strings.Contains(o.log.String(), "the disk is gone") {
		t.Error("the cause is not in the log")
	}
	// Their places are free again.
	go func() {
		<-e.begun
		e.goOn[mine] <- nil
	}()
	if a := o.do(http.MethodGet, path, "", signedIn); a.status != http.StatusOK || a.body != "day\r\n" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestTimesOfExports(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		"2026-01-31": "2026-01-31T00:00:00Z", "2026-01-31T01:02:03.5Z": "2026-01-31T01:02:03.5Z", "2026-01-31T01:00:00+02:00": "2026-01-30T23:00:00Z",
	} {
		if at, err := parseTime(s); err != nil || at.Time().Format(time.RFC3339Nano) != want {
			t.Errorf("%s is %v, %v", s, at.Time(), err)
		}
	}
	for _, s := range []string{"", "2026", "2026-02-30", "0000-01-01", "0001-01-01T00:00:00+01:00", "2026-01-31 00:00:00", "9999-12-31T23:59:59-01:00"} {
		if at, err := parseTime(s); err == nil {
			t.Errorf("%s is %v", s, at.Time())
		}
	}
}
