package sessions

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// elsewhere makes somebody a member of the other organization, too.
func (e *env) elsewhere(p *auth.Principal) *auth.Principal {
	e.t.Helper()
	member := models.Membership{OrgID: e.theirs.OrgID, ID: models.NewID[models.MembershipEntity](), UserID: p.UserID, Role: models.RoleMember, CreatedAt: 1}
	if err := e.db.WriteAcross(e.t.Context(), func(tx *gorm.DB) error { return tx.Create(&member).Error }); err != nil {
		e.t.Fatal(err)
	}
	other := *p
	other.OrgID = e.theirs.OrgID
	return &other
}

func (e *env) wantViews(by *auth.Principal, want string) {
	e.t.Helper()
	list, err := e.svc.SavedViews(e.t.Context(), by)
	var got []string
	for _, v := range list {
		mark := ""
		if v.Preferred {
			mark = "*"
		}
		got = append(got, mark+v.Name+"?"+v.Search)
	}
	if s := strings.Join(got, " "); s != want || err != nil {
		e.t.Errorf("the views are %q, %v; want %q", s, err, want)
	}
}

func TestSavedViewsAreThoseOfAPersonInAnOrganization(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ada, ben := e.person(models.RoleMember), e.person(models.RoleViewer)
		elsewhere := e.elsewhere(ada)
		save := func(by *auth.Principal, id *models.SavedViewID, in ViewInput) *models.SavedView {
			t.Helper()
			v, err := e.svc.SaveView(t.Context(), by, id, in)
			if err != nil {
				t.Fatal(err)
			}
			return v
		}
		costly := save(ada, nil, ViewInput{Name: " Costly ", Search: "sort=cost", Preferred: true})
		save(ada, nil, ViewInput{Name: "broken", Search: "failed=true"})
		save(ben, nil, ViewInput{Name: "Costly", Search: "q=x"})
		e.wantViews(ada, "broken?failed=true *Costly?sort=cost")
		e.wantViews(ben, "Costly?q=x")
		e.wantViews(elsewhere, "")

		_, err := e.svc.SaveView(t.Context(), ada, nil, ViewInput{Name: "COSTLY"})
		wantFault(t, err, fault.Conflict, "input.name")
		for _, other := range []*auth.Principal{ben, elsewhere} {
			_, err := e.svc.SaveView(t.Context(), other, &costly.ID, ViewInput{Name: "Mine"})
			wantFault(t, err, fault.NotFound, "id")
			wantFault(t, e.svc.DeleteSavedView(t.Context(), other, costly.ID), fault.NotFound, "id")
		}
		save(ada, &costly.ID, ViewInput{Name: "Dear", Search: "sort=cost&q=y"})
		save(ada, nil, ViewInput{Name: "First", Preferred: true})
		save(ada, nil, ViewInput{Name: "Second", Preferred: true})
		e.wantViews(ada, "broken?failed=true Dear?sort=cost&q=y First? *Second?")
		if err := e.svc.DeleteSavedView(t.Context(), ada, costly.ID); err != nil {
			t.Fatal(err)
		}
		e.wantViews(ada, "broken?failed=true First? *Second?")

		for path, in := range map[string]ViewInput{
			"input.name":   {Name: " "},
			"input.search": {Name: "x", Search: strings.Repeat("x", maxViewSearch+1)},
		} {
			_, err := e.svc.SaveView(t.Context(), ada, nil, in)
			wantFault(t, err, fault.Invalid, path)
		}
		key := &auth.Principal{OrgID: e.by.OrgID, KeyID: models.NewID[models.APIKeyEntity]()}
		_, err = e.svc.SaveView(t.Context(), key, nil, ViewInput{Name: "x"})
		wantFault(t, err, fault.Forbidden, "")
		_, err = e.svc.SavedViews(t.Context(), key)
		wantFault(t, err, fault.Forbidden, "")

		// They go with the membership.
		err = e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return store.Of(tx, ada.OrgID).Where("user_id = ?", ada.UserID).Delete(&models.Membership{}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		e.wantViews(ada, "")
	})
}

func TestAPersonHasSoManyViewsHoweverManyAreSavedAtOnce(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		ada := e.person(models.RoleMember)
		for i := range maxViews - 1 {
			if _, err := e.svc.SaveView(t.Context(), ada, nil, ViewInput{Name: fmt.Sprintf("v%d", i)}); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() { _, _ = e.svc.SaveView(t.Context(), ada, nil, ViewInput{Name: fmt.Sprintf("w%d", i)}) })
		}
		wg.Wait()
		list, err := e.svc.SavedViews(t.Context(), ada)
		if err != nil || len(list) != maxViews {
			t.Errorf("%d views, %v", len(list), err)
		}
		_, err = e.svc.SaveView(t.Context(), ada, nil, ViewInput{Name: "one more"})
		wantFault(t, err, fault.Conflict, "")
	})
}
