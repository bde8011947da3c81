package resolvers_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm" //nolint:depguard // these tests put rows below the services

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit" //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"           //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/store/storetest" //nolint:depguard // see above
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/core"
)

const (
	policyFields  = `policy { id name capabilities hosts rail url currency maxPerRequest maxPerTurn maxPerDay approvalAbove enabled }`
	createPolicy  = `mutation($in: CreatePaymentPolicyInput!) { createPaymentPolicy(input: $in) { ` + policyFields + ` userErrors { code path } } }`
	updatePolicy  = `mutation($id: ID!, $in: UpdatePaymentPolicyInput!) { updatePaymentPolicy(id: $id, input: $in) { ` + policyFields + ` userErrors { code path } } }`
	deletePolicy  = `mutation($id: ID!) { deletePaymentPolicy(id: $id) { deletedId userErrors { code path } } }`
	settlePayment = `mutation($id: ID!, $in: SettlePaymentInput!) { settlePayment(id: $id, input: $in) { payment { id status paid } userErrors { code path } } }`
	listPayments  = `query($after: Cursor) { payments(first: 2, after: $after) { nodes { id waitId status amount paid error attempts settledAt } totalCount pageInfo { hasNextPage endCursor } } }`
)

func withPayments(t *testing.T, a *api) {
	t.Helper()
	keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(core.Capability())
	if err != nil {
		t.Fatal(err)
	}
	at, client := clock.NewManual(time.UnixMilli(1_700_000_000_000)), egress.New(egress.Config{})
	committer := commit.New(commit.Config{DB: a.db, Clock: at})
	t.Cleanup(committer.Stop)
	a.resolver.Payments, err = payments.NewService(payments.Config{
		DB: a.db, Committer: committer, Keeper: keeper, Capabilities: registry, Addresses: client, Client: client.HTTP(), Clock: at, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
}

// asked puts a payment that a policy allowed, and that nothing has become of.
func (a *api) asked(policy string, approval *models.WaitID) string {
	a.t.Helper()
	of, err := models.ParseID[models.PaymentPolicyEntity](policy)
	if err != nil {
		a.t.Fatal(err)
	}
	row := models.Payment{
		OrgID: a.principal.OrgID, ID: models.NewID[models.PaymentEntity](), PolicyID: of, SessionID: models.NewID[models.SessionEntity](),
		TurnID: models.NewID[models.TurnEntity](), Capability: "core", Tool: "core.t", Host: "a.test", Purpose: "p", Amount: 1_500_000_000,
		Status: models.PaymentAsked, DueAt: models.Millis(1).Ptr(), CreatedAt: 1, WaitID: approval,
	}
	row.IdempotencyKey = row.ID.String()
	if err := a.db.Write(a.t.Context(), a.principal.OrgID, func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
		a.t.Fatal(err)
	}
	return row.ID.String()
}

// policy makes a payment policy and returns its id.
func (a *api) policy(url string) string {
	a.t.Helper()
	in := map[string]any{
		"name": "p", "capabilities": []string{"core"}, "hosts": []string{"a.test"}, "url": url, "secret": strings.Repeat("secret", 8),
		"maxPerRequest": "1", "maxPerTurn": "1", "maxPerDay": "1",
	}
	return a.get(createPolicy, map[string]any{"in": in}, "createPaymentPolicy", "policy", "id").(string)
}

func TestPaymentsOverTheAPI(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		a := newAPI(t, db)
		withPayments(t, a)
		in := map[string]any{
			"name": "Books", "capabilities": []string{"core"}, "hosts": []string{"*.a.test"}, "url": "https://example.com/pay", "secret": strings.Repeat("secret", 8),
			"maxPerRequest": "0.000000001", "maxPerTurn": "20", "maxPerDay": "9000000000", "approvalAbove": "2.5",
		}
		id := a.get(createPolicy, map[string]any{"in": in}, "createPaymentPolicy", "policy", "id").(string)
		policy := func(change string) string {
			return fmt.Sprintf(`{"id":%q,"name":"Books","capabilities":["core"],"hosts":["*.a.test"],"rail":"WEBHOOK","url":"https://example.com/pay","currency":"usd",`+
				`"maxPerRequest":"0.000000001","maxPerTurn":"20","maxPerDay":"9000000000",%s}`, id, change)
		}
		for _, step := range []struct {
			what, document string
			variables      map[string]any
			want           string
		}{
			{"nothing", updatePolicy, map[string]any{"id": id, "in": map[string]any{}}, `{"updatePaymentPolicy":{"policy":` + policy(`"approvalAbove":"2.5","enabled":true`) + `,"userErrors":[]}}`},
			{"approval taken away", updatePolicy, map[string]any{"id": id, "in": map[string]any{"approvalAbove": nil, "enabled": false}}, `{"updatePaymentPolicy":{"policy":` + policy(`"approvalAbove":null,"enabled":false`) + `,"userErrors":[]}}`},
			{"a bad host", updatePolicy, map[string]any{"id": id, "in": map[string]any{"hosts": []string{"*"}}}, `{"updatePaymentPolicy":{"policy":null,"userErrors":[{"code":"INVALID","path":["input","hosts"]}]}}`},
			{"an address of this machine", updatePolicy, map[string]any{"id": id, "in": map[string]any{"url": "http://127.0.0.1/"}}, `{"updatePaymentPolicy":{"policy":null,"userErrors":[{"code":"INVALID","path":["input","url"]}]}}`},
		} {
			if data, err := a.run(step.document, step.variables); err != nil || data != step.want {
				t.Errorf("%s: got %s, %v, want %s", step.what, data, err, step.want)
			}
		}
		if data, err := a.run(`{ paymentPolicies { id } payments { nodes { id } totalCount } }`, nil); err != nil || data != fmt.Sprintf(`{"paymentPolicies":[{"id":%q}],"payments":{"nodes":[],"totalCount":0}}`, id) {
			t.Errorf("got %s, %v", data, err)
		}
		approval := models.NewID[models.WaitEntity]()
		var ids []string
		for range 3 {
			ids = append(ids, a.asked(id, &approval))
		}
		data, err := a.run(listPayments, nil)
		if err != nil || strings.Contains(data, ids[0]) || !strings.Contains(data, `"totalCount":3`) || !strings.Contains(data, `"hasNextPage":true`) ||
			!strings.Contains(data, `{"nodes":[{"id":"`+ids[2]+`","waitId":"`+approval.String()+`","status":"ASKED","amount":"1.5","paid":null,"error":null,"attempts":0,"settledAt":null}`) {
			t.Errorf("the newest are %s, %v", data, err)
		}
		cursor := a.get(listPayments, nil, "payments", "pageInfo", "endCursor")
		if data, err := a.run(listPayments, map[string]any{"after": cursor}); err != nil || strings.Count(data, `"status"`) != 1 || !strings.Contains(data, ids[0]) {
			t.Errorf("the rest is %s, %v", data, err)
		}
		if data, err := a.run(settlePayment, map[string]any{"id": ids[0], "in": map[string]any{"paid": true}}); err != nil || data != `{"settlePayment":{"payment":null,"userErrors":[{"code":"CONFLICT","path":["id"]}]}}` {
			t.Errorf("settled before its rail was asked: %s, %v", data, err)
		}
		if data, err := a.run(deletePolicy, map[string]any{"id": id}); err != nil || data != `{"deletePaymentPolicy":{"deletedId":null,"userErrors":[{"code":"CONFLICT","path":["id"]}]}}` {
			t.Errorf("deleted with payments under way: %s, %v", data, err)
		}

		// To others all of it is unknown.
		b := newAPIIn(a, "strangers")
		for _, unknown := range []string{id, models.NewID[models.PaymentPolicyEntity]().String(), "ppol_x", ids[0]} {
			for _, document := range []string{updatePolicy, deletePolicy} {
				data, err := b.run(document, map[string]any{"id": unknown, "in": map[string]any{"enabled": true}})
				if err != nil || !strings.Contains(data, `null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]`) {
					t.Errorf("%s: %s, %v", unknown, data, err)
				}
			}
		}
		for _, unknown := range []string{ids[0], models.NewID[models.PaymentEntity]().String(), id} {
			data, err := b.run(settlePayment, map[string]any{"id": unknown, "in": map[string]any{"paid": true}})
			if err != nil || !strings.Contains(data, `null,"userErrors":[{"code":"NOT_FOUND","path":["id"]}]`) {
				t.Errorf("%s: %s, %v", unknown, data, err)
			}
		}
		if data, err := b.run(`{ paymentPolicies { id } payments { nodes { id } totalCount } }`, nil); err != nil || data != `{"paymentPolicies":[],"payments":{"nodes":[],"totalCount":0}}` {
			t.Errorf("they see %s, %v", data, err)
		}
	})
}
