package orgs_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func (w *world) wantViews(by *auth.Principal, want string) {
	w.t.Helper()
	list, err := w.SavedViews(w.ctx(), by)
	var got []string
	for _, v := range list {
		mark := ""
		if v.Preferred {
			mark = "*"
		}
		got = append(got, mark+v.Name+"?"+v.Search)
	}
	if s := strings.Join(got, " "); s != want || err != nil {
		w.t.Errorf("the views are %q, %v; want %q", s, err, want)
	}
}

func TestSavedViewsAreThoseOfAPersonInAnOrganization(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.owner()
		_, ada := w.someone("ada", owner.Principal.OrgID, models.RoleMember)
		_, ben := w.someone("ben", owner.Principal.OrgID, models.RoleViewer)
		elsewhere := new(*ada)
		elsewhere.OrgID = w.createOrg(owner, "Elsewhere").ID
		w.join(elsewhere.OrgID, ada.UserID, models.RoleMember)
		save := func(by *auth.Principal, id *models.SavedViewID, in orgs.ViewInput) *models.SavedView {
			t.Helper()
			v, err := w.SaveView(w.ctx(), by, id, in)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		costly := save(ada, nil, orgs.ViewInput{Name: " Costly ", Search: "sort=cost", Preferred: true})
		save(ada, nil, orgs.ViewInput{Name: "broken", Search: "failed=true"})
		save(ben, nil, orgs.ViewInput{Name: "Costly", Search: "q=x"})
		w.wantViews(ada, "broken?failed=true *Costly?sort=cost")
		w.wantViews(ben, "Costly?q=x")
		w.wantViews(elsewhere, "")

		_, err := w.SaveView(w.ctx(), ada, nil, orgs.ViewInput{Name: "COSTLY"})
		wantFault(t, "the same name", err, fault.Taken, "input", "name")
		for _, other := range []*auth.Principal{ben, elsewhere} {
			_, err := w.SaveView(w.ctx(), other, &costly.ID, orgs.ViewInput{Name: "Mine"})
			wantFault(t, "another's", err, fault.NotFound, "id")
			wantFault(t, "another's", w.DeleteSavedView(w.ctx(), other, costly.ID), fault.NotFound, "id")
		}
		save(ada, &costly.ID, orgs.ViewInput{Name: "Dear", Search: "sort=cost&q=y"})
		save(ada, nil, orgs.ViewInput{Name: "First", Preferred: true})
		save(ada, nil, orgs.ViewInput{Name: "Second", Preferred: true})
		w.wantViews(ada, "broken?failed=true Dear?sort=cost&q=y First? *Second?")
		if err := w.DeleteSavedView(w.ctx(), ada, costly.ID); err != nil {
			t.Fatal(err)
		}
		w.wantViews(ada, "broken?failed=true First? *Second?")

		for field, in := range map[string]orgs.ViewInput{
			"name":   {Name: " "},
			"search": {Name: "x", Search: strings.Repeat("x", 2001)},
		} {
			_, err := w.SaveView(w.ctx(), ada, nil, in)
			wantFault(t, field, err, fault.Invalid, "input", field)
		}
		key := &auth.Principal{OrgID: ada.OrgID, KeyID: models.NewID[models.APIKeyEntity]()}
		_, err = w.SaveView(w.ctx(), key, nil, orgs.ViewInput{Name: "x"})
		wantFault(t, "saved views", err, fault.Forbidden)
		_, err = w.SavedViews(w.ctx(), key)
		wantFault(t, "saved views", err, fault.Forbidden)

		// They go with the membership.
		w.removeMember(ada.OrgID, ada.UserID)
		w.wantViews(ada, "")
	})
}

func TestAPersonHasSoManyViewsHoweverManyAreSavedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		_, ada := w.someone("ada", w.owner().Principal.OrgID, models.RoleMember)
		for i := range 49 {
			if _, err := w.SaveView(w.ctx(), ada, nil, orgs.ViewInput{Name: fmt.Sprintf("v%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { _, _ = w.SaveView(w.ctx(), ada, nil, orgs.ViewInput{Name: fmt.Sprintf("w%d", i)}) })
		}
		wg.Wait()
		list, err := w.SavedViews(w.ctx(), ada)
		if err != nil || len(list) != 50 {
			t.Errorf("%d views, %v", len(list), err)
		}
		_, err = w.SaveView(w.ctx(), ada, nil, orgs.ViewInput{Name: "one more"})
		wantFault(t, "saved views", err, fault.Conflict)
	})
}
