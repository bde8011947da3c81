package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// A definition is a document with a history that says how agents run: a harness or an agent. What both kinds have in common is done here,
// once; the fields that only one kind has stand in harness.go and agent.go.
type definition[T any, E models.Entity] struct {
	// noun names the kind in messages, and in the actions of the audit log.
	noun string
	// article goes before the noun.
	article string
	// columns are those that a change may write.
	columns []string
	// history is the table of its revisions, and owner the column of the document's id there.
	history, owner string
	// revision makes a row of the history.
	revision func(row *T, r models.Revision) any
	// shared returns the fields that both kinds have.
	shared func(row *T) shared[E]
	// fillOwn takes over the fields that only this kind has.
	fillOwn func(row *T, in *Change) error
	// snapshotOwn adds them to a snapshot.
	snapshotOwn func(row *T, s *snapshot)
	// checkOwn checks what they newly refer to; nil where they refer to nothing.
	checkOwn func(s *Service, tx *gorm.DB, row, next *T) error
	// keep refuses to take away guards, beside those that the document attaches itself; nil where nothing else could.
	keep func(s *Service, tx *gorm.DB, by *auth.Principal, row, next *T) error
}

// shared points to the fields of a row that all definitions have.
type shared[E models.Entity] struct {
	org                  models.OrgID
	id                   models.ID[E]
	name, nameKey        *string
	displayName          *string
	description          **string
	capabilities         *[]models.CapabilityRef
	defaultModel         **models.ModelID
	fallbacks            *models.ModelIDs
	maxIterations        **int
	lifecycle            *models.Lifecycle
	revision             *int
	createdAt, updatedAt *models.Millis
}

// Change is a change of a harness or an agent, which keeps its name, and a harness its parent. What a kind doesn't have is not looked at.
type Change struct {
	DisplayName      Opt[*string]
	Description      Opt[*string]
	SystemPrompt     Opt[*string]
	Capabilities     Opt[[]models.CapabilityRef]
	DefaultModelID   Opt[*models.ModelID]
	FallbackModelIDs Opt[[]models.ModelID]
	MaxIterations    Opt[*int]
	// StreamRecovery is a harness's.
	StreamRecovery Opt[*models.StreamRecovery]
	// HarnessID, ClientTools and Tags are an agent's.
	HarnessID   Opt[*models.HarnessID]
	ClientTools Opt[[]models.ClientTool]
	Tags        Opt[[]string]
	// Revision is the one that the change was made from; nil to change whatever is there.
	Revision *int
	// Reason is kept with the revision that the change makes.
	Reason *string
}

// HarnessChange and AgentChange are changes of each kind.
type (
	HarnessChange = Change
	AgentChange   = Change
)

// fill takes over a change.
func (d *definition[T, E]) fill(row *T, in *Change) (err error) {
	f := d.shared(row)
	if in.DisplayName.Given {
		if *f.displayName, err = cleanDisplayName(in.DisplayName.Value, *f.name); err != nil {
			return err
		}
	}
	if in.Description.Given {
		if *f.description, err = cleanDescription(in.Description.Value); err != nil {
			return err
		}
	}
	if p := in.SystemPrompt.Value; p != nil {
		if err := checkPrompt(*p); err != nil {
			return err
		}
	}
	if in.Capabilities.Given {
		if *f.capabilities, err = cleanRefs(in.Capabilities.Value); err != nil {
			return err
		}
	}
	if in.DefaultModelID.Given {
		*f.defaultModel = in.DefaultModelID.Value
	}
	if in.FallbackModelIDs.Given {
		if *f.fallbacks, err = cleanFallbacks(in.FallbackModelIDs.Value); err != nil {
			return err
		}
	}
	if in.MaxIterations.Given {
		if err := checkMaxIterations(in.MaxIterations.Value); err != nil {
			return err
		}
		*f.maxIterations = in.MaxIterations.Value
	}
	return d.fillOwn(row, in)
}

// checkRefs checks what a definition newly refers to. What it referred to before is left alone: a change of the description must not fail
// because a model was disabled meanwhile.
func (d *definition[T, E]) checkRefs(s *Service, tx *gorm.DB, by *auth.Principal, row, next *T) error {
	was, is := d.shared(row), d.shared(next)
	if id := *is.defaultModel; id != nil && !equalPtr(*was.defaultModel, id) {
		if err := checkModel(tx, by.OrgID, *id, "defaultModelId"); err != nil {
			return err
		}
	}
	if err := checkFallbacks(tx, by.OrgID, *was.fallbacks, *is.fallbacks); err != nil {
		return err
	}
	if !sameRefs(*was.capabilities, *is.capabilities) {
		if err := s.checkRefs(by, *was.capabilities, *is.capabilities); err != nil {
			return err
		}
	}
	if d.checkOwn == nil {
		return nil
	}
	return d.checkOwn(s, tx, row, next)
}

// create adds a row, whose ids are set. first checks in the transaction what else may forbid it.
func (d *definition[T, E]) create(ctx context.Context, s *Service, by *auth.Principal, row *T, name string, in Change, first func(tx *gorm.DB) error) error {
	f := d.shared(row)
	var err error
	if *f.name, err = cleanIdentifier(name); err != nil {
		return err
	}
	*f.nameKey, *f.lifecycle, *f.revision = strings.ToLower(*f.name), models.LifecycleActive, 1
	*f.createdAt = clock.Millis(s.clock)
	*f.updatedAt = *f.createdAt
	empty := *row
	if err := d.fill(row, &in); err != nil {
		return err
	}
	err = s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		if err := first(tx); err != nil {
			return err
		}
		if err := d.checkRefs(s, tx, by, &empty, row); err != nil {
			return err
		}
		if err := tx.Create(row).Error; err != nil {
			return err
		}
		if err := d.record(tx, person(by, nil), nil, row); err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, d.noun+".created", f.id.String(), map[string]any{"name": *f.name, "revision": 1})
	})
	if err != nil {
		return taken(fmt.Errorf("create the %s %s in %s: %w", d.noun, f.id, by.OrgID, err), d.article+" "+d.noun, *f.name)
	}
	return nil
}

