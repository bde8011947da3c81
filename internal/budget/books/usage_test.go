package books_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

const (
	anHour = models.Millis(3_600_000)
	aDay   = 24 * anHour
	// usageStart is a moment of 2026-03-28, a day before clocks change in Europe, which must not matter.
	usageStart = models.Millis(1_774_731_600_123)
)

// usageWorld is an organization whose sessions are metered by the committer.
type usageWorld struct {
	t         *testing.T
	db        *store.DB
	clock     *clock.Manual
	committer *commit.Committer
	random    *rand.Rand
	org       models.OrgID
	sessions  []models.Session
	models    []models.ModelID
	// begun are the facts that began a turn, which the journal does not tell by itself.
	begun map[models.JournalID]bool
}

func newUsageWorld(t *testing.T, db *store.DB, seed uint64) *usageWorld {
	t.Helper()
	w := &usageWorld{
		t: t, db: db, clock: clock.NewManual(usageStart.Time()), random: rand.New(rand.NewPCG(seed, 7)), org: models.NewID[models.OrgEntity](),
		models: []models.ModelID{models.NewID[models.ModelEntity](), models.NewID[models.ModelEntity](), models.NewID[models.ModelEntity]()},
		begun:  map[models.JournalID]bool{},
	}
	w.committer = commit.New(commit.Config{DB: db, Clock: w.clock})
	t.Cleanup(w.committer.Stop)
	h := models.Harness{
		OrgID: w.org, ID: models.NewID[models.HarnessEntity](), Name: "h", NameKey: "h", Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{},
	}
	shared := []any{&models.Org{ID: w.org, Name: "o", Slug: w.org.String(), CreatedAt: 1}}
	rows := []any{&h}
	users, agents, customers := []*models.UserID{nil}, []*models.AgentID{nil}, []*string{nil, new("acme"), new("Ärger & Söhne"), new("=1+1"), new("acme\t")}
	for i := range 2 {
		u := models.User{ID: models.NewID[models.UserEntity](), Name: fmt.Sprint("user ", i), Email: fmt.Sprint(w.org, i), EmailKey: fmt.Sprint(w.org, i)}
		a := models.Agent{
			OrgID: w.org, ID: models.NewID[models.AgentEntity](), Name: fmt.Sprint("agent ", i), NameKey: fmt.Sprint("agent ", i), DisplayName: fmt.Sprint("Agent ", i),
			Lifecycle: models.LifecycleActive, Capabilities: []models.CapabilityRef{}, Tags: []string{},
		}
		shared, rows, users, agents = append(shared, &u), append(rows, &a), append(users, &u.ID), append(agents, &a.ID)
	}
	for i := range 8 {
		w.sessions = append(w.sessions, models.Session{
			OrgID: w.org, ID: models.NewID[models.SessionEntity](), HarnessID: h.ID, Tags: []string{}, CreatedByKind: models.ActorSystem, Status: models.SessionIdle,
			Title: new(fmt.Sprint("session ", i)), OwnerID: oneOf(w.random, users), AgentID: oneOf(w.random, agents), CustomerKey: oneOf(w.random, customers),
		})
	}
	for i := range w.sessions {
		rows = append(rows, &w.sessions[i])
	}
	create := func(rows []any) func(tx *gorm.DB) error {
		return func(tx *gorm.DB) error {
			for _, row := range rows {
				if err := tx.Create(row).Error; err != nil {
					return fmt.Errorf("%T: %w", row, err)
				}
			}
			return nil
		}
	}
	if err := errors.Join(db.WriteAcross(t.Context(), create(shared)), db.Write(t.Context(), w.org, create(rows))); err != nil {
		t.Fatal(err)
	}
	return w
}

