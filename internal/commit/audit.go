package commit

import (
	"bytes"
	"reflect"
	"slices"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Record adds an entry to the audit chain of the organization: what somebody did, by audit.Draft.
func (tx *Tx) Record(e models.AuditEntry) {
	e.OrgID, e.CreatedAt = tx.org, tx.Now
	insertEntry.put(tx.w, e)
}

// entriesOf returns what a batch adds to audit chains, by organization. The ends of the chains are locked after everything else, in the
// order of the organizations, as audit.RecordAll does: whoever holds one waits for nothing but other ends and the commit.
func entriesOf(states []*state) []models.AuditEntry {
	var list []models.AuditEntry
	for _, s := range states {
		list = append(list, insertEntry.of(&s.w)...)
	}
	slices.SortStableFunc(list, func(a, b models.AuditEntry) int { return bytes.Compare(a.OrgID[:], b.OrgID[:]) })
	return list
}

// chainsOf returns the ends as they would begin, one for each organization of the entries, in order.
func chainsOf(entries []models.AuditEntry) []models.AuditHead {
	var heads []models.AuditHead
	for _, e := range entries {
		if n := len(heads); n == 0 || heads[n-1].OrgID != e.OrgID {
			heads = append(heads, audit.NewHead(e.OrgID))
		}
	}
	return heads
}

// link appends the entries to the ends of the chains, which are locked and in the order of the organizations. The rows are
// those of the entries and of the new ends.
func link(heads []models.AuditHead, entries []models.AuditEntry) []step {
	add, move := step{shape: insertEntry.shape}, step{shape: moveChain.shape}
	for _, head := range heads {
		for len(entries) > 0 && entries[0].OrgID == head.OrgID {
			row := entries[0]
			head, entries = audit.Follow(head, &row), entries[1:]
			add.rows = append(add.rows, insertEntry.row(reflect.ValueOf(&row).Elem()))
		}
		move.rows = append(move.rows, moveChain.row(reflect.ValueOf(&head).Elem()))
	}
	return []step{add, move}
}

func beginChains(entries []models.AuditEntry) step {
	s := step{shape: beginChain.shape}
	for _, head := range chainsOf(entries) {
		s.rows = append(s.rows, beginChain.row(reflect.ValueOf(&head).Elem()))
	}
	return s
}

func scanHead(r scanner) (h models.AuditHead, err error) {
	err = beginChain.scan(r, &h)
	return h, err
}
