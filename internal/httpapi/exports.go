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

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	usagePath = "/v1/usage.csv"
	auditPath = "/v1/audit.csv"
	// maxExports and maxOrgExports bound how many exports are written at once, on this node: each adds up or reads a lot.
	maxExports    = 8
	maxOrgExports = 2
)

// Exports writes what was used.
type Exports interface {
	// WriteCSV writes an export. Before it has written anything it may fail with a *fault.Error.
	WriteCSV(ctx context.Context, by *auth.Principal, in books.Export, to io.Writer) error
}

// AuditExports writes audit entries.
type AuditExports interface {
	WriteCSV(ctx context.Context, org models.OrgID, f audit.Filter, to io.Writer) error
}

// exportFile is a file that somebody may have.
type exportFile struct {
	name  string
	write func(ctx context.Context, to io.Writer) error
}

// exportUsage writes what was used.
func (s *Server) exportUsage(w http.ResponseWriter, r *http.Request) {
	s.export(w, r, s.deps.Exports != nil, auth.UsageRead, func(p *auth.Principal, q url.Values) (exportFile, *imageError) {
		in, refused := decodeExport(q)
		if refused == nil && in.Kind == books.ExportLedger && !p.Can(auth.BudgetsRead) {
			refused = lacks(auth.BudgetsRead)
		}
		return exportFile{string(in.Kind) + ".csv", func(ctx context.Context, to io.Writer) error { return s.deps.Exports.WriteCSV(ctx, p, in, to) }}, refused
	})
}

// exportAudit writes the audit log.
func (s *Server) exportAudit(w http.ResponseWriter, r *http.Request) {
	s.export(w, r, s.deps.AuditExports != nil, auth.AuditRead, func(p *auth.Principal, q url.Values) (exportFile, *imageError) {
		f, refused := decodeAuditExport(q)
		return exportFile{"audit.csv", func(ctx context.Context, to io.Writer) error {
			return s.deps.AuditExports.WriteCSV(ctx, p.OrgID, f, to)
		}}, refused
	})
}

// export writes a file as CSV, while it is read. decode reads what is asked for.
func (s *Server) export(
	w http.ResponseWriter, r *http.Request, served bool, needs auth.Permission, decode func(*auth.Principal, url.Values) (exportFile, *imageError),
) {
	ctx, p, refused := s.exportCaller(w, r, served, needs)
	var file exportFile
	if refused == nil {
		q, err := url.ParseQuery(r.URL.RawQuery)
		if err != nil {
			refused = badExport("The query of the address can't be read: " + clipMessage(err.Error()) + ".")
		} else {
			file, refused = decode(p, q)
		}
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
	out := &exportWriter{w: s.paced(w), name: file.name}
	err := file.write(ctx, out)
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
func (s *Server) exportCaller(
	w http.ResponseWriter, r *http.Request, served bool, needs auth.Permission,
) (context.Context, *auth.Principal, *imageError) {
	switch {
	case !served:
		return nil, nil, &imageError{Code: codeNotFound, Message: "This server does not export that.", status: http.StatusNotFound}
	case r.Method != http.MethodGet:
		w.Header().Set("Allow", http.MethodGet)
		return nil, nil, &imageError{Code: codeBadUserInput, Message: "Use GET here.", status: http.StatusMethodNotAllowed}
	}
	return s.plainCaller(w, r, needs)
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

// badExport refuses what can't be asked for.
func badExport(message string) *imageError {
	return &imageError{Code: codeBadUserInput, Message: message, status: http.StatusBadRequest}
}

// checkParameters refuses parameters that there are not, and those that are given twice.
func checkParameters(q url.Values, known ...string) *imageError {
	for name, values := range q {
		if !slices.Contains(known, name) {
			return badExport("There is no parameter " + clipMessage(name) + ": use " + strings.Join(known, ", ") + ".")
		}
		if len(values) > 1 {
			return badExport(name + " is given twice.")
		}
	}
	return nil
}

// timeParameter reads a time.
func timeParameter(q url.Values, name string) (models.Millis, *imageError) {
	at, err := parseTime(q.Get(name))
	if err != nil {
		return 0, badExport(name + " must be a time such as 2026-01-31T00:00:00Z, or a day in UTC such as 2026-01-31.")
	}
	return at, nil
}

// decodeAuditExport reads the parameters of an export of the audit log.
func decodeAuditExport(q url.Values) (f audit.Filter, refused *imageError) {
	if refused := checkParameters(q, "action", "actorId", "targetId", "from", "to"); refused != nil {
		return f, refused
	}
	for name, to := range map[string]**string{"action": &f.Action, "targetId": &f.Target} {
		if q.Has(name) {
			*to = new(q.Get(name))
		}
	}
	if q.Has("actorId") {
		kind, id := audit.ActorOf(q.Get("actorId"))
		f.ActorKind, f.Actor = kind, &id
	}
	for name, to := range map[string]**models.Millis{"from": &f.From, "to": &f.To} {
		if !q.Has(name) {
			continue
		}
		at, refused := timeParameter(q, name)
		if refused != nil {
			return f, refused
		}
		*to = &at
	}
	if err := f.Check(); err != nil {
		return f, badExport(err.Message)
	}
	return f, nil
}

// decodeExport reads the parameters of an export of usage.
func decodeExport(q url.Values) (in books.Export, refused *imageError) {
	if refused := checkParameters(q, "kind", "groupBy", "from", "to", "budgetId"); refused != nil {
		return in, refused
	}
	in.Kind = books.ExportUsage
	if q.Has("kind") {
		in.Kind = books.ExportKind(q.Get("kind"))
	}
	if q.Has("groupBy") != (in.Kind == books.ExportUsage) {
		return in, badExport("kind=usage needs groupBy, e.g. groupBy=day,model, and no other kind takes it.")
	}
	if q.Has("budgetId") != (in.Kind == books.ExportLedger) {
		return in, badExport("kind=ledger needs budgetId, and no other kind takes it.")
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
		if *c.to, refused = timeParameter(q, c.name); refused != nil {
			return in, refused
		}
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
