package orgs_test

import (
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func TestMailIsSwitchedPerPersonAndOrganization(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		owner := w.owner()
		s := newNode(t, w.db, w.clock, func(c *orgs.Config) { c.WaitMail = true })
		elsewhere := *owner.Principal
		elsewhere.OrgID = w.createOrg(owner, "Elsewhere").ID
		want := func(p *auth.Principal, on bool) {
			t.Helper()
			if got, err := s.WaitMail(w.ctx(), p); err != nil || got == nil || *got != on {
				t.Errorf("mail is on: %v, %v; want %v", got, err, on)
			}
		}
		set := func(on bool) {
			t.Helper()
			if err := s.SetWaitMail(w.ctx(), owner.Principal, on); err != nil {
				t.Fatal(err)
			}
		}
		want(owner.Principal, true)
		set(true)
		want(owner.Principal, true)
		for range 2 {
			set(false)
			want(owner.Principal, false)
			want(&elsewhere, true)
		}
		w.clock.Advance(time.Minute)
		set(true)
		want(owner.Principal, true)
		var through int64
		err := w.db.QueryRow(w.ctx(), owner.Org.ID, "SELECT told_through FROM wait_mails WHERE org_id = ? AND user_id = ?",
			owner.Org.ID[:], owner.Principal.UserID[:]).Scan(&through)
		if err != nil || through != w.clock.Now().UnixMilli() {
			t.Errorf("what waited while it was off may be mailed: told through %d, %v", through, err)
		}

		key := &auth.Principal{OrgID: owner.Org.ID, KeyID: models.NewID[models.APIKeyEntity]()}
		wantFault(t, "a key", s.SetWaitMail(w.ctx(), key, false), fault.Forbidden)
		if got, err := s.WaitMail(w.ctx(), key); err != nil || got != nil {
			t.Errorf("a key gets mail: %v, %v", got, err)
		}
		if got, err := w.WaitMail(w.ctx(), owner.Principal); err != nil || got != nil {
			t.Errorf("where no mail is sent: %v, %v", got, err)
		}
	})
}
