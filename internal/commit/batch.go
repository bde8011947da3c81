package commit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// patience bounds a transaction, the wait for a connection included: behind a network that swallows everything, the
// connection would hang for a quarter of an hour.
const patience = 15 * time.Second

// flush commits a batch and answers its commands, but for those that it gives back, in order: with a nil error because
// their sessions were locked by others, else because the transaction has failed for a reason that may pass.
func (f *flusher) flush(batch []*pending) (again []*pending, err error) {
	again, err = f.try(batch)
	switch {
	case err == nil:
		return again, nil
	case !f.permanent(err):
		return batch, err
	case len(batch) > 1:
		// Find the command that stands in the way of the others.
		return f.divide(batch)
	}
	p := batch[0]
	switch {
	case isLockTimeout(err):
		// Another process has written the same key and doesn't come to an end; it will.
		return batch, nil
	case store.IsDuplicate(err) && !p.retried:
		// A request with the same idempotency key was committed by another process meanwhile; now it will be found.
		p.retried = true
		return f.flush(batch)
	}
	f.cfg.Logger.Error("the database refused a command", "command", fmt.Sprintf("%T", p.cmd), "error", err)
	p.reply <- fmt.Errorf("%w: %w", ErrRefused, err)
	return nil, nil
}

// divide commits the halves of a batch one after the other.
func (f *flusher) divide(batch []*pending) (again []*pending, err error) {
	half := len(batch) / 2
	again, err = f.flush(batch[:half])
	if err != nil {
		return append(again, batch[half:]...), err
	}
	// What comes behind a command that was given back must stay behind it.
	held := keysOf(again)
	var rest []*pending
	for _, p := range batch[half:] {
		if held[p.key()] {
			again = append(again, p)
		} else {
			rest = append(rest, p)
		}
	}
	if len(rest) == 0 {
		return again, nil
	}
	last, err := f.flush(rest)
	return append(again, last...), err
}

// permanent reports whether a failed batch would fail again as a whole.
func (f *flusher) permanent(err error) bool {
	return isData(err) || isLockTimeout(err) || (!isOutage(err) && f.failures >= maxUnknownFailures)
}

// try runs one transaction. With a nil error every command was answered but for those that it gives back.
func (f *flusher) try(batch []*pending) (again []*pending, err error) {
	// The transaction goes on when its submitters lose patience: they are told what became of it.
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	start := time.Now()
	if f.cfg.Meter != nil {
		defer func() {
			if err != nil {
				f.cfg.Meter.Failed()
			}
		}()
	}
	if err := f.fault("begin"); err != nil {
		return nil, err
	}
	tx, err := f.b.begin(ctx, gatherNeeds(batch))
	if isLockTimeout(err) {
		for _, p := range batch {
			p.skips++
		}
		return batch, nil
	}
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	if err := f.fault("loaded"); err != nil {
		tx.rollback()
		return nil, err
	}
	now := clock.Millis(f.cfg.Clock)
	o := f.apply(batch, tx, now)
	if len(o.changed) == 0 {
		tx.rollback()
		o.answer()
		return o.again, nil
	}
	rows, err := gather(o.changed, o.headroom, o.budgets, now)
	if err != nil {
		tx.rollback()
		return nil, err
	}
	ticket := tx.ticket()
	err = tx.write(ctx, rows, entriesOf(o.changed), func() error { return f.fault("written") })
	if err == nil {
		// A fault here stands for a reply that got lost.
		if lost := f.fault("committed"); lost != nil {
			err = &unknownOutcome{lost, ticket}
		}
	}
	var unknown *unknownOutcome
	switch {
	case err == nil:
		f.remember(feedsOf(rows))
	case errors.As(err, &unknown):
		committed, failed := f.learn(unknown.ticket, o.marker(), feedsOf(rows))
		if failed != nil || !committed {
			return nil, unknown
		}
		// What the organizations have by now was in the reply.
		f.forget(feedsOf(rows))
	case isOverCap(err):
		// Another process was faster. With what is true now, the commands that have no room are refused, and the others aren't.
		return batch, f.recount(feedsOf(rows))
	default:
		return nil, err
	}
	if f.cfg.Meter != nil {
		f.cfg.Meter.Committed(len(batch)-len(o.again), time.Since(start))
	}
	f.publish(o)
	o.answer()
	return o.again, nil
}

func (f *flusher) fault(point string) error {
	if f.cfg.Faults == nil {
		return nil
	}
	return f.cfg.Faults.At(point)
}

// learn asks until the database reports whether a transaction was committed, and where its events are in the feeds; it fails only when Stop's grace is over.
func (f *flusher) learn(ticket string, marker *models.Event, feeds []feedShare) (bool, error) {
	pause := minPause
	for {
		committed, err := f.ask(ticket, marker, feeds)
		if err == nil {
			return committed, nil
		}
		f.cfg.Logger.Warn("can't determine yet whether a transaction was committed", "error", err)
		f.rest(pause)
		if f.ctx.Err() != nil {
			return false, err
		}
		pause = min(2*pause, maxPause)
	}
}