// update makes a change.
func (d *definition[T, E]) update(ctx context.Context, s *Service, by *auth.Principal, id models.ID[E], in Change) (*T, error) {
	reason, err := cleanReason(in.Reason, "input", "reason")
	if err != nil {
		return nil, err
	}
	return d.change(ctx, s, by, id, deed{verb: "updated", reason: reason}, func(tx *gorm.DB, row, next *T) error {
		if err := checkRevision(in.Revision, *d.shared(row).revision); err != nil {
			return err
		}
		return d.apply(s, tx, by, row, next, func() (Change, error) { return in, nil })
	})
}

// restore makes an earlier revision the current state, as a new revision. It is checked like an update: what the old state
// refers to must still be there. The name, a harness's parent and the lifecycle stay as they are.
func (d *definition[T, E]) restore(ctx context.Context, s *Service, by *auth.Principal, id models.ID[E], revision int, reason *string) (*T, error) {
	why, err := cleanReason(reason, "reason")
	if err != nil {
		return nil, err
	}
	return d.change(ctx, s, by, id, deed{verb: "restored", reason: why, from: revision}, func(tx *gorm.DB, row, next *T) error {
		return ofRevision(d.apply(s, tx, by, row, next, func() (Change, error) {
			doc, err := d.past(tx, row, revision)
			if err != nil {
				return Change{}, err
			}
			var state snapshot
			if err := json.Unmarshal(doc, &state); err != nil {
				return Change{}, fmt.Errorf("read revision %d of %s: %w", revision, id, err)
			}
			return state.change(), nil
		}))
	})
}

// apply makes next of row by a change.
func (d *definition[T, E]) apply(s *Service, tx *gorm.DB, by *auth.Principal, row, next *T, read func() (Change, error)) error {
	if err := checkActive(d.noun, *d.shared(row).lifecycle); err != nil {
		return err
	}
	in, err := read()
	if err != nil {
		return err
	}
	if err := d.fill(next, &in); err != nil {
		return err
	}
	if err := d.checkRefs(s, tx, by, row, next); err != nil {
		return err
	}
	if d.keep == nil {
		return nil
	}
	return d.keep(s, tx, by, row, next)
}

// move changes a lifecycle between active and archived.
func (d *definition[T, E]) move(ctx context.Context, s *Service, by *auth.Principal, id models.ID[E], verb string, to models.Lifecycle) (*T, error) {
	return d.change(ctx, s, by, id, deed{verb: verb}, func(_ *gorm.DB, row, next *T) error {
		if from := *d.shared(row).lifecycle; from == models.LifecycleDeleted {
			return checkActive(d.noun, from)
		}
		*d.shared(next).lifecycle = to
		return nil
	})
}

// change lets edit change a copy of the row and stores it, as the next revision, when anything came of it.
func (d *definition[T, E]) change(ctx context.Context, s *Service, by *auth.Principal, id models.ID[E], act deed,
	edit func(tx *gorm.DB, row, next *T) error,
) (*T, error) {
	var next T
	err := s.write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lock[T](tx, by.OrgID, id)
		if err != nil {
			return err
		}
		if h, ok := any(row).(*models.Harness); ok && h.BuiltIn {
			return fault.New(fault.Forbidden,
				"The harness %s is built in and can't be changed. Create a harness with it as the parent instead.", h.Name).At("id")
		}
		next = *row
		if err := edit(tx, row, &next); err != nil {
			return err
		}
		was, is, err := d.snapshots(row, &next)
		if err != nil || bytes.Equal(was, is) {
			return err
		}
		before, after := d.shared(row), d.shared(&next)
		*after.revision, *after.updatedAt = *before.revision+1, s.now(*before.updatedAt)
		if err := change(tx, by.OrgID, id, "revision", *before.revision, &next, d.columns...); err != nil {
			return err
		}
		if err := d.record(tx, person(by, act.reason), row, &next); err != nil {
			return err
		}
		details, err := act.details(was, is, *after.revision)
		if err != nil {
			return err
		}
		return audit.RecordBy(ctx, tx, clock.Millis(s.clock), by, d.noun+"."+act.verb, id.String(), details)
	})
	if err != nil {
		return nil, err
	}
	return &next, nil
}

// same reports whether two rows have the same snapshot.
func (d *definition[T, E]) same(a, b *T) bool {
	was, is, err := d.snapshots(a, b)
	return err == nil && bytes.Equal(was, is)
}

// ofRevision turns the refusal of a change's field into that of the old state's: there is no input to blame, and what the
// state refers to was there once.
func ofRevision(err error) error {
	f := fault.As(err)
	if f == nil || len(f.Path) == 0 || f.Path[0] != "input" {
		return err
	}
	out := *f
	out.Path = slices.Clone(f.Path)
	out.Path[0] = "revision"
	if out.Code == fault.NotFound {
		out.Code = fault.Dependency
	}
	return &out
}

func sameRef(a, b models.CapabilityRef) bool {
	return a.ID == b.ID && string(a.Config) == string(b.Config)
}

func sameRefs(a, b []models.CapabilityRef) bool { return slices.EqualFunc(a, b, sameRef) }
