package resolvers_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/webhooks"
)

const (
	createWebhook = `mutation($in: CreateWebhookInput!) { createWebhook(input: $in) { secret webhook { id url kinds enabled createdAt } userErrors { code path message } } }`
	updateWebhook = `mutation($id: ID!, $in: UpdateWebhookInput!) { updateWebhook(id: $id, input: $in) { secret webhook { id url kinds enabled } userErrors { code path } } }`
	deleteWebhook = `mutation($id: ID!) { deleteWebhook(id: $id) { deletedId userErrors { code path } } }`
	replay        = `mutation($id: ID!) { replayDelivery(id: $id) { secret webhook { id } userErrors { code path } } }`
)

func withWebhooks(t *testing.T, a *api) {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	a.resolver.Hooks, err = webhooks.NewService(webhooks.Config{
		DB: a.db, Keeper: keeper, Clock: clock.NewManual(time.UnixMilli(1_700_000_000_000)), Addresses: egress.New(egress.Config{}),
	})
	if err != nil {
		t.Fatal(err)
	}
}

func (a *api) webhook(url string) string {
	a.t.Helper()
	in := map[string]any{"in": map[string]any{"url": url, "kinds": []string{"TURN_FAILED", "TURN_COMPLETED"}}}
	return a.get(createWebhook, in, "createWebhook", "webhook", "id").(string)
}

