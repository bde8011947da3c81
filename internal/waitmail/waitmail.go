// Package waitmail mails people what has been waiting for them: approvals, questions and sessions that a budget has paused. Turns know nothing
// of it. A Mailer looks for waits that have been open for a while, by an index, and sends one mail to everybody who may resolve them.
//
// Read in this order: waitmail.go (when somebody gets a mail), read.go (what is read for it), text.go (what it says).
package waitmail

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

const (
	// interval is how often waits are looked for that have become due.
	interval = 30 * time.Second
	// gap is the least time between two mails to a person in an organization: what becomes due meanwhile is in the next one.
	gap = 10 * time.Minute
	// oldest bounds what is mailed after all processes were down.
	oldest = 24 * time.Hour
	// maxWaits is how many waits of an organization are looked at together, the oldest.
	maxWaits = 500
)

// Sender hands over mail; mail.Sender does.
type Sender interface {
	Send(ctx context.Context, m mail.Message) error
}

// Config is what a Mailer works with. All fields are required.
type Config struct {
	DB       *store.DB
	Clock    clock.Clock
	Logger   *slog.Logger
	Sessions *sessions.Service
	Catalog  *catalog.Service
	Mail     Sender
	// PublicURL is what links begin with.
	PublicURL string
	// After is how long a wait must have been open.
	After time.Duration
}

// Mailer mails people what waits for them. Several may be at work at once, in any process: each mail is claimed before it is sent, so that it
// is sent at most once, whoever dies.
type Mailer struct {
	cfg Config
	// seen is the time up to which everybody was told of the waits that were made until then.
	seen models.Millis
}

// New makes a Mailer.
func New(cfg Config) *Mailer { return &Mailer{cfg: cfg} }

// Job returns what sends mail until it is stopped.
func (m *Mailer) Job() *background.Job {
	return background.Every(m.cfg.Logger, "mail what waits", interval, m.Send)
}

// Send sends what is due now. After a mail that can't be sent it stops: the others wait for the next time.
func (m *Mailer) Send(ctx context.Context) error {
	now := clock.Millis(m.cfg.Clock)
	through := now - models.Millis(m.cfg.After.Milliseconds())
	from := max(m.seen, through-models.Millis(oldest.Milliseconds()))
	if from >= through {
		return nil
	}
	orgs, err := waiting(ctx, m.cfg.DB, from, through)
	if err != nil {
		return err
	}
	allTold := true
	for _, org := range orgs {
		told, err := m.tell(ctx, org, from, through, now)
		if err != nil {
			return err
		}
		allTold = allTold && told
	}
	if allTold {
		m.seen = through
	}
	return nil
}

// tell mails the members of an organization. It is false when somebody had a mail just before and has to wait for the next one.
func (m *Mailer) tell(ctx context.Context, org models.OrgID, from, through, now models.Millis) (bool, error) {
	list, err := m.asks(ctx, org, from, through)
	if err != nil || len(list) == 0 {
		return true, err
	}
	people, err := members(ctx, m.cfg.DB, org)
	if err != nil {
		return false, err
	}
	allTold := true
	for _, p := range people {
		mine := p.mayResolve(list)
		switch {
		case len(mine) == 0:
			continue
		case p.mailedAt > now-models.Millis(gap.Milliseconds()):
			allTold = false
			continue
		}
		ok, err := claim(ctx, m.cfg.DB, p, through, now)
		if err != nil {
			return false, err
		}
		if !ok {
			continue // another process mails them, or they have switched it off
		}
		if err := m.cfg.Mail.Send(ctx, message(m.cfg.PublicURL, p, mine)); err != nil {
			return false, fmt.Errorf("mail %s of %s what waits: %w", p.by.UserID, org, err)
		}
	}
	return allTold, nil
}

// ask is a wait with what its mail says of it.
type ask struct {
	wait models.Wait
	turn models.Turn
	// title and agent are empty where there is none.
	title, agent string
	// decidedBy are those who have decided already, where it takes several.
	decidedBy []models.ActorID
}

// member is somebody who may get a mail.
type member struct {
	by               *auth.Principal
	name, email, org string
	// through is the time up to which they were told of what waits, mailedAt when that was; 0 for never.
	through, mailedAt models.Millis
}

// mayResolve returns the waits that the member may resolve and wasn't told of.
func (p *member) mayResolve(list []ask) []ask {
	var mine []ask
	for i := range list {
		if a := &list[i]; a.wait.CreatedAt > p.through && a.waitsFor(p.by) {
			mine = append(mine, *a)
		}
	}
	return mine
}

func (a *ask) waitsFor(by *auth.Principal) bool {
	if a.wait.Kind == models.WaitBudget {
		return by.Can(auth.BudgetsManage)
	}
	for _, id := range a.decidedBy {
		if id == models.ActorID(by.UserID) {
			return false
		}
	}
	return turns.MayResolve(by, turns.RuleOf(&a.wait), &a.turn)
}