func oneOf[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

// usageFacts is a command that does nothing but bring facts.
type usageFacts struct {
	org     models.OrgID
	session models.SessionID
	facts   []models.JournalEntry
	begun   map[models.JournalID]bool
}

func (m *usageFacts) Needs() commit.Needs { return commit.Needs{Org: m.org, Session: m.session} }

func (m *usageFacts) Apply(tx *commit.Tx) error {
	for _, f := range m.facts {
		tx.Meter(f, m.begun[f.ID])
	}
	return nil
}

// fact is what a model call or a tool call may bring.
func (w *usageWorld) fact() models.JournalEntry {
	f := models.JournalEntry{ID: models.NewID[models.JournalEntity](), Kind: models.JournalToolCall, Tool: oneOf(w.random, []string{"read", "=cmd", "write"})}
	if w.random.IntN(3) == 0 {
		return f
	}
	n := func() int64 { return w.random.Int64N(1_000_000) }
	f.Kind, f.Tool, f.Model = models.JournalModelCall, "", "m"
	f.Usage = models.Usage{
		InputTokens: n(), OutputTokens: n(), CacheReadTokens: n(), CacheWriteTokens: n(), ReasoningTokens: n(), CostNanos: models.Nanos(n()),
		Unpriced: w.random.IntN(8) == 0,
	}
	if id := oneOf(w.random, w.models); w.random.IntN(9) > 0 {
		f.ModelID = &id
	}
	w.begun[f.ID] = w.random.IntN(3) == 0
	return f
}

// meter lets time go by and facts come.
func (w *usageWorld) meter(commands int) {
	w.t.Helper()
	for range commands {
		s := oneOf(w.random, w.sessions)
		m := &usageFacts{org: w.org, session: s.ID, begun: w.begun}
		for range 1 + w.random.IntN(5) {
			m.facts = append(m.facts, w.fact())
		}
		if err := w.committer.Submit(w.t.Context(), m); err != nil {
			w.t.Fatal(err)
		}
		w.clock.Advance(time.Duration(w.random.Int64N(int64(5 * time.Hour))))
	}
}

func (w *usageWorld) journal() []models.JournalEntry {
	w.t.Helper()
	var list []models.JournalEntry
	if err := store.Of(w.db.Read(w.t.Context(), w.org), w.org).Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	return list
}

// fold adds the journal up in the plainest way.
func (w *usageWorld) fold(journal []models.JournalEntry, q books.UsageQuery) []books.UsageRow {
	sums := map[books.UsageKey]models.UsageSums{}
	from, to := q.Range()
	for _, e := range journal {
		if e.OccurredAt < from || e.OccurredAt >= to {
			continue
		}
		var k books.UsageKey
		for _, g := range q.GroupBy {
			switch g {
			case books.ByDay:
				k.Day = int64(e.OccurredAt / aDay)
			case books.ByModel:
				k.ModelID = valueOf(e.ModelID)
			case books.ByAgent:
				k.AgentID = valueOf(e.AgentID)
			case books.ByUser:
				k.UserID = valueOf(e.UserID)
			case books.ByCustomer:
				k.CustomerKey = valueOf(e.CustomerKey)
			case books.BySession:
				k.SessionID = valueOf(e.SessionID)
			case books.ByTool:
				k.Tool = e.Tool
			}
		}
		s := sums[k]
		s.InputTokens += e.Usage.InputTokens
		s.OutputTokens += e.Usage.OutputTokens
		s.CacheReadTokens += e.Usage.CacheReadTokens
		s.CacheWriteTokens += e.Usage.CacheWriteTokens
		s.ReasoningTokens += e.Usage.ReasoningTokens
		s.CostNanos += e.Usage.CostNanos
		if e.Kind == models.JournalModelCall {
			s.ModelCalls++
		} else {
			s.ToolCalls++
		}
		if e.Usage.Unpriced {
			s.UnpricedCalls++
		}
		if w.begun[e.ID] {
			s.Turns++
		}
		sums[k] = s
	}
	rows := make([]books.UsageRow, 0, len(sums))
	for k, s := range sums {
		rows = append(rows, books.UsageRow{UsageKey: k, UsageSums: s})
	}
	slices.SortFunc(rows, func(a, b books.UsageRow) int {
		for _, g := range q.GroupBy {
			c := 0
			switch g {
			case books.ByDay:
				c = cmp.Compare(a.Day, b.Day)
			case books.ByModel:
				c = bytes.Compare(a.ModelID[:], b.ModelID[:])
			case books.ByAgent:
				c = bytes.Compare(a.AgentID[:], b.AgentID[:])
			case books.ByUser:
				c = bytes.Compare(a.UserID[:], b.UserID[:])
			case books.ByCustomer:
				c = cmp.Compare(a.CustomerKey, b.CustomerKey)
			case books.BySession:
				c = bytes.Compare(a.SessionID[:], b.SessionID[:])
			case books.ByTool:
				c = cmp.Compare(a.Tool, b.Tool)
			}
			if c != 0 {
				return c
			}
		}
		return 0
	})
	return rows
}

func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// groupings are all sets of up to four groups, in any order of theirs.
func (w *usageWorld) groupings() (all [][]books.UsageGroup) {
	groups := []books.UsageGroup{
		books.ByDay, books.ByModel, books.ByAgent, books.ByUser, books.ByCustomer, books.BySession, books.ByTool,
	}
	for set := 1; set < 1<<len(groups); set++ {
		var by []books.UsageGroup
		for i, g := range groups {
			if set&(1<<i) != 0 {
				by = append(by, g)
			}
		}
		if len(by) <= 4 {
			w.random.Shuffle(len(by), func(i, j int) { by[i], by[j] = by[j], by[i] })
			all = append(all, by)
		}
	}
	return all
}

// Whatever usage is divided by, and over whatever time, it is what a plain sum over the journal gives, in pages that join without a gap.
func TestUsageIsTheSumOfTheJournal(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		w, theirs := newUsageWorld(t, db, seed), newUsageWorld(t, db, seed+1)
		w.meter(80)
		theirs.meter(5)
		journal := w.journal()
		if len(journal) < 80 {
			t.Fatalf("the journal has %d facts", len(journal))
		}
		usage := books.NewUsage(db, nil)
		end := models.MillisOf(w.clock.Now())
		ranges := []books.UsageQuery{{From: usageStart - aDay, To: end + aDay}}
		for range 2 {
			from := usageStart + models.Millis(w.random.Int64N(int64(end-usageStart)))
			ranges = append(ranges, books.UsageQuery{From: from, To: from + 1 + models.Millis(w.random.Int64N(int64(3*aDay)))})
		}
		some := 0
		for _, by := range w.groupings() {
			for _, q := range ranges {
				q.GroupBy = by
				want := w.fold(journal, q)
				var got []books.UsageRow
				var after *books.UsageKey
				for limit := 1 + w.random.IntN(20); ; {
					page, err := usage.Groups(t.Context(), w.org, q, after, limit)
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, page...)
					if len(page) < limit {
						break
					}
					after = &page[len(page)-1].UsageKey
				}
				some += len(got)
				if !slices.Equal(got, want) {
					t.Fatalf("by %v, from %d to %d:\ngot  %+v\nwant %+v", by, q.From, q.To, got, want)
				}
			}
		}
		if some < 500 {
			t.Errorf("there were only %d groups in all", some)
		}
		nobody := models.NewID[models.OrgEntity]()
		rows, err := usage.Groups(t.Context(), nobody, books.UsageQuery{GroupBy: []books.UsageGroup{books.ByDay}, From: usageStart - aDay, To: end + aDay}, nil, 10)
		if err != nil || len(rows) > 0 {
			t.Errorf("an organization without any has %+v, %v", rows, err)
		}
	})
}