// delivered puts deliveries of a webhook, and returns their ids, the oldest first.
func (a *api) delivered(webhook string, n int) (ids []string) {
	a.t.Helper()
	id, err := models.ParseID[models.WebhookEntity](webhook)
	if err != nil {
		a.t.Fatal(err)
	}
	err = a.db.Write(a.t.Context(), a.principal.OrgID, func(tx *gorm.DB) error {
		for i := range n {
			row := models.WebhookDelivery{
				OrgID: a.principal.OrgID, ID: models.NewID[models.DeliveryEntity](), WebhookID: id, EventID: models.NewID[models.EventEntity](),
				SessionID: models.NewID[models.SessionEntity](), Kind: models.EventTurnFailed, Body: "{}", Attempts: i, Status: new(500), Error: new("no"), CreatedAt: 1,
			}
			ids = append(ids, row.ID.String())
			if err := tx.Create(&row).Error; err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		a.t.Fatal(err)
	}
	return ids
}

func TestWebhooksOverTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withWebhooks(t, a)
		a.asOwner()
		data, err := a.run(createWebhook, map[string]any{"in": map[string]any{"url": "https://example.com/a", "kinds": []string{"TURN_FAILED", "TURN_COMPLETED"}}})
		if err != nil || !strings.Contains(data, `"url":"https://example.com/a","kinds":["TURN_COMPLETED","TURN_FAILED"],"enabled":true,"createdAt":"2023-11-14T22:13:20.000Z"},"userErrors":[]`) {
			t.Fatalf("got %s, %v", data, err)
		}
		id := a.get(`{ webhooks { id } }`, nil, "webhooks").([]any)[0].(map[string]any)["id"].(string)
		_, secret, _ := strings.Cut(data, `"secret":"`)
		secret, _, _ = strings.Cut(secret, `"`)
		if b, err := base64.StdEncoding.DecodeString(secret); err != nil || len(b) != 32 {
			t.Errorf("the secret is %q", secret)
		}
		data, err = a.run(updateWebhook, map[string]any{"id": id, "in": map[string]any{"enabled": false, "url": nil, "kinds": nil}})
		if want := fmt.Sprintf(`{"updateWebhook":{"secret":null,"webhook":{"id":%q,"url":"https://example.com/a","kinds":["TURN_COMPLETED","TURN_FAILED"],"enabled":false},"userErrors":[]}}`, id); err != nil || data != want {
			t.Errorf("got  %s, %v\nwant %s", data, err, want)
		}
		if data, err := a.run(updateWebhook, map[string]any{"id": id, "in": map[string]any{"enabled": true, "rotateSecret": true}}); err != nil ||
			strings.Contains(data, `"secret":null`) || strings.Contains(data, secret) || !strings.Contains(data, `"enabled":true`) {
			t.Errorf("rotated is %s, %v", data, err)
		}
		// Wrong input is told with its path, and changes nothing.
		for _, test := range []struct{ document, in, path string }{
			{createWebhook, "http://example.com/", `["input","url"]`},
			{updateWebhook, "https://127.0.0.1/", `["input","url"]`},
		} {
			data, err := a.run(test.document, map[string]any{"id": id, "in": map[string]any{"url": test.in, "kinds": []string{"TURN_FAILED"}}})
			if err != nil || !strings.Contains(data, `"secret":null,"webhook":null,"userErrors":[{"code":"INVALID","path":`+test.path) {
				t.Errorf("%s: %s, %v", test.in, data, err)
			}
		}
		for _, kinds := range [][]string{{}, {"TURN_FAILED", "OUTPUT_DELTA"}} {
			data, err := a.run(updateWebhook, map[string]any{"id": id, "in": map[string]any{"kinds": kinds}})
			if err != nil || !strings.Contains(data, `"userErrors":[{"code":"INVALID","path":["input","kinds"]}]`) {
				t.Errorf("%v: %s, %v", kinds, data, err)
			}
		}

		deliveries := a.delivered(id, 3)
		node := `query($id: ID!, $after: Cursor) { node(id: $id) { ... on Webhook { url deliveries(first: 2, after: $after) {
			nodes { id attempts status error nextAttemptAt deliveredAt } edges { cursor node { id } } pageInfo { hasNextPage hasPreviousPage endCursor } } } } }`
		data, err = a.run(node, map[string]any{"id": id})
		if err != nil || !strings.Contains(data, fmt.Sprintf(`"nodes":[{"id":%q,"attempts":2,"status":500,"error":"no","nextAttemptAt":null,"deliveredAt":null},{"id":%q,`, deliveries[2], deliveries[1])) ||
			!strings.Contains(data, `"hasNextPage":true`) {
			t.Errorf("the newest are %s, %v", data, err)
		}
		cursor := a.get(node, map[string]any{"id": id}, "node", "deliveries", "pageInfo", "endCursor")
		data, err = a.run(node, map[string]any{"id": id, "after": cursor})
		if err != nil || strings.Count(data, `"attempts"`) != 1 || !strings.Contains(data, deliveries[0]) || !strings.Contains(data, `"hasNextPage":false,"hasPreviousPage":true`) {
			t.Errorf("the rest is %s, %v", data, err)
		}
		if data, err := a.run(replay, map[string]any{"id": deliveries[0]}); err != nil || data != fmt.Sprintf(`{"replayDelivery":{"secret":null,"webhook":{"id":%q},"userErrors":[]}}`, id) {
			t.Errorf("a replay: %s, %v", data, err)
		}
		if got := a.get(node, map[string]any{"id": id, "after": cursor}, "node", "deliveries", "nodes").([]any)[0].(map[string]any)["nextAttemptAt"]; got != "2023-11-14T22:13:20.000Z" {
			t.Errorf("the replay is at %v", got)
		}

		// Others see nothing of it.
		b := newAPIIn(a, "strangers")
		for _, unknown := range []string{id, models.NewID[models.WebhookEntity]().String(), "hook_x", deliveries[0]} {
			for _, document := range []string{updateWebhook, deleteWebhook, replay} {
				if document == replay && unknown == id {
					unknown = deliveries[0]
				}
				data, err := b.run(document, map[string]any{"id": unknown, "in": map[string]any{"enabled": false}})
				if err != nil || !strings.Contains(data, `null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]`) {
					t.Errorf("%s: %s, %v", unknown, data, err)
				}
			}
			if data, err := b.run(node, map[string]any{"id": unknown}); err != nil || data != `{"node":null}` {
				t.Errorf("%s: %s, %v", unknown, data, err)
			}
		}
		if data, err := b.run(`{ webhooks { id } }`, nil); err != nil || data != `{"webhooks":[]}` {
			t.Errorf("they see %s, %v", data, err)
		}

		for _, want := range []string{fmt.Sprintf(`{"deleteWebhook":{"deletedId":%q,"userErrors":[]}}`, id), `{"deleteWebhook":{"deletedId":null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]}}`} {
			if data, err := a.run(deleteWebhook, map[string]any{"id": id}); err != nil || data != want {
				t.Errorf("got %s, %v, want %s", data, err, want)
			}
		}
		if data, err := a.run(node, map[string]any{"id": id}); err != nil || data != `{"node":null}` {
			t.Errorf("a deleted one is %s, %v", data, err)
		}
	})
}

// All webhooks with their deliveries are two statements, however many there are.
func TestWebhooksAreReadTogether(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withWebhooks(t, a)
		n := a.statements()
		for _, count := range []int{1, webhooks.MaxWebhooks} {
			for i := range count - min(count-1, 1) {
				a.delivered(a.webhook(fmt.Sprint("https://example.com/", i)), 2)
			}
			n.Store(0)
			data, err := a.run(`{ webhooks { url deliveries(first: 1) { nodes { id } pageInfo { hasNextPage } } } }`, nil)
			if got := n.Load(); err != nil || got > 2 || strings.Count(data, `{"nodes":[{"id":`) != count || strings.Count(data, `"hasNextPage":true`) != count {
				t.Errorf("%d webhooks: %d statements, %s, %v", count, got, data, err)
			}
		}
	})
}
