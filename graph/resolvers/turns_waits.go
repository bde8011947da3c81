package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/sessions"
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
		Question: nonEmpty(r.Question), Options: r.Options, Deadline: w.Deadline, State: model.WaitState(w.State), Quorum: r.Quorum,
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

func (r *Resolver) waitByID(ctx context.Context, id models.WaitID) (*model.Wait, error) {
	w, err := r.Sessions.Wait(ctx, auth.FromContext(ctx).OrgID, id)
	if err != nil {
		return nil, err
	}
	r.loadersOf(ctx).expectWait(w)
	return encodeWait(w), nil
}

// waitPage gives a page of the open waits of the caller's organization.
func (r *Resolver) waitPage(ctx context.Context, first *int, after *string, kinds []model.WaitKind) (*model.WaitConnection, error) {
	w, err := idWindow[models.WaitEntity](first, after, 20)
	if err != nil {
		return nil, err
	}
	org := auth.FromContext(ctx).OrgID
	only := distinct[models.WaitKind](kinds)
	var rows []models.Wait
	none := kinds != nil && len(kinds) == 0
	// No kinds at all is not the same as no filter.
	if !none {
		if rows, err = r.Sessions.Waits(ctx, org, only, w.After, w.Limit+1); err != nil {
			return nil, err
		}
	}
	rows, info := trim(rows, w, func(w models.Wait) string { return idCursor(w.ID) })
	page := &model.WaitConnection{
		Edges: make([]*model.WaitEdge, len(rows)), Nodes: make([]*model.Wait, len(rows)), PageInfo: info,
		Count: func() (*int, error) {
			if none {
				return new(0), nil
			}
			return counted(r.Sessions.CountWaits(ctx, org, only))
		},
	}
	expected := r.loadersOf(ctx)
	for i := range rows {
		expected.expectWait(&rows[i])
		page.Nodes[i] = encodeWait(&rows[i])
		page.Edges[i] = &model.WaitEdge{Cursor: idCursor(rows[i].ID), Node: page.Nodes[i]}
	}
	return page, nil
}

// turnWaits gives what a turn waits for; nothing without a turn.
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

func (r *Resolver) decisions(ctx context.Context, w *model.Wait) ([]*model.ApprovalDecision, error) {
	list := []*model.ApprovalDecision{}
	if w.Kind != model.WaitKindApproval {
		return list, nil
	}
	rows, _, err := r.loadersOf(ctx).decisions.load(ctx, w.WaitID)
	if err != nil {
		return nil, err
	}
	for _, d := range rows {
		list = append(list, &model.ApprovalDecision{
			Approve: d.Approve, Arguments: d.Arguments, Note: d.Note, CreatedAt: d.CreatedAt, ActorKind: d.ActorKind, ActorID: d.ActorID.Ptr(),
		})
	}
	return list, nil
}

// viewerMayResolve tells whether the caller may resolve a wait by a mutation.
func (r *Resolver) viewerMayResolve(ctx context.Context, w *model.Wait) (bool, error) {
	rule := sessions.Rule{Kind: models.WaitKind(w.Kind), Open: w.State == model.WaitStateOpen, AllowSelf: w.AllowSelf}
	if w.RequiredRole != nil {
		rule.Role = models.Role(*w.RequiredRole)
	}
	var turn *models.Turn
	if rule.Open && rule.Kind == models.WaitApproval {
		t, ok, err := r.loadersOf(ctx).turns.load(ctx, w.TurnID)
		if err != nil || !ok {
			return false, err
		}
		turn = t
	}
	return sessions.MayResolve(auth.FromContext(ctx), rule, turn), nil
}

// waitToken gives the bearer token of a wait to those who may write sessions; null for kinds that have none.
func (r *Resolver) waitToken(ctx context.Context, w *model.Wait) (*string, error) {
	p := auth.FromContext(ctx)
	if !p.Can(auth.SessionsWrite) {
		return nil, nil
	}
	token, err := r.Sessions.TokenOf(ctx, p.OrgID, w.WaitID, models.WaitKind(w.Kind))
	if err != nil {
		return nil, err
	}
	return nonEmpty(token), nil
}

// sessionClientTools gives the client tools that a session brings itself.
func (r *Resolver) sessionClientTools(ctx context.Context, s *model.Session) ([]*model.ClientTool, error) {
	if len(s.ClientToolset) == 0 {
		return []*model.ClientTool{}, nil
	}
	list, _, err := r.loadersOf(ctx).toolsets.load(ctx, string(s.ClientToolset))
	if err != nil {
		return nil, err
	}
	return encodeClientTools(list), nil
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