func (f *flusher) ask(ticket string, marker *models.Event, feeds []feedShare) (bool, error) {
	ctx, cancel := context.WithTimeout(f.ctx, patience)
	defer cancel()
	committed, err := f.b.committed(ctx, ticket, marker)
	if err == nil && committed {
		err = recall(ctx, f.b, feeds)
	}
	return committed, err
}

func compareKeys(a, b key) int {
	return cmp.Or(bytes.Compare(a.org[:], b.org[:]), bytes.Compare(a.session[:], b.session[:]))
}

// outcome is what became of the commands of a batch.
type outcome struct {
	changed []*state
	answers []answer
	again   []*pending
	// added is what the batch adds to the totals of organizations, and headroom the most that they may have had before.
	added    map[models.OrgID]Totals
	headroom map[models.OrgID]headroom
	// budgets are those that the batch has locked.
	budgets *budgetRows
}

type answer struct {
	p   *pending
	err error
}

func (o outcome) answer() {
	for _, a := range o.answers {
		a.p.reply <- a.err
	}
}

// marker is an event of the batch: all went in together, so one tells of all. It is nil when there is none; then what was
// written may be written again without harm.
func (o outcome) marker() *models.Event {
	for _, s := range o.changed {
		if events := insertEvent.of(&s.w); len(events) > 0 {
			return &events[0]
		}
	}
	return nil
}

// apply lets the commands decide, in the order in which they came.
func (f *flusher) apply(batch []*pending, tx batchTx, now models.Millis) outcome {
	o := outcome{added: map[models.OrgID]Totals{}, headroom: map[models.OrgID]headroom{}, budgets: tx.budgets()}
	found, missing := tx.sessions()
	known := tx.known()
	states := make(map[key]*state, len(found))
	for _, p := range batch {
		k := p.key()
		s := states[k]
		if s == nil {
			l := found[k]
			switch {
			case l == nil && !missing[k] && !p.needs.Create:
				p.skips++
				o.again = append(o.again, p)
				continue
			case l == nil:
				l = &loaded{}
			}
			s = newState(k, l)
			states[k] = s
		}
		if s.putOff {
			o.again = append(o.again, p)
			continue
		}
		var before *models.IdempotencyKey
		if p.needs.Idempotency != nil {
			if row, ok := known[orgKey{p.needs.Org, *p.needs.Idempotency}]; ok {
				before = &row
			}
		}
		t := s.draft(now, before)
		t.totals, t.shared = f.ledger.of(k.org).plus(o.added[k.org]), o.budgets
		err := f.applyOne(p, t)
		if p.putOff(t.missing) {
			s.putOff = true
			o.again = append(o.again, p)
			continue
		}
		if err == nil {
			for _, f := range t.forks {
				o.take(f.state, f.tx, known)
			}
			o.take(s, t, known)
			if t.quotas != (quotas{}) {
				o.headroom[k.org] = o.headroom[k.org].withCommand(t.quotas, o.added[k.org])
			}
		}
		o.answers = append(o.answers, answer{p, err})
	}
	return o
}

// take takes over what a command has done to a session.
func (o *outcome) take(s *state, t *Tx, known map[orgKey]models.IdempotencyKey) {
	if !s.changedBy(t) {
		return
	}
	if !s.changed {
		s.changed = true
		o.changed = append(o.changed, s)
	}
	for _, row := range insertKey.of(t.w) {
		known[orgKey{row.OrgID, IdempotencyKey{row.Operation, row.Key}}] = row
	}
	before := s.share()
	o.budgets.keep(s.tx.org, t.budgets)
	s.merge(t)
	if more := s.share().minus(before); more != (Totals{}) {
		o.added[s.tx.org] = o.added[s.tx.org].plus(more)
	}
}

// applyOne checks the lease and runs the command. A command that panics fails alone.
func (f *flusher) applyOne(p *pending, tx *Tx) (err error) {
	defer func() {
		if r := recover(); r != nil {
			f.cfg.Logger.Error("a command panicked", "command", fmt.Sprintf("%T", p.cmd), "panic", r, "stack", string(debug.Stack()))
			err = fmt.Errorf("%T panicked: %v", p.cmd, r)
			if f.cfg.Meter != nil {
				f.cfg.Meter.Panicked("commit")
			}
		}
	}()
	if l := p.needs.Lease; l != nil {
		t := tx.Turn
		if t == nil || *l != LeaseOf(t) || t.Status != models.TurnRunning {
			return ErrLeaseLost
		}
	}
	return p.cmd.Apply(tx)
}
