package audit

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
)

// timeSlack is how far times may be out of the order of positions: transactions that take their time one after the other may take their
// positions the other way round, and clocks are set. Entries that were put out of order by more may be missing at the bounds of a time.
const timeSlack = 5 * 60 * 1000

// Deriver derives secrets that all nodes share, the current one first; secrets.Keeper is one.
type Deriver interface {
	Secrets(purpose string) ([][]byte, error)
}

// Log reads and checks the chains of all organizations, and shortens them. It is safe for concurrent use.
type Log struct {
	db   *store.DB
	keys []signingKey // the current one first
}

// NewLog returns a log whose anchors are signed with a secret of the master key.
func NewLog(db *store.DB, secrets Deriver) (*Log, error) {
	list, err := secrets.Secrets("audit anchors")
	if err != nil {
		return nil, fmt.Errorf("derive the secret of audit anchors: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no secret to sign audit anchors with")
	}
	l := &Log{db: db}
	for _, secret := range list {
		l.keys = append(l.keys, newSigningKey(secret))
	}
	return l, nil
}

// Filter tells which entries to list; its zero value all of them.
type Filter struct {
	// Action is that of the entries; nil for any.
	Action *string
	// Actor is who did it; nil for anybody. ActorKind goes with it.
	ActorKind models.ActorKind
	Actor     *models.ActorID
	// Target is the id of what it was done to, in its outside form; nil for anything.
	Target *string
	// From and To bound the time: from From on, before To.
	From, To *models.Millis
}

// Check refuses what no entry can fit, or what would not be what was meant: an empty text. It names the field.
func (f Filter) Check() *fault.Error {
	for _, one := range []struct {
		value *string
		name  string
	}{{f.Action, "action"}, {f.Target, "targetId"}} {
		switch {
		case one.value == nil:
		case *one.value == "":
			return fault.New(fault.Invalid, "%s is empty: leave it out.", one.name).At(one.name)
		case !text.Storable(*one.value):
			return fault.New(fault.Invalid, "%s contains a NUL character or is not valid UTF-8.", one.name).At(one.name)
		}
	}
	if f.From != nil && f.To != nil && *f.From > *f.To {
		return fault.New(fault.Invalid, "from is after to.").At("from")
	}
	return nil
}

// List returns entries of an organization, the newest first: at most limit of those before a position. However long the chain is, it reads
// entries in the order of an index, from where the page begins; entries that only one part of a filter fits are read as well.
func (l *Log) List(ctx context.Context, org models.OrgID, f Filter, before *int64, limit int) ([]models.AuditEntry, error) {
	db := l.db.Read(ctx, org)
	q := store.Of(db, org)
	if f.Action != nil {
		q = q.Where("action = ?", *f.Action)
	}
	if f.Actor != nil {
		q = q.Where("actor_id = ? AND actor_kind = ?", *f.Actor, f.ActorKind)
	}
	if f.Target != nil {
		q = q.Where("target_id = ?", *f.Target)
	}
	if before != nil {
		q = q.Where("position < ?", *before)
	}
	var err error
	if q, err = f.within(db, q, org); err != nil {
		return nil, err
	}
	var rows []models.AuditEntry
	if err := q.Order("position DESC").Limit(limit).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("list audit entries of %s: %w", org, err)
	}
	return rows, nil
}

// within limits a list to a time. Pages follow positions, and a time alone would have the database read everything after it to find a
// page before it: so positions outside of it are looked up first, with some slack, and what is between them is compared exactly.
func (f Filter) within(db, q *gorm.DB, org models.OrgID) (*gorm.DB, error) {
	if f.From != nil {
		earlier, err := place(store.Of(db, org).Where("created_at < ?", *f.From-timeSlack).Order("created_at DESC, position DESC"))
		if err != nil {
			return nil, err
		}
		if earlier != nil {
			q = q.Where("position > ?", *earlier)
		}
		q = q.Where("created_at >= ?", *f.From)
	}
	if f.To != nil {
		later, err := place(store.Of(db, org).Where("created_at >= ?", *f.To+timeSlack).Order("created_at, position"))
		if err != nil {
			return nil, err
		}
		if later != nil {
			q = q.Where("position < ?", *later)
		}
		q = q.Where("created_at < ?", *f.To)
	}
	return q, nil
}

// place returns the position of the first entry of a query; nil when there is none.
func place(q *gorm.DB) (*int64, error) {
	found, err := store.First[models.AuditEntry](q.Select("position"))
	if err != nil {
		return nil, fmt.Errorf("find the audit entries of a time: %w", err)
	}
	if found == nil {
		return nil, nil
	}
	return &found.Position, nil
}

// Entry returns an entry of an organization; fault.NotFound when it has none with this id.
func (l *Log) Entry(ctx context.Context, org models.OrgID, id models.AuditEntryID) (*models.AuditEntry, error) {
	var row models.AuditEntry
	err := store.Of(l.db.Read(ctx, org), org).Where("id = ?", id).Take(&row).Error
	if errors.Is(err, gorm.ErrRecordNotFound) {
		return nil, fault.New(fault.NotFound, "There is no audit entry %s.", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read an audit entry of %s: %w", org, err)
	}
	return &row, nil
}
