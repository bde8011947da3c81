package httpapi

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	usagePath = "/v1/usage.csv"
	// maxExports and maxOrgExports bound how many exports are written at once, on this node: each adds up or reads a lot.
	maxExports    = 8
	maxOrgExports = 2
)

// Exports writes what was used.
type Exports interface {
	// WriteCSV writes an export. Before it has written anything it may fail with a *fault.Error.
	WriteCSV(ctx context.Context, by *auth.Principal, in books.Export, to io.Writer) error
}

// exportUsage writes what was used as CSV, while it is read.
func (s *Server) exportUsage(w http.ResponseWriter, r *http.Request) {
	ctx, p, refused := s.exportCaller(w, r)
	var in books.Export
	if refused == nil {
		in, refused = decodeExport(r.URL.Query())
	}
	if refused == nil && in.Kind == books.ExportLedger && !p.Can(auth.BudgetsRead) {
		refused = lacks(auth.BudgetsRead)
	}
	if refused == nil && !s.exports.Try(p.OrgID, 1) {
		refused = &imageError{
			Code: codeRateLimited, RetryAfterSeconds: 1, status: http.StatusTooManyRequests,
			Message: "Too many exports are running. Try again when one has ended.",
		}
	}
	if refused != nil {
		s.refuseImage(w, r, refused)
		return
	}
	defer s.exports.Leave(p.OrgID, 1)
	out := &exportWriter{w: s.paced(w), name: string(in.Kind) + ".csv"}
	err := s.deps.Exports.WriteCSV(ctx, p, in, out)
	switch {
	case err == nil:
	case !out.begun:
		s.refuseImage(w, r, s.exportFailure(ctx, err))
	default:
		// The answer has begun well: only a connection that breaks reports that this is not all.
		if out.err == nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "an export was aborted", "request_id", auth.RequestFrom(ctx).ID, "error", err)
		}
		panic(http.ErrAbortHandler)
	}
}

// exportCaller finds out who is asking, and refuses whoever may not.
func (s *Server) exportCaller(w http.ResponseWriter, r *http.Request) (context.Context, *auth.Principal, *imageError) {
	switch {
	case s.deps.Exports == nil:
		return nil, nil, &imageError{Code: codeNotFound, Message: "This server does not export usage.", status: http.StatusNotFound}
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		return nil, nil, &imageError{Code: codeBadUserInput, Message: "Use GET here.", status: http.StatusMethodNotAllowed}
	}
	return s.plainCaller(w, r, auth.UsageRead)
}

func (s *Server) exportFailure(ctx context.Context, err error) *imageError {
	if f := fault.As(err); f != nil && f.Code == fault.NotFound {
		return &imageError{Code: codeNotFound, Message: f.Message, status: http.StatusNotFound}
	}
	return s.imageFailure(ctx, err)
}

// exportWriter begins the answer with the first piece of the export.
type exportWriter struct {
	w     *pacedWriter
	name  string
	begun bool
	// err is why the reader can't be reached any more.
	err error
}

// Write implements io.Writer.
func (e *exportWriter) Write(b []byte) (int, error) {
	if !e.begun {
		e.begun = true
		h := e.w.Header()
		h.Set("Content-Type", "text/csv; charset=utf-8; header=present")
		h.Set("Content-Disposition", `attachment; filename="`+e.name+`"`)
		h.Set("Cache-Control", "no-store")
	}
	n, err := e.w.Write(b)
	if err != nil {
		e.err = err
	}
	return n, err //nolint:wrapcheck // a writer's own
}

// exportParameters are those that an export may be asked with.
var exportParameters = []string{"kind", "groupBy", "from", "to", "budgetId"}

// decodeExport reads the parameters of an export.
func decodeExport(q url.Values) (in books.Export, refused *imageError) {
	bad := func(message string) (books.Export, *imageError) {
		return in, &imageError{Code: codeBadUserInput, Message: message, status: http.StatusBadRequest}
	}
	for name, values := range q {
		if !slices.Contains(exportParameters, name) {
			return bad("There is no parameter " + clipMessage(name) + ": use " + strings.Join(exportParameters, ", ") + ".")
		}
		if len(values) > 1 {
			return bad(name + " is given twice.")
		}
	}
	in.Kind = books.ExportUsage
	if q.Has("kind") {
		in.Kind = books.ExportKind(q.Get("kind"))
	}
	if q.Has("groupBy") != (in.Kind == books.ExportUsage) {
		return bad("groupBy applies to kind=usage only, e.g. groupBy=day,model.")
	}
	if q.Has("budgetId") != (in.Kind == books.ExportLedger) {
		return bad("budgetId applies to kind=ledger only.")
	}
	if in.Kind == books.ExportUsage {
		for name := range strings.SplitSeq(q.Get("groupBy"), ",") {
			in.Query.GroupBy = append(in.Query.GroupBy, books.UsageGroup(strings.ToUpper(name)))
		}
	}
	if in.Kind == books.ExportLedger {
		in.Query.To = math.MaxInt64 // all of it, unless a time is given
		// What is no id names no budget: the zero id.
		in.Budget, _ = models.ParseID[models.BudgetEntity](q.Get("budgetId"))
	}
	for _, c := range []struct {
		name string
		to   *models.Millis
	}{{"from", &in.Query.From}, {"to", &in.Query.To}} {
		if !q.Has(c.name) && in.Kind == books.ExportLedger {
			continue
		}
		at, err := parseTime(q.Get(c.name))
		if err != nil {
			return bad(c.name + " must be a time such as 2026-01-31T00:00:00Z, or a day in UTC such as 2026-01-31.")
		}
		*c.to = at
	}
	return in, nil
}

var errNoTime = errors.New("not a time of the years 1 to 9999")

// parseTime reads a time, or a day, which stands for its beginning in UTC.
func parseTime(s string) (models.Millis, error) {
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly} {
		if t, err := time.Parse(layout, s); err == nil && t.UTC().Year() >= 1 && t.UTC().Year() <= 9999 {
			return models.MillisOf(t), nil
		}
	}
	return 0, errNoTime
}
