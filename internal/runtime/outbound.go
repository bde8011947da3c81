package runtime

import (
	"context"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/turns"
)

// outbound counts a call of a tool that reaches out of the server. It returns the result when the organization has made too many of them,
// and nil when the call may be made. One that goes on is counted and never refused: the model would take it for not begun.
func (r *turnRun) outbound(ctx context.Context, f *finished, org models.OrgID) *tools.Result {
	e := r.e
	if e.cfg.Outbound == nil || !f.Record.Frozen.Hints.OpenWorld {
		return nil
	}
	wait, ok := e.cfg.Outbound.ToolCall(ctx, org)
	if ok || f.goesOn {
		return nil
	}
	result := tools.View(tools.Fail(fmt.Sprintf("rate_limited: The organization has reached its limit of outbound tool calls per minute. "+
		"This call was not made; try again in %d s.", wait)))
	return &result
}

// payable lets a call pay, where there is somebody who makes payments. What people have to approve first it waits for.
func (r *turnRun) payable(call *tools.Call, o turns.Call, d *durable) {
	e := r.e
	capability, ok := e.cfg.Registry.CapabilityOf(o.Record.Frozen.ToolID)
	if e.cfg.Payments == nil || !ok {
		return
	}
	org, session, turn := call.OrgID, call.SessionID, call.TurnID
	call.Payment = func(ctx context.Context, p tools.PaymentRequest) (tools.PaymentReceipt, error) {
		receipt, err := e.cfg.Payments.Pay(ctx, tools.PaymentOrder{
			PaymentRequest: p, OrgID: org, SessionID: session, TurnID: turn, Epoch: o.Effect.Epoch,
			CapabilityID: capability, ToolID: o.Record.Frozen.ToolID, IdempotencyKey: fmt.Sprintf("%s:%s:%s", session, o.Record.CallID, p.Step),
		})
		if needed, ok := errors.AsType[*tools.ApprovalNeededError](err); ok {
			return receipt, d.approve(needed.Terms)
		}
		return receipt, err
	}
}
