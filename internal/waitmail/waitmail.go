// Package waitmail mails people what has been waiting for them: approvals, questions and sessions that a budget has paused. Turns know nothing
// of it. A Mailer looks for waits that have been open for a while, by an index, and sends one mail to everybody who may resolve them.
//
// Read in this order: waitmail.go (when somebody gets a mail), members.go (who does), read.go (what is read for it), text.go (what it says),
// settings.go (how people switch it off).
package waitmail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// interval is how often waits are looked for that have become due.
	interval = 30 * time.Second
	// gap is the least time between two mails to a person in an organization: what becomes due meanwhile is in the next one.
	gap = 10 * time.Minute
	// oldest bounds what is mailed after all processes were down.
	oldest = 24 * time.Hour
	// pageWaits is how many waits are read together.
	pageWaits = 500
	// maxMails is how many mails an organization gets in one run, so that the others needn't wait for a big one.
	maxMails = 50
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
	seen            models.Millis
	pageWaits, most int
}

// New makes a Mailer.
func New(cfg Config) *Mailer { return &Mailer{cfg: cfg, pageWaits: pageWaits, most: maxMails} }

// Job returns what sends mail until it is stopped.
func (m *Mailer) Job() *background.Job {
	return background.Every(m.cfg.Logger, "mail what waits", interval, m.Send)
}

// window is what a run looks at: the waits that were made after one time and until another.
type window struct{ from, through, now models.Millis }

// errOutage ends a run: no other mail could be sent either.
var errOutage = errors.New("the mail server fails")

// Send sends what is due now. What can't be sent to one doesn't keep it from others, unless the mail server itself fails.
func (m *Mailer) Send(ctx context.Context) error {
	w := window{now: clock.Millis(m.cfg.Clock)}
	w.through = w.now - millis(m.cfg.After)
	w.from = max(m.seen, w.through-millis(oldest))
	if w.from >= w.through {
		return nil
	}
	list, err := waiting(ctx, m.cfg.DB, w)
	if err != nil {
		return err
	}
	seen := w.through
	var failed []error
	for i := range list {
		told, err := m.tell(ctx, &list[i], w)
		seen = min(seen, told)
		if err != nil {
			failed = append(failed, err)
		}
		if ctx.Err() != nil || errors.Is(err, errOutage) {
			seen = w.from // those who come after it weren't told
			break
		}
	}
	m.seen = seen
	return errors.Join(failed...)
}

// tell mails the members of an organization, and returns until when all of them were told of what waits there. They were not when somebody had a
// mail just before and has to wait for the next one, when there are too many of them, and after errors.
func (m *Mailer) tell(ctx context.Context, o *orgWaits, w window) (models.Millis, error) {
	people, err := members(ctx, m.cfg.DB, o.org)
	if err != nil {
		return w.from, err
	}
	told := w.through
	var due []*member
	for _, p := range people {
		if p.mailedAt > w.now-millis(gap) {
			told = min(told, p.through)
		} else {
			due = append(due, p)
		}
	}
	if err := m.gather(ctx, o, due); err != nil {
		return w.from, err
	}
	due = slices.DeleteFunc(due, func(p *member) bool { return p.count == 0 })
	var failed []error
	for i, p := range due {
		if i == m.most {
			return w.from, errors.Join(failed...)
		}
		if i > 0 { // mails take time, and what waited for this one may be over
			if err := m.gather(ctx, o, []*member{p}); err != nil {
				return w.from, errors.Join(append(failed, err)...)
			}
			if p.count == 0 {
				continue
			}
		}
		ok, err := m.mail(ctx, p, w)
		if err != nil {
			failed = append(failed, fmt.Errorf("mail %s of %s what waits: %w", p.by.UserID, o.org, err))
		}
		if errors.Is(err, errOutage) {
			return w.from, errors.Join(failed...)
		}
		if !ok {
			told = min(told, p.through)
		}
	}
	return max(told, w.from), errors.Join(failed...)
}

// mail sends somebody a mail, and reports whether they are told now, or as good as that.
func (m *Mailer) mail(ctx context.Context, p *member, w window) (bool, error) {
	mine, err := claim(ctx, m.cfg.DB, p, w)
	if err != nil || !mine {
		return false, err // another process mails them, of what it knew of, or they get none any more
	}
	err = m.cfg.Mail.Send(ctx, message(m.cfg.PublicURL, p))
	switch {
	case err == nil:
		return true, nil
	case errors.Is(err, mail.ErrRefused):
		return true, err //nolint:wrapcheck // by tell
	case errors.Is(err, mail.ErrDeferred):
		return false, errors.Join(err, giveBack(ctx, m.cfg.DB, p, w.now, w.now)) // mailed_at stays, so that the gap is before the next attempt
	case errors.Is(err, mail.ErrUnavailable):
		return false, fmt.Errorf("%w: %w", errOutage, errors.Join(err, giveBack(ctx, m.cfg.DB, p, w.now, p.mailedAt)))
	}
	return true, fmt.Errorf("%w: %w", errOutage, err) // it may have left
}

func millis(d time.Duration) models.Millis { return models.Millis(d.Milliseconds()) }
