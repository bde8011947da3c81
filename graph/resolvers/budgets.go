package resolvers

import (
	"context"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/spending"
)

func (r *Resolver) createBudget(ctx context.Context, in model.CreateBudgetInput) (*model.BudgetPayload, error) {
	b, err := r.Spending.Create(ctx, auth.FromContext(ctx), spending.NewBudget{
		Subject: models.BudgetSubject(in.Subject), SubjectID: in.SubjectID, Currency: in.Currency, Limit: in.Limit, SoftLimit: in.SoftLimit,
		Period: decodePeriod(in.Period),
	})
	return r.budgetPayload(ctx, b, err)
}

func (r *Resolver) updateBudget(ctx context.Context, id string, in model.UpdateBudgetInput) (*model.BudgetPayload, error) {
	key, err := decodeID[models.BudgetEntity](id, "id")
	if err != nil {
		return r.budgetPayload(ctx, nil, err)
	}
	b, err := r.Spending.Update(ctx, auth.FromContext(ctx), key, spending.Change{
		Limit: in.Limit, SoftLimit: decodeOpt(in.SoftLimit),
		Period: catalog.Opt[*spending.Period]{Given: in.Period.IsSet(), Value: decodePeriod(in.Period.Value())},
	})
	return r.budgetPayload(ctx, b, err)
}

func (r *Resolver) disableBudget(ctx context.Context, id string) (*model.BudgetPayload, error) {
	key, err := decodeID[models.BudgetEntity](id, "id")
	if err != nil {
		return r.budgetPayload(ctx, nil, err)
	}
	b, err := r.Spending.Disable(ctx, auth.FromContext(ctx), key)
	return r.budgetPayload(ctx, b, err)
}

func (r *Resolver) topUpBudget(ctx context.Context, in model.TopUpBudgetInput) (*model.BudgetPayload, error) {
	key, err := decodeID[models.BudgetEntity](in.BudgetID, "input", "budgetId")
	if err != nil {
		return r.budgetPayload(ctx, nil, err)
	}
	b, err := r.Spending.TopUp(ctx, auth.FromContext(ctx), spending.TopUp{
		BudgetID: key, Amount: in.Amount, Description: in.Description, IdempotencyKey: in.IdempotencyKey,
	})
	return r.budgetPayload(ctx, b, err)
}

func (r *Resolver) resumeSession(ctx context.Context, sessionID string) (*model.SessionPayload, error) {
	id, err := decodeID[models.SessionEntity](sessionID, "sessionId")
	by := auth.FromContext(ctx)
	if err == nil {
		err = r.Spending.ResumeSession(ctx, by, id)
	}
	if err != nil {
		return r.sessionPayload(ctx, nil, err)
	}
	s, err := r.Sessions.Get(ctx, by.OrgID, id)
	return r.sessionPayload(ctx, s, err)
}

func (r *Resolver) budgetByID(ctx context.Context, id string) (*model.Budget, error) {
	key, err := decodeID[models.BudgetEntity](id, "id")
	if err != nil {
		return orNull[model.Budget](nil, err)
	}
	return orNull(r.nodeOfBudget(ctx, key))
}

func (r *Resolver) budgetPage(
	ctx context.Context, first *int, after *string, subject *model.BudgetSubject, subjectID *string,
) (*model.BudgetConnection, error) {
	w, err := newWindow(pageArgs{First: first, After: after}, 20, decodePlaceCursor[models.BudgetEntity])
	if err != nil {
		return nil, err
	}
	org, f := auth.FromContext(ctx).OrgID, spending.Filter{Subject: (*models.BudgetSubject)(subject), SubjectID: subjectID}
	rows, err := r.Spending.List(ctx, org, f, w.After, w.Limit+1)
	if err != nil {
		return nil, err
	}
	cursor := func(b models.Budget) string { return placeCursor(b.CreatedAt, b.ID) }
	rows, info := trim(rows, w, cursor)
	page := &model.BudgetConnection{
		Edges: make([]*model.BudgetEdge, len(rows)), Nodes: make([]*model.Budget, len(rows)), PageInfo: info,
		Count: func() (*int, error) { return counted(r.Spending.Count(ctx, org, f)) },
	}
	encode := r.encodeBudget(ctx)
	for i := range rows {
		page.Nodes[i] = encode(&rows[i])
		page.Edges[i] = &model.BudgetEdge{Cursor: cursor(rows[i]), Node: page.Nodes[i]}
	}
	return page, nil
}

// ledgerPage gives a page of a budget's postings. First pages are read together for all budgets of a list.
func (r *Resolver) ledgerPage(ctx context.Context, of *model.Budget, first *int, after *string) (*model.LedgerConnection, error) {
	w, err := newWindow(pageArgs{First: first, After: after}, 50, decodePlaceCursor[models.LedgerEntity])
	if err != nil {
		return nil, err
	}
	ledgers := r.loadersOf(ctx).ledgers
	var rows []models.LedgerEntry
	if w.After != nil {
		rows, err = r.Spending.Ledger(ctx, auth.FromContext(ctx).OrgID, of.BudgetID, w.After, w.Limit+1)
	} else {
		rows, _, err = ledgers.page(w.Limit+1, func(*models.LedgerEntry) {}).load(ctx, of.BudgetID)
	}
	if err != nil {
		return nil, err
	}
	cursor := func(p models.LedgerEntry) string { return placeCursor(p.CreatedAt, p.ID) }
	rows, info := trim(rows, w, cursor)
	page := &model.LedgerConnection{
		Edges: make([]*model.LedgerEdge, len(rows)), Nodes: make([]*model.LedgerEntry, len(rows)), PageInfo: info,
		Count: func() (*int, error) {
			n, _, err := ledgers.counts.load(ctx, of.BudgetID)
			return counted(n, err)
		},
	}
	for i := range rows {
		page.Nodes[i] = encodePosting(&rows[i], of.Currency)
		page.Edges[i] = &model.LedgerEdge{Cursor: cursor(rows[i]), Node: page.Nodes[i]}
	}
	return page, nil
}

func (r *Resolver) budgetCheck(ctx context.Context, sessionID string) (*model.BudgetCheck, error) {
	id, err := decodeID[models.SessionEntity](sessionID, "sessionId")
	if err != nil {
		return nil, err
	}
	report, err := r.Spending.Check(ctx, auth.FromContext(ctx).OrgID, id)
	if err != nil {
		return nil, err
	}
	out := &model.BudgetCheck{
		Status: model.BudgetCheckStatus(report.Status), Budgets: make([]*model.BudgetCheckLine, len(report.Lines)), Hint: report.Hint,
	}
	encode := r.encodeBudget(ctx)
	for i := range report.Lines {
		l := &report.Lines[i]
		out.Budgets[i] = &model.BudgetCheckLine{Budget: encode(&l.Budget), PercentRemaining: l.PercentRemaining}
	}
	return out, nil
}
