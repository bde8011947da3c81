package sessions

import (
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/turns"
)

func (e *env) steer(by *auth.Principal, turn *models.Turn) {
	e.t.Helper()
	_, joined, err := e.svc.Send(e.t.Context(), by, NewMessage{SessionID: turn.SessionID, Content: []NewPart{Text("and delete the rest")}})
	if err != nil || joined.ID != turn.ID {
		e.t.Fatalf("it went to %+v, %v", joined, err)
	}
}

// Whoever has written a message of a turn has no second pair of eyes on what it does, whether they wrote before they decided or after.
func TestWhoWroteToATurnDoesNotDecideAboutIt(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		id := waits[0].ID
		before, after := e.person(models.RoleMember), e.person(models.RoleMember)

		e.steer(before, turn)
		_, _, err := e.decide(before, Decision{WaitID: id, Approve: true})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		if turns.MayResolve(before, turns.RuleOf(&waits[0]), e.turn(e.by, turn.ID)) {
			t.Error("it is said that they may decide")
		}

		if w, _, err := e.decide(after, Decision{WaitID: id, Approve: true}); err != nil || w.Approvals != 1 {
			t.Fatalf("%+v, %v", w, err)
		}
		e.steer(after, turn)
		if w, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: id, Approve: true}); err != nil || w.State != models.WaitOpen || w.Approvals != 1 {
			t.Fatalf("an author counts as an approver: %+v, %v", w, err)
		}
		if w, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: id, Approve: true}); err != nil || w.State != models.WaitOK || w.Approvals != 2 {
			t.Fatalf("%+v, %v", w, err)
		}
	})
}

// Whoever made a key is an author of what it writes, and it is of what they write; both of them and their other keys are one person in a quorum.
func TestWhoMadeAKeyIsNobodyElse(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		maker := e.person(models.RoleMember)
		key := func() *auth.Principal {
			p := e.key(auth.SessionsWrite, auth.ApprovalsDecide)
			p.MadeBy = maker.UserID
			row := models.APIKey{OrgID: p.OrgID, ID: p.KeyID, Hash: p.KeyID[:], Permissions: p.Permissions.Names(), CreatedBy: &p.MadeBy}
			if err := e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error { return tx.Create(&row).Error }); err != nil {
				t.Fatal(err)
			}
			return p
		}
		one, other := key(), key()
		refused := func(by *auth.Principal, wait models.Wait) {
			t.Helper()
			_, _, err := e.decide(by, Decision{WaitID: wait.ID, Approve: true})
			wantFault(t, err, fault.Forbidden, "input.waitId")
		}
		turn, waits := e.parked(one, approval(turns.Approval{Quorum: 1}))
		refused(maker, waits[0])
		refused(other, waits[0])
		if turns.MayResolve(maker, turns.RuleOf(&waits[0]), turn) {
			t.Error("it is said that whoever made the key may decide")
		}
		_, waits = e.parked(maker, approval(turns.Approval{Quorum: 1}))
		refused(one, waits[0])
		turn, waits = e.parked(e.by, approval(turns.Approval{Quorum: 1}))
		e.steer(one, turn)
		refused(maker, waits[0])

		_, waits = e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		for _, by := range []*auth.Principal{one, maker, other} {
			if w, _, err := e.decide(by, Decision{WaitID: waits[0].ID, Approve: true}); err != nil || w.State != models.WaitOpen || w.Approvals != 1 {
				t.Fatalf("%+v, %v", w, err)
			}
		}
		if w, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: waits[0].ID, Approve: true}); err != nil || w.State != models.WaitOK {
			t.Fatalf("%+v, %v", w, err)
		}
		turn, waits = e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		if w, _, err := e.decide(one, Decision{WaitID: waits[0].ID, Approve: true}); err != nil || w.Approvals != 1 {
			t.Fatalf("%+v, %v", w, err)
		}
		e.steer(maker, turn)
		if w, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: waits[0].ID, Approve: true}); err != nil || w.State != models.WaitOpen || w.Approvals != 1 {
			t.Fatalf("the key of an author counts: %+v, %v", w, err)
		}
	})
}

// A lone owner whose policy wants somebody else is not locked out: what they may cancel, they may deny.
func TestWhoMayCancelMayDeny(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		for _, a := range []turns.Approval{{Quorum: 1}, {Quorum: 2, Role: models.RoleOwner}} {
			_, waits := e.parked(e.by, approval(a))
			if w, _, err := e.decide(e.by, Decision{WaitID: waits[0].ID}); err != nil || w.State != models.WaitError {
				t.Fatalf("%+v, %v", w, err)
			}
		}
		_, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1, Role: models.RoleAdmin}))
		reader := e.person(models.RoleViewer)
		_, _, err := e.decide(reader, Decision{WaitID: waits[0].ID})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		if w, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: waits[0].ID}); err != nil || w.State != models.WaitError {
			t.Fatalf("%+v, %v", w, err)
		}
	})
}

func TestAuthorsDecideWhereThePolicyAllowsIt(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1, AllowSelf: true}))
		other := e.person(models.RoleMember)
		e.steer(other, turn)
		if w, _, err := e.decide(other, Decision{WaitID: waits[0].ID, Approve: true}); err != nil || w.State != models.WaitOK {
			t.Fatalf("%+v, %v", w, err)
		}
	})
}

// An edit of a queued turn names its editor in the event and in the audit log, and makes them an author.
func TestAnEditNamesItsEditor(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		s := e.create()
		var turn *models.Turn
		for range 2 {
			var err error
			if _, turn, err = e.svc.Send(t.Context(), e.by, NewMessage{SessionID: s.ID, Content: []NewPart{Text("x")}, Delivery: turns.Queue}); err != nil {
				t.Fatal(err)
			}
		}
		editor := e.person(models.RoleMember)
		edited, err := e.svc.EditQueuedTurn(t.Context(), editor, turn.ID, []NewPart{Text("y")})
		if err != nil {
			t.Fatal(err)
		}
		kind, id := editor.Actor()
		if !edited.AuthoredBy(editor.Author()) || !edited.AuthoredBy(e.by.Author()) {
			t.Errorf("the authors are %v", edited.Coauthors)
		}
		log := e.log(s.ID)
		p, err := events.Decode(log[len(log)-1].Kind, log[len(log)-1].Data)
		if said, ok := p.(events.MessageEdited); err != nil || !ok || said.ByKind != kind || said.ByID != models.RefTo(kind, id) {
			t.Errorf("the event says %+v, %v", p, err)
		}
		var list []models.AuditEntry
		if err := store.Of(e.db.Read(t.Context(), e.by.OrgID), e.by.OrgID).Find(&list, "action = ?", "message.edited").Error; err != nil {
			t.Fatal(err)
		}
		if len(list) != 1 || list[0].ActorKind != kind || *list[0].ActorID != id || list[0].TargetID != turn.ID.String() {
			t.Errorf("the audit log says %+v", list)
		}
	})
}
