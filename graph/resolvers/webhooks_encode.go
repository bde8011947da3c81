package resolvers

import (
	"context"
	"encoding/base64"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

// encodeWebhook returns what encodes webhooks, whose deliveries may be asked for.
func (r *Resolver) encodeWebhook(ctx context.Context) func(w *models.Webhook) *model.Webhook {
	l := r.loadersOf(ctx)
	return func(w *models.Webhook) *model.Webhook {
		l.deliveries.expect(w.ID)
		out := &model.Webhook{ID: w.ID.String(), URL: w.URL, Kinds: []model.EventKind{}, Enabled: w.Enabled, CreatedAt: w.CreatedAt, WebhookID: w.ID}
		for _, k := range w.Kinds {
			// A kind that this version doesn't know can't be shown, and doesn't happen.
			if kind := model.EventKind(k); kind.IsValid() {
				out.Kinds = append(out.Kinds, kind)
			}
		}
		return out
	}
}

// decodeKinds returns kinds each once; no list stays none, an empty one stays empty.
func decodeKinds(list []model.EventKind) []models.EventKind { return distinct[models.EventKind](list) }

func decodeWebhookChange(in model.UpdateWebhookInput) webhooks.Change {
	return webhooks.Change{
		URL: in.URL, Kinds: decodeKinds(in.Kinds), Enabled: in.Enabled, RotateSecret: in.RotateSecret != nil && *in.RotateSecret,
	}
}

// webhookPayload answers a mutation of a webhook; the secret is nil where it isn't shown.
func (r *Resolver) webhookPayload(ctx context.Context, row *models.Webhook, secret []byte, err error) (*model.WebhookPayload, error) {
	out := &model.WebhookPayload{}
	return answered(out, &out.UserErrors, r.changed(ctx, err), func() {
		out.Webhook = r.encodeWebhook(ctx)(row)
		out.Secret = nonEmpty(base64.StdEncoding.EncodeToString(secret))
	})
}

func encodeDelivery(d *models.WebhookDelivery) *model.WebhookDelivery {
	out := &model.WebhookDelivery{
		ID: d.ID.String(), EventID: d.EventID.String(), Attempts: d.Attempts, Status: d.Status, Error: d.Error, DurationMs: d.DurationMs,
		Response: d.Response, NextAttemptAt: d.NextAttemptAt, DeliveredAt: d.DeliveredAt, DeliveryID: d.ID,
	}
	if kind := model.EventKind(d.Kind); d.Kind != webhooks.KindTest && kind.IsValid() {
		out.Kind, out.SessionID = &kind, new(d.SessionID.String())
	}
	return out
}

// uncounted is for lists without a totalCount.
func uncounted[K comparable](context.Context, []K) (map[K]int, error) { return nil, nil }
