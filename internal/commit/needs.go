package commit

import (
	"bytes"
	"errors"
	"slices"
)

// ErrMore puts a command off to the next transaction, which reads what this one has not read for it. Tx tells what is missing: a command only
// returns the error.
var ErrMore = errors.New("the transaction has not read all that the command needs")

// lack is what a command has found that it needs, and that wasn't read for it: most don't need it, so that it is read only then.
type lack uint8

const (
	// lackBehind is what comes behind the current turn: its inbox, and the next turn. Needs.Ends must say that it may be needed.
	lackBehind lack = 1 << iota
	// lackWaits is what the turn waits for.
	lackWaits
	// lackBudgets are the budgets that bind the session, and those that its turn and its payments hold something of.
	lackBudgets
	// lackBatch is a transaction that begins after this one: what the command decides on has changed in it.
	lackBatch
)

// lacks notes what the command can't do without, and returns the error that the command must return.
func (tx *Tx) lacks(what lack) error {
	tx.missing |= what
	return ErrMore
}

// putOff reports whether a command goes to the next transaction for what is missing; not for what was read for it.
func (p *pending) putOff(missing lack) bool {
	if !p.needs.Ends {
		missing &^= lackBehind
	}
	if missing&^p.found == 0 {
		return false
	}
	p.found |= missing &^ lackBatch
	return true
}

// batchNeed is what the commands of a batch need together.
type batchNeed struct {
	keys []key
	// of is what those of each session need.
	of map[key]*need
	// known are the idempotency keys that the requests come with.
	known []orgKey
	// wait tells to wait for the lock of the only session, though not for long, instead of skipping what others hold.
	wait bool
}

// need is what the commands of a session need together; of Needs, what is read.
type need struct {
	Needs

	// behind asks for what comes behind the current turn.
	behind bool
}

func gatherNeeds(batch []*pending) batchNeed {
	all := batchNeed{of: make(map[key]*need, len(batch)), wait: true}
	for _, p := range batch {
		k := p.key()
		all.wait = all.wait && k == batch[0].key()
		if p.needs.Idempotency != nil {
			all.known = append(all.known, orgKey{p.needs.Org, *p.needs.Idempotency})
		}
		n := all.of[k]
		if n == nil {
			n = &need{}
			all.of[k] = n
		}
		if !p.needs.Create && n.Org.IsZero() {
			n.Org = k.org
			all.keys = append(all.keys, k)
		}
		n.add(&p.needs, p.found)
	}
	for _, n := range all.of {
		// Read once for each command that names it, a decision would count once for each.
		slices.SortFunc(n.WaitIDs, compareIDs)
		n.WaitIDs = slices.Compact(n.WaitIDs)
		slices.SortFunc(n.Payments, compareIDs)
		n.Payments = slices.Compact(n.Payments)
	}
	slices.SortFunc(all.keys, compareKeys)
	return all
}

func compareIDs[T ~[16]byte](a, b T) int { return bytes.Compare(a[:], b[:]) }

// add adds what a command needs, and has found that it needs.
func (n *need) add(more *Needs, found lack) {
	n.Ends, n.Queue, n.Calls = n.Ends || more.Ends, n.Queue || more.Queue, n.Calls || more.Calls
	n.behind = n.behind || found&lackBehind != 0
	n.Waits = n.Waits || more.Waits || found&lackWaits != 0
	n.Budgets = n.Budgets || more.Budgets || found&lackBudgets != 0
	n.WaitIDs, n.Payments, n.Files = append(n.WaitIDs, more.WaitIDs...), append(n.Payments, more.Payments...), append(n.Files, more.Files...)
	if more.Events != nil {
		n.Events = n.Events.with(*more.Events)
	}
}

// with returns a need that covers two.
func (n *EventNeed) with(other EventNeed) *EventNeed {
	if n == nil {
		return &other
	}
	both := EventNeed{After: min(n.After, other.After), Kinds: slices.Clone(n.Kinds)}
	for _, k := range other.Kinds {
		if !slices.Contains(both.Kinds, k) {
			both.Kinds = append(both.Kinds, k)
		}
	}
	return &both
}
