package sessions

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/turns"
)

// key returns a program of the organization. That its key is in no table doesn't matter here: nothing refers to it.
func (e *env) key(permissions ...auth.Permission) *auth.Principal {
	return &auth.Principal{OrgID: e.by.OrgID, KeyID: models.NewID[models.APIKeyEntity](), Permissions: auth.PermissionsOf(permissions...)}
}

// byKey reports whether a row names a key as its actor.
func byKey(p *auth.Principal, kind models.ActorKind, id *models.ActorID) bool {
	return kind == models.ActorAPIKey && id != nil && models.APIKeyID(*id) == p.KeyID
}

func TestWhatKeysDoIsRecordedAsTheirs(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		p := e.key(auth.SessionsWrite)
		turn, err := e.begin(p, NewSession{})
		if err != nil {
			t.Fatal(err)
		}
		s := e.get(turn.SessionID)
		if !byKey(p, s.CreatedByKind, s.CreatedByID) || s.OwnerID != nil {
			t.Errorf("the session is by %s %v and belongs to %v", s.CreatedByKind, s.CreatedByID, s.OwnerID)
		}
		if turn = e.turn(p, turn.ID); !byKey(p, turn.StartedByKind, turn.StartedByID) {
			t.Errorf("the turn is by %s %v", turn.StartedByKind, turn.StartedByID)
		}
		m, err := e.svc.Message(t.Context(), p.OrgID, turn.InputMessageID)
		if err != nil || m.AuthorKind == nil || !byKey(p, *m.AuthorKind, m.AuthorID) {
			t.Errorf("the message is %+v, %v", m, err)
		}
		if _, err := e.svc.CancelTurn(t.Context(), p, turn.ID, nil); err != nil {
			t.Fatal(err)
		}
		for _, ev := range e.log(turn.SessionID) {
			if ev.Kind != models.EventTurnCancelled {
				continue
			}
			p2, err := events.Decode(ev.Kind, ev.Data)
			if err != nil {
				t.Fatal(err)
			}
			if c := p2.(events.TurnCancelled); c.ByKind != models.ActorAPIKey || string(c.ByID) != p.KeyID.String() {
				t.Errorf("the cancel is by %s %s", c.ByKind, c.ByID)
			}
			if !strings.Contains(string(ev.Data), `"byId":"`+p.KeyID.String()+`"`) {
				t.Errorf("the event is %s", ev.Data)
			}
		}
		if !strings.Contains(e.kinds(turn.SessionID), "TURN_CANCELLED") {
			t.Error("the turn was not cancelled")
		}
		image, err := NewImages(e.db, e.clock, nil).Create(t.Context(), p, "a.png", picture(t, "image/png", 3, 2))
		if err != nil || !byKey(p, image.CreatedByKind, image.CreatedByID) {
			t.Errorf("the image is %+v, %v", image, err)
		}
	})
}

func TestKeysAndApprovals(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		p := e.key(auth.SessionsWrite, auth.ApprovalsDecide)

		// A key decides where a permission is all that it takes, but not about its own turns.
		_, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1}))
		w, _, err := e.decide(p, Decision{WaitID: waits[0].ID, Approve: true})
		if err != nil || w.State != models.WaitOK {
			t.Fatalf("%+v, %v", w, err)
		}
		if r := turns.ReadResolution(*w); r.ByKind != models.ActorAPIKey || string(r.ByID) != p.KeyID.String() {
			t.Errorf("it was resolved by %s %s", r.ByKind, r.ByID)
		}
		list, err := e.svc.Decisions(t.Context(), p.OrgID, []models.WaitID{w.ID})
		if err != nil || len(list[w.ID]) != 1 || !byKey(p, list[w.ID][0].ActorKind, &list[w.ID][0].ActorID) {
			t.Errorf("the decisions are %+v, %v", list, err)
		}
		own, waits := e.parked(p, approval(turns.Approval{Quorum: 1}))
		_, _, err = e.decide(p, Decision{WaitID: waits[0].ID, Approve: true})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		if turns.MayResolve(p, turns.RuleOf(&waits[0]), own) {
			t.Error("it is said that a key may decide about its own turn")
		}
		if _, _, err = e.decide(e.by, Decision{WaitID: waits[0].ID, Approve: true}); err != nil {
			t.Errorf("a person about a key's turn: %v", err)
		}

		// It has no role, so it doesn't count where the policy asks for one.
		for _, role := range []models.Role{models.RoleViewer, models.RoleAdmin} {
			_, waits = e.parked(e.by, approval(turns.Approval{Quorum: 1, Role: role}))
			_, _, err = e.decide(p, Decision{WaitID: waits[0].ID, Approve: true})
			wantFault(t, err, fault.Forbidden, "input.waitId")
			if f := fault.As(err); f == nil || !strings.Contains(f.Message, "An API key has no role") {
				t.Errorf("%s: %v", role, err)
			}
			if w := e.wait(e.by, waits[0].ID); w.State != models.WaitOpen || w.Approvals != 0 {
				t.Errorf("the approval is %+v", w)
			}
		}
	})
}

func TestTheSameIDOfAnotherKindIsSomebodyElse(t *testing.T) {
	p := &auth.Principal{KeyID: models.NewID[models.APIKeyEntity](), Permissions: auth.PermissionsOf(auth.ApprovalsDecide)}
	_, id := p.Actor()
	r := turns.Rule{Kind: models.WaitApproval, Open: true}
	if !turns.MayResolve(p, r, &models.Turn{StartedByKind: models.ActorUser, StartedByID: &id}) || turns.MayResolve(p, r, &models.Turn{StartedByKind: models.ActorAPIKey, StartedByID: &id}) {
		t.Error("who has started a turn is told by id alone")
	}
}
