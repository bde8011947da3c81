package resolvers

import (
	"context"
	"slices"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// waits reports whether a turn of a status may wait for something.
func waits(s model.TurnStatus) bool {
	return s == model.TurnStatusRunning || s == model.TurnStatusWaiting
}

func (l *loaders) expectWait(w *models.Wait) {
	l.sessions.expect(&w.SessionID)
	l.turns.expect(&w.TurnID)
	if w.Kind == models.WaitApproval {
		l.decisions.expect(&w.ID)
	}
}

func encodeWait(w *models.Wait) *model.Wait {
	r := turns.ReadRequest(*w)
	out := &model.Wait{
		ID: w.ID.String(), Kind: model.WaitKind(w.Kind), ToolCallID: w.ToolCallID, ToolName: w.ToolName, Arguments: r.Arguments,
		Question: nonEmpty(r.Question), Options: r.Options, Deadline: w.Deadline, State: model.WaitState(w.State), Quorum: r.Quorum, Reason: nonEmpty(r.Reason),
		CreatedAt: w.CreatedAt, ResolvedAt: w.ResolvedAt, WaitID: w.ID, SessionID: w.SessionID, TurnID: w.TurnID, AllowSelf: r.AllowSelf,
	}
	if p := r.Payment; p != nil {
		out.Payment = &model.PaymentTerms{Amount: usd(p.Amount), Currency: models.CurrencyUSD, Host: p.Host, Purpose: p.Purpose}
	}
	if out.Options == nil {
		out.Options = []string{}
	}
	if r.Role != "" {
		out.RequiredRole = new(model.Role(r.Role))
	}
	return out
}

// waitList is one of the lists of an organization's waits.
type waitList struct {
	read  func(ctx context.Context, after *models.WaitID, limit int) ([]models.Wait, error)
	count func(ctx context.Context) (int, error)
}

// waitList returns the list of open waits, of all kinds or of some, or that of past approvals.
func (r *Resolver) waitList(org models.OrgID, kinds []model.WaitKind, decided bool) (waitList, error) {
	only := distinct[models.WaitKind](kinds)
	switch {
	case decided && slices.ContainsFunc(only, func(k models.WaitKind) bool { return k != models.WaitApproval }):
		return waitList{}, fault.New(fault.Invalid, "Only approvals are listed once they are over: leave kinds out, or set it to [APPROVAL].").At("kinds")
	case kinds != nil && len(kinds) == 0: // not the same as no filter
		return waitList{
			read:  func(context.Context, *models.WaitID, int) ([]models.Wait, error) { return nil, nil },
			count: func(context.Context) (int, error) { return 0, nil },
		}, nil
	case decided:
		return waitList{
			read: func(ctx context.Context, after *models.WaitID, limit int) ([]models.Wait, error) {
				return r.Sessions.DecidedApprovals(ctx, org, after, limit)
			},
			count: func(ctx context.Context) (int, error) { return r.Sessions.CountDecidedApprovals(ctx, org) },
		}, nil
	}
	return waitList{
		read: func(ctx context.Context, after *models.WaitID, limit int) ([]models.Wait, error) {
			return r.Sessions.Waits(ctx, org, only, after, limit)
		},
		count: func(ctx context.Context) (int, error) { return r.Sessions.CountWaits(ctx, org, only) },
	}, nil
}

func (r *Resolver) waitByID(ctx context.Context, id models.WaitID) (*model.Wait, error) {
	w, err := r.Sessions.Wait(ctx, auth.FromContext(ctx).OrgID, id)
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).expectWait(w)
	return encodeWait(w), nil
}

// turnWaits returns what a turn waits for; nothing without a turn.
func (r *Resolver) turnWaits(ctx context.Context, id *models.TurnID) ([]*model.Wait, error) {
	list := []*model.Wait{}
	if id == nil {
		return list, nil
	}
	rows, _, err := r.loadersOf(ctx).waits.load(ctx, *id)
	if err != nil {
		return nil, err
	}
	for i := range rows {
		list = append(list, encodeWait(&rows[i]))
	}
	return list, nil
}

func encodeClientTools(list []models.ClientTool) []*model.ClientTool {
	out := make([]*model.ClientTool, len(list))
	for i, t := range list {
		out[i] = &model.ClientTool{
			Name: t.Name, DisplayName: t.DisplayName, Description: t.Description, InputSchema: t.InputSchema, TimeoutSeconds: t.TimeoutSeconds,
		}
	}
	return out
}

func decodeClientTools(list []*model.ClientToolInput) []models.ClientTool {
	out := make([]models.ClientTool, 0, len(list))
	for _, t := range list {
		tool := models.ClientTool{Name: t.Name, Description: t.Description, InputSchema: t.InputSchema, TimeoutSeconds: t.TimeoutSeconds}
		if t.DisplayName != nil {
			tool.DisplayName = *t.DisplayName
		}
		out = append(out, tool)
	}
	return out
}
