package commit

import (
	"bytes"
	"slices"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Record adds an entry to the audit chain of the organization: what somebody did, by audit.Draft.
func (tx *Tx) Record(e models.AuditEntry) {
	e.OrgID, e.CreatedAt = tx.org, tx.Now
	tx.w.entries = append(tx.w.entries, e)
}

// entriesOf returns what a batch adds to audit chains, by organization. The ends of the chains are locked after everything else, in the
// order of the organizations, as audit.RecordAll does: whoever holds one waits for nothing but other ends and the commit.
func entriesOf(states []*state) []models.AuditEntry {
	var list []models.AuditEntry
	for _, s := range states {
		list = append(list, s.w.entries...)
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
	add, move := step{shape: tables.insertEntry}, step{shape: tables.moveChain}
	for _, head := range heads {
		for len(entries) > 0 && entries[0].OrgID == head.OrgID {
			row := entries[0]
			head, entries = audit.Follow(head, &row), entries[1:]
			add.rows = append(add.rows, entryRow(row))
		}
		move.rows = append(move.rows, headRow(head))
	}
	return []step{add, move}
}

func beginChains(entries []models.AuditEntry) step {
	s := step{shape: tables.beginChain}
	for _, head := range chainsOf(entries) {
		s.rows = append(s.rows, headRow(head))
	}
	return s
}

func entryRow(e models.AuditEntry) []any {
	return []any{
		id(e.OrgID), e.Position, id(e.ID), string(e.ActorKind), optID(e.ActorID), e.Action, e.TargetID, e.Address, e.RequestID, e.Details,
		int64(e.CreatedAt), e.PrevHash, e.Hash,
	}
}

func headRow(h models.AuditHead) []any { return []any{id(h.OrgID), h.Position, h.Hash} }

func scanHead(r scanner) (h models.AuditHead, err error) {
	err = r.Scan(into(&h.OrgID), &h.Position, &h.Hash)
	return h, err
}
