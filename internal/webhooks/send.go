package webhooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

const (
	// EventHeader has the kind of the event.
	EventHeader = "Ostler-Event"

	// lease is how long a process has a webhook for itself: longer than a round takes.
	lease = time.Minute
	// roundDeliveries is how many deliveries of a webhook a round sends, roundAtOnce how many at once, and roundTime for how long it begins
	// new ones.
	roundDeliveries = 64
	roundAtOnce     = 8
	roundTime       = 20 * time.Second
	// maxAnswer is how much of an answer is read, so that its connection can be used again.
	maxAnswer = 64 << 10
	// maxResponse is how much of an answer is kept, in bytes.
	maxResponse = 1 << 10
	// maxError is the length of what is kept of why an attempt failed, in bytes.
	maxError = 500
	// releaseTime is how long it may take to give a webhook back when the process ends.
	releaseTime = 2 * time.Second
)

// round sends what is due of one webhook.
func (d *Dispatcher) round(ctx context.Context, c claimed) error {
	if err := d.sendDue(ctx, c.webhookKey, c.at); err != nil && ctx.Err() == nil {
		// The lease is left to run out: what failed at once would fail again at once.
		return err
	}
	// Also when the process is about to end: others need not wait for the lease.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return d.release(ctx, c.webhookKey, c.until)
}

// release lets others have the webhook, from when its next delivery is due.
func (d *Dispatcher) release(ctx context.Context, key webhookKey, until models.Millis) error {
	err := d.cfg.DB.Write(ctx, key.OrgID, func(tx *gorm.DB) error {
		row, err := lockAny(tx, key)
		if err != nil || row == nil || row.LeasedUntil == nil || *row.LeasedUntil != until {
			return err
		}
		due, err := nextDue(tx, key.OrgID, key.ID)
		if err != nil {
			return err
		}
		// What this round has left goes to the end of the line: however old it is, everybody else's turn comes first.
		if now := clock.Millis(d.cfg.Clock); due != nil && *due < now {
			due = &now
		}
		return store.OneRow(store.Of(tx.Model(&models.Webhook{}), key.OrgID).Where("id = ?", key.ID).
			Updates(map[string]any{"due_at": due, "leased_until": nil}))
	})
	if err != nil {
		return fmt.Errorf("release webhook %s: %w", key.ID, err)
	}
	return nil
}

// sendDue sends deliveries that are due: those of one session one after the other, those of several beside each other.
func (d *Dispatcher) sendDue(ctx context.Context, key webhookKey, now models.Millis) error {
	hook, err := webhookByID(d.cfg.DB.Read(ctx, key.OrgID), key.OrgID, key.ID)
	if fault.Is(err, fault.NotFound) || err == nil && !hook.Enabled {
		return nil // since it was claimed
	}
	if err != nil {
		return err
	}
	signing, err := d.secretsOf(&hook, now)
	if err != nil {
		return err
	}
	var list []models.WebhookDelivery
	err = store.Of(d.cfg.DB.Read(ctx, key.OrgID), key.OrgID).Where("webhook_id = ? AND next_attempt_at <= ?", key.ID, now).
		Order("next_attempt_at, id").Limit(roundDeliveries).Find(&list).Error
	if err != nil {
		return fmt.Errorf("read the deliveries of %s: %w", key.ID, err)
	}
	lanes := map[models.SessionID][]*models.WebhookDelivery{}
	var order []models.SessionID
	for i := range list {
		session := list[i].SessionID
		if lanes[session] == nil {
			order = append(order, session)
		}
		lanes[session] = append(lanes[session], &list[i])
	}
	r := &round{d: d, hook: &hook, signing: signing, end: d.cfg.Clock.Now().Add(roundTime)}
	var all errgroup.Group
	all.SetLimit(roundAtOnce)
	for _, session := range order {
		all.Go(func() error { return background.Contain(func() error { return r.lane(ctx, lanes[session]) }) })
	}
	return all.Wait() //nolint:wrapcheck // those of record
}

