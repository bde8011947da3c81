package commit

import (
	"bytes"
	"slices"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
)

// deed is a command that does something worth recording.
func (w *world) deed(s models.SessionID, action string) *cmd {
	return w.command(s, func(tx *Tx) error {
		entry, err := audit.Draft(nil, audit.Entry{ActorKind: models.ActorSystem, Action: action, Target: s.String()})
		if err != nil {
			return err
		}
		tx.Record(entry)
		return nil
	})
}

// chain returns the actions of the organization's audit chain, after a check that nothing in it is missing or edited.
func (w *world) chain() []string {
	w.t.Helper()
	var list []models.AuditEntry
	if err := store.Of(w.db.ReadAcross(w.t.Context()), w.org).Order("position").Find(&list).Error; err != nil {
		w.t.Fatal(err)
	}
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{1}, 32))
	if err != nil {
		w.t.Fatal(err)
	}
	l, err := audit.NewLog(w.db, keeper)
	if err != nil {
		w.t.Fatal(err)
	}
	check, err := l.Verify(w.t.Context(), w.org, 0)
	if err != nil || !check.OK() || check.Entries != int64(len(list)) {
		w.t.Fatalf("of %d entries: %+v, %v", len(list), check, err)
	}
	head := audit.NewHead(w.org)
	var actions []string
	for _, e := range list {
		again := e
		if head = audit.Follow(head, &again); again.Position != e.Position || !bytes.Equal(again.Hash, e.Hash) || !bytes.Equal(again.PrevHash, e.PrevHash) {
			w.t.Fatalf("entry %d does not follow the one before", e.Position)
		}
		actions = append(actions, e.Action)
	}
	return actions
}

func TestDeedsOfABatchFollowEachOtherInTheAuditChain(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		a, b := w.session(), w.session()
		refused := w.command(a, func(tx *Tx) error {
			tx.Record(models.AuditEntry{Action: "refused"})
			return errRefused
		})
		errs := batch(w.c, w.deed(a, "one"), refused, w.deed(b, "two"), w.deed(a, "three"))
		if errs[1] == nil {
			t.Error("what is refused was committed")
		}
		must(t, append(errs[:1], errs[2:]...))
		w.do(w.deed(b, "four"))
		got := w.chain()
		if len(got) != 4 || got[3] != "four" {
			t.Fatalf("the chain has %v", got)
		}
		if slices.Sort(got); !slices.Equal(got, []string{"four", "one", "three", "two"}) {
			t.Errorf("the chain has %v", got)
		}
	})
}

// The reply to a commit may be lost, and a transaction may fail: each deed is in the chain once.
func TestADeedIsRecordedOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		s := w.session()
		m := newMessage()
		points := []string{"begin", "loaded", "written", "committed"}
		for _, point := range points {
			w.faults.set(once(point))
			c, deed := w.send(s, m), w.deed(s, point)
			apply := c.apply
			c.apply = func(tx *Tx) error {
				if err := apply(tx); err != nil {
					return err
				}
				return deed.apply(tx)
			}
			w.do(c)
			m = newMessage()
		}
		if got := w.chain(); !slices.Equal(got, points) {
			t.Errorf("the chain has %v", got)
		}
	})
}

// Services write to the chains beside the committers, one transaction of several chains at a time.
func TestCommittersAndServicesShareTheAuditChains(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		const n = 20
		stranger, _ := seedOrg(t, w.db)
		orgs := []models.OrgID{w.org, stranger}
		var sessions []models.SessionID
		for range 4 {
			sessions = append(sessions, w.session())
		}
		committers := []*Committer{w.c, w.committer(nil)}
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				if err := committers[i%2].Submit(t.Context(), w.deed(sessions[i%len(sessions)], "committed")); err != nil {
					t.Error(err)
				}
			})
			all.Go(func() {
				err := write(w.db, func(tx *gorm.DB) error {
					var list []audit.Entry
					for _, org := range orgs {
						list = append(list, audit.Entry{Org: org, ActorKind: models.ActorSystem, Action: "recorded"})
					}
					return audit.RecordAll(t.Context(), tx, 1, list...)
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if got := w.chain(); len(got) != 2*n {
			t.Errorf("%d deeds left %d entries", 2*n, len(got))
		}
	})
}
