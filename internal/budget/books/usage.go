package books

import (
	"context"
	"database/sql/driver"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// MaxUsageDays is how long a time usage is added up over at most. Sums are read an hour at a time: it bounds what a question costs.
	MaxUsageDays = 400
	// maxGroups is how many groups usage may be divided by at once.
	maxGroups = 4

	usageHour = models.Millis(time.Hour / time.Millisecond)
	usageDay  = 24 * usageHour
)

// UsageGroup is what usage may be divided by.
type UsageGroup string

// The groups. Days are those of UTC.
const (
	ByDay      UsageGroup = "DAY"
	ByModel    UsageGroup = "MODEL"
	ByAgent    UsageGroup = "AGENT"
	ByUser     UsageGroup = "USER"
	ByCustomer UsageGroup = "CUSTOMER"
	BySession  UsageGroup = "SESSION"
	ByTool     UsageGroup = "TOOL"
)

// Valid reports whether there is such a group.
func (g UsageGroup) Valid() bool { return columnOf[g] != "" }

// columnOf is the expression that each group is read from.
var columnOf = map[UsageGroup]string{
	ByDay: "hour / 86400000", ByModel: "model_id", ByAgent: "agent_id", ByUser: "user_id", ByCustomer: "customer_key", BySession: "session_id", ByTool: "tool",
}

// nameOf is what each group is called in an answer of the database; it is a field of UsageKey.
var nameOf = map[UsageGroup]string{
	ByDay: "day", ByModel: "model_id", ByAgent: "agent_id", ByUser: "user_id", ByCustomer: "customer_key", BySession: "session_id", ByTool: "tool",
}

// UsageQuery asks what was used from a time to another, divided by groups.
type UsageQuery struct {
	GroupBy  []UsageGroup
	From, To models.Millis
}

// Range returns the whole hours of UTC that the query is about.
func (q UsageQuery) Range() (from, to models.Millis) {
	return floorHour(q.From), floorHour(q.To-1) + usageHour
}

// floorHour rounds down, also before 1970.
func floorHour(at models.Millis) models.Millis {
	rest := at % usageHour
	if rest < 0 {
		rest += usageHour
	}
	return at - rest
}

// Check refuses what can't be answered, with a *fault.Error.
func (q UsageQuery) Check() error {
	if n := len(q.GroupBy); n < 1 || n > maxGroups {
		return fault.New(fault.Invalid, "groupBy needs 1 to %d groups, not %d.", maxGroups, n).At("groupBy")
	}
	for i, g := range q.GroupBy {
		if !g.Valid() {
			return fault.New(fault.Invalid, "There is no group %.20q.", string(g)).At("groupBy")
		}
		if slices.Contains(q.GroupBy[:i], g) {
			return fault.New(fault.Invalid, "groupBy has %s twice.", g).At("groupBy")
		}
	}
	return checkRange(q.From, q.To)
}

func checkRange(from, to models.Millis) error {
	if from >= to {
		return fault.New(fault.Invalid, "from must be before to.").At("from")
	}
	if to-from > MaxUsageDays*usageDay {
		return fault.New(fault.Invalid, "Usage covers at most %d days at once. Choose a later from or an earlier to.", MaxUsageDays).At("from")
	}
	return nil
}

// UsageKey names a group. Of what usage is not divided by, and of what a group has none of, it has the zero value.
type UsageKey struct {
	// Day counts days of UTC since 1970.
	Day         int64
	ModelID     models.ModelID
	AgentID     models.AgentID
	UserID      models.UserID
	SessionID   models.SessionID
	CustomerKey string
	Tool        string
}

// storedID is an id as the sums have it: the zero one is no NULL there.
type storedID [16]byte

// Value implements driver.Valuer.
func (id storedID) Value() (driver.Value, error) { return id[:], nil }

// value returns the part of the key that a group is compared by.
func (k *UsageKey) value(g UsageGroup) any {
	switch g {
	case ByDay:
		return k.Day
	case ByModel:
		return storedID(k.ModelID)
	case ByAgent:
		return storedID(k.AgentID)
	case ByUser:
		return storedID(k.UserID)
	case BySession:
		return storedID(k.SessionID)
	case ByCustomer:
		return k.CustomerKey
	case ByTool:
		return k.Tool
	}
	return nil
}

// UsageRow is what a group has used.
type UsageRow struct {
	UsageKey         `gorm:"embedded"`
	models.UsageSums `gorm:"embedded"`
}

// Usage tells what was used. It only reads.
type Usage struct {
	db     *store.DB
	people People
}

// People knows the names of users.
type People interface {
	// Users returns those of the users that exist.
	Users(ctx context.Context, ids []models.UserID) (map[models.UserID]models.User, error)
}

// NewUsage makes a Usage. Without people, exports name no users.
func NewUsage(db *store.DB, people People) *Usage { return &Usage{db: db, people: people} }

// usageSums are the columns that are added up.
var usageSums = []string{
	"input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens", "cost_nanos", "unpriced_calls", "model_calls",
	"tool_calls", "turns",
}

// Groups adds up what was used: at most limit groups behind a position, in the order of the groups as they are listed, each ascending.
// It is one statement on the sums of hours, whatever there is in the journal. A failure of the caller's is a *fault.Error.
func (u *Usage) Groups(ctx context.Context, org models.OrgID, q UsageQuery, after *UsageKey, limit int) ([]UsageRow, error) {
	if err := q.Check(); err != nil {
		return nil, err
	}
	from, to := q.Range()
	if after != nil && q.GroupBy[0] == ByDay {
		from = max(from, models.Millis(after.Day)*usageDay) // earlier days are behind us
	}
	columns, selected := make([]string, len(q.GroupBy)), make([]string, 0, len(q.GroupBy)+len(usageSums))
	for i, g := range q.GroupBy {
		columns[i] = columnOf[g]
		selected = append(selected, columnOf[g]+" AS "+nameOf[g])
	}
	for _, sum := range usageSums {
		selected = append(selected, "CAST(sum("+sum+") AS bigint) AS "+sum)
	}
	table := "usage_hours"
	if slices.Contains(q.GroupBy, BySession) {
		table = "session_usage_hours"
	}
	keys := strings.Join(columns, ", ")
	query := "SELECT " + strings.Join(selected, ", ") + " FROM " + table + " WHERE org_id = ? AND hour >= ? AND hour < ?"
	args := []any{org, from, to}
	if after != nil {
		query += " AND (" + keys + ") > (" + strings.TrimSuffix(strings.Repeat("?, ", len(columns)), ", ") + ")"
		for _, g := range q.GroupBy {
			args = append(args, after.value(g))
		}
	}
	query += " GROUP BY " + keys + " ORDER BY " + keys + " LIMIT ?"
	var rows []UsageRow
	if err := u.db.Read(ctx, org).Raw(query, append(args, limit)...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("add up the usage of %s by %v: %w", org, q.GroupBy, err)
	}
	return rows, nil
}