// round is what the attempts of one round share.
type round struct {
	d       *Dispatcher
	hook    *models.Webhook
	signing [][]byte
	end     time.Time
	// stopped ends the round: the webhook was disabled, or the database is away.
	stopped atomic.Bool
}

func (r *round) lane(ctx context.Context, list []*models.WebhookDelivery) error {
	for _, del := range list {
		if r.stopped.Load() || ctx.Err() != nil || !r.d.cfg.Clock.Now().Before(r.end) {
			return ctx.Err() //nolint:wrapcheck // nil, or the end of the process
		}
		from := r.d.cfg.Clock.Now()
		out := r.d.attempt(ctx, r.hook, del, r.signing)
		out.took = r.d.cfg.Clock.Now().Sub(from)
		if ctx.Err() != nil {
			// It is not known what became of the attempt, nor is it to be held against the receiver.
			return ctx.Err() //nolint:wrapcheck // as above
		}
		goes, err := r.d.record(ctx, del, out)
		if err != nil || !goes {
			r.stopped.Store(true)
			return err
		}
	}
	return nil
}

// outcome is what became of an attempt.
type outcome struct {
	// status and response are nil when there was no answer.
	status   *int
	response *string
	took     time.Duration
	// problem says why the attempt failed; empty when it succeeded.
	problem string
	// wait is how long the receiver asks us to wait.
	wait time.Duration
	// gone is true when the receiver wants nothing more.
	gone bool
}

// attempt makes one request.
func (d *Dispatcher) attempt(ctx context.Context, hook *models.Webhook, del *models.WebhookDelivery, signing [][]byte) outcome {
	limited, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, hook.URL, strings.NewReader(del.Body))
	if err != nil {
		return outcome{problem: "its address can't be used"}
	}
	now := d.cfg.Clock.Now()
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Ostler-Webhooks/1")
	req.Header.Set(hooks.SignatureHeader, hooks.Sign(signing[0], []byte(del.Body), now, signing[1:]...))
	req.Header.Set(hooks.DeliveryHeader, del.ID.String())
	req.Header.Set(EventHeader, string(del.Kind))
	resp, err := d.cfg.Client.Do(req)
	if err != nil {
		out := outcome{problem: d.unreachable(limited, hook, err)}
		if resp != nil { // a redirect, whose body is closed already
			out.status, out.response = &resp.StatusCode, new("")
		}
		return out
	}
	defer func() { _ = resp.Body.Close() }()
	said, _ := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	out := outcome{status: &resp.StatusCode, response: new(tools.Shorten(text.Clean(string(said)), maxResponse))}
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		out.problem = fmt.Sprintf("the receiver answered with the status %d", resp.StatusCode)
		out.wait, out.gone = retryAfter(resp.Header, now), resp.StatusCode == http.StatusGone
	}
	return out
}

// unreachable says why there is no answer, without what only the operator may know of the network.
func (d *Dispatcher) unreachable(limited context.Context, hook *models.Webhook, err error) string {
	if blocked, ok := errors.AsType[*egress.BlockedError](err); ok {
		return tools.Shorten(blocked.Error(), maxError)
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return fmt.Sprintf("the receiver did not answer within %d ms", d.cfg.Timeout.Milliseconds())
	}
	d.cfg.Logger.Debug("a webhook could not be reached", "webhook", hook.ID, "org", hook.OrgID, "error", egress.WithoutAddress(err))
	return "the receiver could not be reached"
}

// secretsOf returns the secrets that sign for a webhook, the current one first.
func (d *Dispatcher) secretsOf(hook *models.Webhook, now models.Millis) ([][]byte, error) {
	current, err := d.cfg.Keeper.Open(hook.Secret, secretPlace(hook))
	if err != nil {
		return nil, fmt.Errorf("sign for webhook %s: %w", hook.ID, err)
	}
	if hook.PreviousUntil == nil || *hook.PreviousUntil <= now {
		return [][]byte{current}, nil
	}
	previous, err := d.cfg.Keeper.Open(hook.PreviousSecret, previousPlace(hook))
	if err != nil {
		return nil, fmt.Errorf("sign for webhook %s: %w", hook.ID, err)
	}
	return [][]byte{current, previous}, nil
}
