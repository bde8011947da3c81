package waitmail_test

import (
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/waitmail"
)

func TestMailIsSwitchedPerPersonAndOrganization(t *testing.T) {
	each(t, func(w *world) {
		s := waitmail.NewSettings(w.db, w.clock, 5*time.Minute)
		owner := w.people[models.RoleOwner]
		elsewhere := *owner
		elsewhere.OrgID = w.other.OrgID
		want := func(p *auth.Principal, on bool) {
			w.Helper()
			if got, err := s.Enabled(w.Context(), p); err != nil || got == nil || *got != on {
				w.Errorf("mail is on: %v, %v; want %v", got, err, on)
			}
		}
		want(owner, true)
		for _, on := range []bool{true, false, false, true} {
			w.must(s.Set(w.Context(), owner, on))
			want(owner, on)
			want(&elsewhere, true)
		}
	})
}

func TestWhoGetsNoMailHasNoChoice(t *testing.T) {
	each(t, func(w *world) {
		sends, doesNot := waitmail.NewSettings(w.db, w.clock, 5*time.Minute), waitmail.NewSettings(w.db, w.clock, 0)
		key := &auth.Principal{OrgID: w.org, KeyID: models.NewID[models.APIKeyEntity](), Permissions: auth.RolePermissions(models.RoleOwner, false)}
		for name, test := range map[string]struct {
			s *waitmail.Settings
			p *auth.Principal
		}{
			"a key":                 {sends, key},
			"a viewer":              {sends, w.people[models.RoleViewer]},
			"where no mail is sent": {doesNot, w.people[models.RoleOwner]},
		} {
			if got, err := test.s.Enabled(w.Context(), test.p); err != nil || got != nil {
				w.Errorf("%s: got %v, %v", name, got, err)
			}
		}
		if err := sends.Set(w.Context(), key, false); !fault.Is(err, fault.Forbidden) {
			w.Errorf("a key has switched its mail: %v", err)
		}
	})
}
