package tools_test

import (
	"context"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

func decideRun(context.Context, tools.GateCall) (tools.Verdict, error) { return tools.Verdict{}, nil }

func anyAsk() *rapid.Generator[tools.Ask] {
	return rapid.Custom(func(t *rapid.T) tools.Ask {
		return tools.Ask{
			Quorum:           rapid.IntRange(1, 10).Draw(t, "quorum"),
			Role:             rapid.SampledFrom([]models.Role{models.RoleMember, models.RoleAdmin, models.RoleOwner}).Draw(t, "role"),
			AllowSelf:        rapid.Bool().Draw(t, "allowSelf"),
			ExpiresInSeconds: rapid.IntRange(10, 1000).Draw(t, "expires"),
			OnExpiry:         rapid.SampledFrom([]string{tools.OnExpiryDeny, tools.OnExpiryFail}).Draw(t, "onExpiry"),
		}
	})
}

func TestTheStrictestQuestionCoversAll(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := anyAsk().Draw(t, "a"), anyAsk().Draw(t, "b")
		both := a.Strictest(b)
		if !both.Covers(a) || !both.Covers(b) {
			t.Fatalf("%+v doesn't cover %+v and %+v", both, a, b)
		}
		if other := b.Strictest(a); other != both {
			t.Fatalf("the order matters: %+v and %+v", both, other)
		}
		if a.Covers(b) && both.Quorum == a.Quorum && (both.Role != a.Role || both.AllowSelf != a.AllowSelf) {
			t.Fatalf("%+v covers %+v, and both together ask for more: %+v", a, b, both)
		}
	})
}
