package audit

import (
	"context"
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/csvfile"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

// named are people and keys by their names.
type named struct {
	user models.UserID
	key  models.APIKeyID
}

func (n named) Users(_ context.Context, ids []models.UserID) (map[models.UserID]models.User, error) {
	if !slices.Equal(ids, []models.UserID{n.user}) {
		return nil, errors.New("nobody else has done anything")
	}
	return map[models.UserID]models.User{n.user: {ID: n.user, Name: "=Ada"}}, nil
}

func (n named) APIKeysByID(_ context.Context, _ models.OrgID, ids []models.APIKeyID) ([]models.APIKey, error) {
	if !slices.Equal(ids, []models.APIKeyID{n.key}) {
		return nil, errors.New("no other key has done anything")
	}
	return []models.APIKey{{ID: n.key, Name: "CI"}}, nil
}

func (w *world) csv(org models.OrgID, people People, f Filter) [][]string {
	w.t.Helper()
	var out strings.Builder
	if err := NewExporter(w.Log, people).WriteCSV(w.t.Context(), org, f, &out); err != nil {
		w.t.Fatal(err)
	}
	lines, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || !slices.Equal(lines[0], exportHeader) {
		w.t.Fatalf("%v: %q", err, lines)
	}
	return lines[1:]
}

func TestTheLogAsCSV(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		people := named{models.NewID[models.UserEntity](), models.NewID[models.APIKeyEntity]()}
		user, key := models.ActorID(people.user), models.ActorID(people.key)
		w.write(func(tx *gorm.DB) error {
			return RecordAll(t.Context(), tx, 1000,
				Entry{Org: w.mine, ActorKind: models.ActorUser, Actor: user, Action: "agent.created", Target: "agent_1", Details: map[string]any{"name": "a, \"b\""}},
				Entry{Org: w.mine, ActorKind: models.ActorAPIKey, Actor: key, Action: "agent.updated", Target: "agent_1"},
				Entry{Org: w.mine, ActorKind: models.ActorSystem, Action: "signin.failed", Target: "@sum"},
			)
		})
		columns := func(lines [][]string) [][]string {
			for i, line := range lines {
				lines[i] = slices.Concat(line[:7], line[9:10]) // without where it came from and its hash
			}
			return lines
		}
		all := [][]string{
			{"3", "1970-01-01T00:00:01.000Z", "signin.failed", "SYSTEM", "", "", "'@sum", "{}"},
			{"2", "1970-01-01T00:00:01.000Z", "agent.updated", "API_KEY", people.key.String(), "CI", "agent_1", "{}"},
			{"1", "1970-01-01T00:00:01.000Z", "agent.created", "USER", people.user.String(), "'=Ada", "agent_1", `{"name":"a, \"b\""}`},
		}
		if got := columns(w.csv(w.mine, people, Filter{})); !slices.EqualFunc(got, all, slices.Equal) {
			t.Errorf("got  %q\nwant %q", got, all)
		}
		action := "agent.updated"
		if got := columns(w.csv(w.mine, people, Filter{Action: &action})); !slices.EqualFunc(got, all[1:2], slices.Equal) {
			t.Errorf("of one action: %q", got)
		}
		kind, id := ActorOf(people.user.String())
		if got := columns(w.csv(w.mine, people, Filter{ActorKind: kind, Actor: &id})); !slices.EqualFunc(got, all[2:], slices.Equal) {
			t.Errorf("of one person: %q", got)
		}
		if got := w.csv(models.NewID[models.OrgEntity](), people, Filter{}); len(got) != 0 {
			t.Errorf("others get %q", got)
		}
	})
}

func TestAnExportGoesThroughAllPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := newWorld(t, db)
		n := csvfile.PageRows + 1
		w.record(w.mine, n, 1000)
		lines := w.csv(w.mine, named{}, Filter{})
		if len(lines) != n || lines[0][0] != "2001" || lines[n-1][0] != "1" {
			t.Errorf("%d lines, from %q to %q", len(lines), lines[0], lines[len(lines)-1])
		}
	})
}