func TestUsageIsToldInWholeHours(t *testing.T) {
	t.Parallel()
	const h = anHour
	for _, c := range [][4]models.Millis{
		{0, h, 0, h}, {1, h, 0, h}, {0, h + 1, 0, 2 * h}, {h - 1, h + 1, 0, 2 * h}, {5, 6, 0, h}, {-1, 1, -h, h}, {-h, 0, -h, 0}, {-h - 1, -1, -2 * h, 0},
	} {
		if from, to := (books.UsageQuery{From: c[0], To: c[1]}).Range(); from != c[2] || to != c[3] {
			t.Errorf("from %d to %d is from %d to %d, want %d to %d", c[0], c[1], from, to, c[2], c[3])
		}
	}
}

func TestUsageRefusesWhatItCantTell(t *testing.T) {
	t.Parallel()
	usage := books.NewUsage(nil, nil) // which would fail if anything were read
	by := func(groups ...books.UsageGroup) []books.UsageGroup { return groups }
	for name, c := range map[string]struct {
		q    books.UsageQuery
		path string
	}{
		"no group":       {books.UsageQuery{To: 1}, "groupBy"},
		"five groups":    {books.UsageQuery{GroupBy: by("DAY", "MODEL", "AGENT", "USER", "TOOL"), To: 1}, "groupBy"},
		"a group twice":  {books.UsageQuery{GroupBy: by("DAY", "MODEL", "DAY"), To: 1}, "groupBy"},
		"another group":  {books.UsageQuery{GroupBy: by("HOUR"), To: 1}, "groupBy"},
		"no time at all": {books.UsageQuery{GroupBy: by("DAY"), From: 5, To: 5}, "from"},
		"backwards":      {books.UsageQuery{GroupBy: by("DAY"), From: 6, To: 5}, "from"},
		"too long":       {books.UsageQuery{GroupBy: by("DAY"), From: 0, To: 400*aDay + 1}, "from"},
		"endless":        {books.UsageQuery{GroupBy: by("DAY"), From: -62_135_596_800_000, To: 253_402_300_799_999}, "from"},
	} {
		_, err := usage.Groups(t.Context(), models.OrgID{}, c.q, nil, 1)
		if f := fault.As(err); f == nil || f.Code != fault.Invalid || !slices.Equal(f.Path, []string{c.path}) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (books.UsageQuery{GroupBy: by("DAY"), From: 0, To: 400 * aDay}).Check(); err != nil {
		t.Error(err)
	}
}
