package audit

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/csvfile"
	"github.com/ostler-dev/ostler/internal/models"
)

// People knows what those who did something are called, after they left and after their keys were revoked, too.
type People interface {
	Users(ctx context.Context, ids []models.UserID) (map[models.UserID]models.User, error)
	APIKeysByID(ctx context.Context, org models.OrgID, ids []models.APIKeyID) ([]models.APIKey, error)
}

// Exporter writes entries as CSV. It is safe for concurrent use.
type Exporter struct {
	log    *Log
	people People
}

// NewExporter returns an Exporter of a log.
func NewExporter(log *Log, people People) *Exporter { return &Exporter{log: log, people: people} }

var exportHeader = []string{
	"position", "created_at", "action", "actor_kind", "actor_id", "actor", "target_id", "address", "request_id", "details", "hash",
}

// WriteCSV writes the entries that a filter fits, the newest first, with a header.
func (e *Exporter) WriteCSV(ctx context.Context, org models.OrgID, f Filter, to io.Writer) error {
	var before *int64
	return csvfile.Write(ctx, to, exportHeader, func() ([][]string, error) {
		rows, err := e.log.List(ctx, org, f, before, csvfile.PageRows)
		if err != nil {
			return nil, err
		}
		names, err := e.names(ctx, org, rows)
		if err != nil {
			return nil, err
		}
		lines := make([][]string, len(rows))
		for i := range rows {
			r := &rows[i]
			before = &r.Position
			actor, id := models.Value(r.ActorID), ""
			if !actor.IsZero() {
				id = string(models.RefTo(r.ActorKind, actor))
			}
			lines[i] = []string{
				strconv.FormatInt(r.Position, 10), csvfile.Time(r.CreatedAt), csvfile.Cell(r.Action), string(r.ActorKind), id, csvfile.Cell(names[actor]),
				csvfile.Cell(r.TargetID), csvfile.Cell(r.Address), csvfile.Cell(r.RequestID), csvfile.Cell(r.Details), hex.EncodeToString(r.Hash),
			}
		}
		return lines, nil
	})
}

// names returns what the people and keys of a page are called, in a statement for each kind.
func (e *Exporter) names(ctx context.Context, org models.OrgID, rows []models.AuditEntry) (map[models.ActorID]string, error) {
	users, keys := map[models.UserID]bool{}, map[models.APIKeyID]bool{}
	for _, r := range rows {
		switch {
		case r.ActorID == nil:
		case r.ActorKind == models.ActorUser:
			users[models.UserID(*r.ActorID)] = true
		case r.ActorKind == models.ActorAPIKey:
			keys[models.APIKeyID(*r.ActorID)] = true
		}
	}
	names := map[models.ActorID]string{}
	if len(users) > 0 {
		found, err := e.people.Users(ctx, slices.Collect(maps.Keys(users)))
		if err != nil {
			return nil, fmt.Errorf("read the names of %d users: %w", len(users), err)
		}
		for id, u := range found {
			names[models.ActorID(id)] = u.Name
		}
	}
	if len(keys) > 0 {
		found, err := e.people.APIKeysByID(ctx, org, slices.Collect(maps.Keys(keys)))
		if err != nil {
			return nil, fmt.Errorf("read the names of %d API keys: %w", len(keys), err)
		}
		for _, k := range found {
			names[models.ActorID(k.ID)] = k.Name
		}
	}
	return names, nil
}

// ActorOf reads the id of a person or an API key. What is neither names nobody: the zero id, which has done nothing.
func ActorOf(s string) (models.ActorKind, models.ActorID) {
	prefix, digits, _ := strings.Cut(s, "_")
	kind, ok := map[string]models.ActorKind{models.UserEntity{}.Prefix(): models.ActorUser, models.APIKeyEntity{}.Prefix(): models.ActorAPIKey}[prefix]
	if !ok {
		return models.ActorUser, models.ActorID{}
	}
	id, err := models.ParseID[models.ActorEntity](models.ActorEntity{}.Prefix() + "_" + digits)
	if err != nil {
		return kind, models.ActorID{}
	}
	return kind, id
}
