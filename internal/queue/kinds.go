package queue

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Kind declares one kind of executions. "Executions" in docs/architecture.md lists the columns and indexes that its table must have.
type Kind struct {
	Name  models.ExecutionKind
	Table string
	// Columns are the names of those that a claim reads, org_id and id among them, separated by commas. Scan reads them: the lease, and
	// the row as it is wanted by who runs it.
	Columns string
	Scan    func(r Row) (Held, any, error)
}

// Row is what was read of an execution.
type Row interface{ Scan(dest ...any) error }

// Held is an execution of an organization under the lease of a runner.
type Held struct {
	commit.Lease

	OrgID models.OrgID
}

// HeldTurn is a turn under its present lease.
func HeldTurn(t *models.Turn) Held { return Held{commit.LeaseOf(t), t.OrgID} }

// Turns are the executions that answer messages. The row of one is a *models.Turn.
func Turns() Kind {
	return Kind{Name: models.ExecutionTurn, Table: "turns", Columns: commit.TurnColumns(""), Scan: func(r Row) (Held, any, error) {
		t, err := commit.ScanTurn(r)
		if err != nil {
			return Held{}, nil, err
		}
		return HeldTurn(t), t, nil
	}}
}

// kinds are those of a queue. Their statements are over all of them, and for one kind no more than they would be without any others.
type kinds struct {
	list []Kind
	// sqlite is true where indexes must be named: left to itself SQLite takes others, and reads rows that are neither ready nor held.
	sqlite bool
}

// tableOf returns the table of a kind.
func (k kinds) tableOf(name models.ExecutionKind) (string, error) {
	for _, kind := range k.list {
		if kind.Name == name {
			return kind.Table, nil
		}
	}
	return "", fmt.Errorf("this queue has no executions of the kind %q", name)
}

// args repeats an argument for each kind.
func (k kinds) args(value any) []any {
	list := make([]any, len(k.list))
	for i := range list {
		list[i] = value
	}
	return list
}

// each joins what a statement says of each kind. In it # is the number of the kind and @ its table, entered by the index "ready" or "held".
func (k kinds) each(separator, index, text string) string {
	parts := make([]string, len(k.list))
	for i, kind := range k.list {
		table := kind.Table
		if k.sqlite && index != "" {
			table += " INDEXED BY " + kind.Table + "_" + index
		}
		parts[i] = strings.NewReplacer("#", strconv.Itoa(i), "@", table).Replace(text)
	}
	return strings.Join(parts, separator)
}

// ready queries what is ready of all kinds, in an order and up to a limit. Each kind gives no more than that, in an order of its index.
func (k kinds) ready(columns, condition, each, all string) string {
	one := "SELECT " + columns + " FROM @ WHERE ready_at IS NOT NULL AND " + condition + each
	if len(k.list) == 1 {
		return k.each("", "ready", one)
	}
	return "SELECT * FROM (" + k.each(" UNION ALL ", "ready", "SELECT * FROM ("+one+") k#") + ") kinds" + all //nolint:unqueryvet // the columns of the subqueries
}

// nextOrg queries the first organization that has something ready, of those that meet a condition.
func (k kinds) nextOrg(condition string) string {
	return k.ready("org_id", condition, " ORDER BY org_id, ready_at LIMIT 1", " ORDER BY org_id LIMIT 1")
}

// atWork counts what runners hold of the organization org. That is bounded by their slots; what waits for something is not looked at.
func (k kinds) atWork() string {
	return k.each(" + ", "held", "(SELECT count(*) FROM runners r CROSS JOIN @ WHERE runner_id = r.id AND org_id = org)")
}

// statements are those that are made of the kinds, once.
type statements struct {
	walk, backlog, held, marked, running string
	// pick is for SQLite, fair and shared for PostgreSQL.
	pick, fair, shared string
}

func (k kinds) statements() statements {
	s := statements{
		walk: fmt.Sprintf(walkStatement, k.nextOrg("org_id > ?"), k.nextOrg("org_id > org"), k.atWork()),
		backlog: fmt.Sprintf(backlogStatement, k.nextOrg("true"), k.nextOrg("org_id > org"),
			k.each(" UNION ALL ", "ready", "SELECT 1 FROM @ WHERE ready_at IS NOT NULL AND org_id = org")),
		held:    k.each(" UNION ALL ", "", "SELECT #, org_id, id, lease_epoch FROM @ WHERE runner_id = ?"),
		marked:  k.each(" UNION ALL ", "", "SELECT #, id FROM @ WHERE runner_id = ? AND attention"),
		running: "SELECT org, " + k.atWork() + " FROM ",
	}
	if k.sqlite {
		s.pick = "SELECT * FROM (" + k.ready("# AS kind, rowid AS place, id, ready_at", "org_id = ?", " ORDER BY ready_at LIMIT ?", " ORDER BY ready_at LIMIT ?") + ")" //nolint:unqueryvet // the columns of the subquery
		return s
	}
	tail := fmt.Sprintf(pickShares, k.ready("# AS kind, id, ready_at", "org_id = s.org", " ORDER BY ready_at LIMIT s.share FOR NO KEY UPDATE SKIP LOCKED", " ORDER BY ready_at LIMIT s.share"), MaxClaim) + k.claimPicked()
	s.fair = fmt.Sprintf(fairShares, k.nextOrg("org_id > $3"), k.nextOrg("org_id > org"), k.nextOrg("org_id <= $3"), k.nextOrg("org_id > org AND org_id <= $3")) + tail
	s.shared = givenShares + tail
	return s
}
