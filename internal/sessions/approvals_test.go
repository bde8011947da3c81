package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/approvals"
	"github.com/ostler-dev/ostler/internal/turns"
)

func approval(a turns.Approval) waitingCall {
	return waitingCall{id: "a", tool: "write_file", arguments: `{"content":"x","path":"/workspace/a"}`, kind: models.WaitApproval, approval: a}
}

func (e *env) decide(by *auth.Principal, d Decision) (*models.Wait, *models.Turn, error) {
	e.t.Helper()
	return e.svc.DecideApproval(e.t.Context(), by, d)
}

func TestAnApprovedCallRuns(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1}))
		w, got, err := e.decide(e.person(models.RoleMember), Decision{WaitID: waits[0].ID, Approve: true, Note: ptr("fine")})
		if err != nil || w.State != models.WaitOK || got.Status != models.TurnRunning || got.ReadyAt == nil || got.PendingCalls != 1 {
			t.Fatalf("%+v, %+v, %v", w, got, err)
		}
		decisions, err := e.svc.Decisions(t.Context(), e.by.OrgID, []models.WaitID{w.ID})
		if err != nil || len(decisions[w.ID]) != 1 || !decisions[w.ID][0].Approve || *decisions[w.ID][0].Note != "fine" {
			t.Fatalf("%+v, %v", decisions, err)
		}
		theirs, err := e.svc.Decisions(t.Context(), e.theirs.OrgID, []models.WaitID{w.ID})
		if err != nil || len(theirs[w.ID]) != 0 {
			t.Fatalf("others see %+v, %v", theirs, err)
		}
		e.log(turn.SessionID)
	})
}

// Rules: W10.
func TestADeniedCallDoesNotRun(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		w, got, err := e.decide(e.person(models.RoleMember), Decision{WaitID: waits[0].ID, Note: ptr("too dear")})
		if err != nil || w.State != models.WaitError || got.PendingCalls != 0 {
			t.Fatalf("%+v, %+v, %v", w, got, err)
		}
		results := e.results(turn.SessionID)
		if len(results) != 1 || results[0].Success || !strings.Contains(results[0].Error, "too dear") {
			t.Fatalf("the result is %+v", results)
		}
	})
}

func TestNobodyDecidesAboutTheirOwnTurn(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		_, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1}))
		_, _, err := e.decide(e.by, Decision{WaitID: waits[0].ID, Approve: true})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1, AllowSelf: true}))
		if !turns.MayResolve(e.by, turns.RuleOf(&waits[0]), turn) {
			t.Fatal("the policy allows it, and it is said not to")
		}
		if _, _, err = e.decide(e.by, Decision{WaitID: waits[0].ID, Approve: true}); err != nil {
			t.Fatal(err)
		}
	})
}

// Rules: W10.
func TestWhoMayDecide(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1, Role: models.RoleAdmin}))
		w := waits[0]
		_, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: w.ID, Approve: true})
		wantFault(t, err, fault.Forbidden, "input.waitId")
		_, _, err = e.decide(e.theirs, Decision{WaitID: w.ID, Approve: true})
		wantFault(t, err, fault.NotFound, "input.waitId")
		for role, may := range map[models.Role]bool{models.RoleViewer: false, models.RoleMember: false, models.RoleAdmin: true, models.RoleOwner: true} {
			if turns.MayResolve(e.person(role), turns.RuleOf(&w), turn) != may {
				t.Errorf("%s: want %t", role, may)
			}
		}
		if _, _, err = e.decide(e.person(models.RoleAdmin), Decision{WaitID: w.ID, Approve: true}); err != nil {
			t.Fatal(err)
		}
		if turns.MayResolve(e.person(models.RoleAdmin), turns.RuleOf(e.wait(e.by, w.ID)), turn) {
			t.Error("an approval that is over may be decided")
		}
	})
}

// Rules: W10.
func TestADecisionOfTwo(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		id, one, two := waits[0].ID, e.person(models.RoleMember), e.person(models.RoleMember)
		for range 2 { // a repeated decision counts once
			w, got, err := e.decide(one, Decision{WaitID: id, Approve: true})
			if err != nil || w.State != models.WaitOpen || w.Approvals != 1 || got.Status != models.TurnWaiting {
				t.Fatalf("%+v, %v", w, err)
			}
		}
		_, _, err := e.decide(one, Decision{WaitID: id})
		wantFault(t, err, fault.Conflict, "input.waitId")
		if w, _, err := e.decide(two, Decision{WaitID: id, Approve: true}); err != nil || w.State != models.WaitOK || w.Approvals != 2 {
			t.Fatalf("%+v, %v", w, err)
		}
		if _, _, err := e.decide(two, Decision{WaitID: id, Approve: true}); err != nil {
			t.Fatalf("the same again: %v", err)
		}
		_, _, err = e.decide(e.person(models.RoleOwner), Decision{WaitID: id, Approve: true})
		wantFault(t, err, fault.Conflict, "input.waitId")
		if kinds := e.kinds(turn.SessionID); strings.Count(kinds, "APPROVAL_DECIDED") != 2 {
			t.Fatalf("the log is %s", kinds)
		}
	})
}

// Rules: W10, W11.
func TestEditedArguments(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1}))
		id, other := waits[0].ID, e.person(models.RoleMember)
		tests := map[string]struct {
			d    Decision
			code fault.Code
			path string
		}{
			"denied":    {Decision{WaitID: id, Arguments: models.JSON(`{}`)}, fault.Invalid, "input.arguments"},
			"no object": {Decision{WaitID: id, Approve: true, Arguments: models.JSON(`[1]`)}, fault.Invalid, "input.arguments"},
			"no JSON":   {Decision{WaitID: id, Approve: true, Arguments: models.JSON(`{`)}, fault.Invalid, "input.arguments"},
			"against the schema": {
				Decision{WaitID: id, Approve: true, Arguments: models.JSON(`{"path":7}`)}, fault.Invalid, "input.arguments",
			},
			"a long note": {Decision{WaitID: id, Approve: true, Note: ptr(strings.Repeat("é", 2001))}, fault.Invalid, "input.note"},
		}
		for name, tt := range tests {
			_, _, err := e.decide(other, tt.d)
			t.Log(name)
			wantFault(t, err, tt.code, tt.path)
		}
		edited := models.JSON(`{ "path": "/workspace/b", "content": "y" }`)
		w, _, err := e.decide(other, Decision{WaitID: id, Approve: true, Arguments: edited})
		if err != nil || w.State != models.WaitOK {
			t.Fatalf("%+v, %v", w, err)
		}
		if _, _, err := e.decide(other, Decision{WaitID: id, Approve: true, Arguments: models.JSON(`{"content":"y","path":"/workspace/b"}`)}); err != nil {
			t.Fatalf("the same again: %v", err)
		}
		_, _, err = e.decide(other, Decision{WaitID: id, Approve: true})
		wantFault(t, err, fault.Conflict, "input.waitId")
		if got := turns.ReadResolution(*w).Arguments; string(got) != `{"content":"y","path":"/workspace/b"}` {
			t.Fatalf("the arguments are %s", got)
		}
		var effect models.Effect
		if err := e.svc.of(t.Context(), e.by.OrgID).Where("scope_id = ? AND replay_key = ?", turn.ID, turns.CallKey("a")).Take(&effect).Error; err != nil {
			t.Fatal(err)
		}
		call, err := turns.ReadCall(effect)
		if err != nil || string(call.Record.Frozen.InputHash()) != string(effect.InputHash) ||
			string(call.Record.Frozen.Arguments) != `{"content":"y","path":"/workspace/b"}` {
			t.Fatalf("the call is %+v, %v", call, err)
		}
	})
}

// Rules: W10, W11.
func TestEditedArgumentsMustPassThePolicies(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		in := NewSession{}
		agent, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{Name: "careful", SystemPrompt: "x", Capabilities: []models.CapabilityRef{
			{ID: "files"},
			{ID: approvals.ID, Config: models.JSON(`{"default": "always", "rules": [
				{"tools": ["write_file"], "when": "arguments.path == '/workspace/two'", "approve": "always", "quorum": 2},
				{"tools": ["write_file"], "when": "arguments.path == '/workspace/admins'", "approve": "always", "role": "ADMIN"},
				{"tools": ["write_file"], "when": "arguments.path == '/workspace/free'", "approve": "never"}
			]}`)},
		}})
		if err != nil {
			t.Fatal(err)
		}
		in.AgentID = &agent.ID
		e.by = e.person(models.RoleOwner)
		decide := func(a turns.Approval, path string) (*models.Wait, error) {
			_, waits := e.parkedIn(e.by, in, approval(a))
			w, _, err := e.decide(e.person(models.RoleAdmin), Decision{
				WaitID: waits[0].ID, Approve: true, Arguments: models.JSON(`{"content":"x","path":"/workspace/` + path + `"}`),
			})
			if err != nil {
				if left := e.wait(e.by, waits[0].ID); left.State != models.WaitOpen || left.Approvals != 0 {
					t.Errorf("%s: the refused decision has left %+v", path, left)
				}
			}
			return w, err
		}
		members := turns.Approval{Quorum: 1, Role: models.RoleMember}
		for _, path := range []string{"two", "admins"} {
			_, err := decide(members, path)
			wantFault(t, err, fault.Forbidden, "input.arguments")
		}
		if _, err := decide(turns.Approval{Quorum: 1, Role: models.RoleMember, AllowSelf: true}, "other"); err == nil {
			t.Error("who started the turn may decide about the call as it was, and not about this one")
		}
		for _, ok := range []struct {
			a    turns.Approval
			path string
			want models.WaitState
		}{
			{members, "other", models.WaitOK},
			{members, "free", models.WaitOK},
			{turns.Approval{Quorum: 2, Role: models.RoleMember}, "two", models.WaitOpen},
			{turns.Approval{Quorum: 1, Role: models.RoleAdmin}, "admins", models.WaitOK},
		} {
			w, err := decide(ok.a, ok.path)
			if err != nil || w.State != ok.want || w.Approvals != 1 {
				t.Errorf("%s: %+v, %v", ok.path, w, err)
			}
		}
	})
}

// Rules: W10, W11.
func TestAPolicyThatDoesNotDecideLeavesTheApproval(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		agent, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{
			Name: "judged", SystemPrompt: "x", Capabilities: []models.CapabilityRef{{ID: "files"}, {ID: "judge"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		e.by = e.person(models.RoleMember)
		turn, waits := e.parkedIn(e.by, NewSession{AgentID: &agent.ID}, approval(turns.Approval{Quorum: 1}))
		by, edit := e.person(models.RoleMember), Decision{WaitID: waits[0].ID, Approve: true, Arguments: models.JSON(`{"content":"y","path":"/workspace/a"}`)}
		ctx, cancel := context.WithCancel(t.Context())
		for name, judge := range map[string]func(context.Context, tools.GateCall) (tools.Verdict, error){
			"slow": func(ctx context.Context, _ tools.GateCall) (tools.Verdict, error) {
				cancel()
				<-ctx.Done()
				return tools.Verdict{}, nil
			},
			"failing": func(context.Context, tools.GateCall) (tools.Verdict, error) {
				return tools.Verdict{}, errors.New("secret")
			},
			"broken": func(context.Context, tools.GateCall) (tools.Verdict, error) { panic("secret") },
		} {
			e.judge = judge
			ctx := map[bool]context.Context{true: ctx, false: t.Context()}[name == "slow"]
			// Nobody but the log is told what went wrong.
			if _, _, err := e.svc.DecideApproval(ctx, by, edit); err == nil || fault.As(err) != nil {
				t.Errorf("%s: got %v", name, err)
			}
			if left := e.wait(e.by, waits[0].ID); left.State != models.WaitOpen || left.Approvals != 0 {
				t.Errorf("%s: the decision has left %+v", name, left)
			}
		}
		if got := e.turn(e.by, turn.ID); got.Status != models.TurnWaiting || got.WaitingCalls != 1 {
			t.Errorf("the turn is %+v", got)
		}
		e.judge = func(context.Context, tools.GateCall) (tools.Verdict, error) {
			return tools.Verdict{Kind: tools.VerdictRefuse, Reason: "not this one"}, nil
		}
		_, _, err = e.decide(by, edit)
		wantFault(t, err, fault.Forbidden, "input.arguments")
		// What runs is what the policies have made of it.
		e.judge = func(context.Context, tools.GateCall) (tools.Verdict, error) {
			return tools.Verdict{Arguments: json.RawMessage(`{"content":"z","path":"/workspace/a"}`)}, nil
		}
		if w, _, err := e.decide(by, edit); err != nil || w.State != models.WaitOK ||
			!jsonx.Same(turns.ReadResolution(*w).Arguments, models.JSON(`{"content":"z","path":"/workspace/a"}`)) {
			t.Fatalf("%+v, %v", w, err)
		}
		if _, _, err := e.decide(by, edit); err != nil {
			t.Errorf("the same again: %v", err)
		}
	})
}

// Who didn't hear the answer asks again, and must not be told of what has changed since.
func TestARepeatedEditIsNotJudgedAgain(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		agent, err := e.catalog.CreateAgent(t.Context(), e.by, catalog.NewAgent{
			Name: "judged", SystemPrompt: "x", Capabilities: []models.CapabilityRef{{ID: "files"}, {ID: "judge"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		e.by = e.person(models.RoleMember)
		_, waits := e.parkedIn(e.by, NewSession{AgentID: &agent.ID}, approval(turns.Approval{Quorum: 2}))
		by, edit := e.person(models.RoleMember), Decision{WaitID: waits[0].ID, Approve: true, Arguments: models.JSON(`{"content":"y","path":"/workspace/a"}`)}
		if _, _, err := e.decide(by, edit); err != nil {
			t.Fatal(err)
		}
		e.judge = func(context.Context, tools.GateCall) (tools.Verdict, error) {
			return tools.Verdict{Kind: tools.VerdictRefuse, Reason: "not any more"}, nil
		}
		if w, _, err := e.decide(by, edit); err != nil || w.Approvals != 1 {
			t.Errorf("the same again: %+v, %v", w, err)
		}
		_, _, err = e.decide(e.person(models.RoleMember), edit)
		wantFault(t, err, fault.Forbidden, "input.arguments")
	})
}

func TestTheCallsOwnArgumentsAreNoEdit(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		_, waits := e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		id := waits[0].ID
		if _, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: id, Approve: true}); err != nil {
			t.Fatal(err)
		}
		w, _, err := e.decide(e.person(models.RoleMember), Decision{
			WaitID: id, Approve: true, Arguments: models.JSON(`{"path":"/workspace/a","content":"x"}`),
		})
		if err != nil || w.State != models.WaitOK {
			t.Fatalf("%+v, %v", w, err)
		}
	})
}

func TestDecisionsAtTheSameTime(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		for range 5 {
			turn, waits := e.parked(e.by, approval(turns.Approval{Quorum: 1}))
			decide := func(approve bool) func() error {
				by := e.person(models.RoleMember)
				return func() error {
					_, _, err := e.svc.DecideApproval(t.Context(), by, Decision{WaitID: waits[0].ID, Approve: approve})
					return err
				}
			}
			errs := race(decide(true), decide(false))
			for _, err := range errs {
				if err != nil {
					wantFault(t, err, fault.Conflict, "input.waitId")
				}
			}
			state := e.wait(e.by, waits[0].ID).State
			if (errs[0] == nil) == (errs[1] == nil) || (errs[0] == nil) != (state == models.WaitOK) || (errs[1] == nil) != (state == models.WaitError) {
				t.Fatalf("%v: the wait is %s", errs, state)
			}
			if n := strings.Count(e.kinds(turn.SessionID), "APPROVAL_DECIDED"); n != 1 {
				t.Fatalf("%d decisions are in the log", n)
			}
		}
	})
}

// Approvals that come at once, and are committed together, all count.
func TestApprovalsAtTheSameTime(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		const quorum = 6
		for range 3 {
			_, waits := e.parkedIn(e.person(models.RoleOwner), NewSession{}, approval(turns.Approval{Quorum: quorum}))
			approve := make([]func() error, quorum)
			for i := range approve {
				by := e.person(models.RoleMember)
				approve[i] = func() error {
					_, _, err := e.svc.DecideApproval(t.Context(), by, Decision{WaitID: waits[0].ID, Approve: true})
					return err
				}
			}
			if err := errors.Join(race(approve...)...); err != nil {
				t.Fatal(err)
			}
			if w := e.wait(e.by, waits[0].ID); w.State != models.WaitOK {
				t.Fatalf("%+v", w)
			}
		}
	})
}

func TestTheSamePersonTwiceAtTheSameTime(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleMember)
		_, waits := e.parked(e.by, approval(turns.Approval{Quorum: 2}))
		by := e.person(models.RoleMember)
		once := func() error {
			_, _, err := e.svc.DecideApproval(t.Context(), by, Decision{WaitID: waits[0].ID, Approve: true})
			return err
		}
		for _, err := range race(once, once, once) {
			if err != nil {
				t.Fatal(err)
			}
		}
		if w := e.wait(e.by, waits[0].ID); w.State != models.WaitOpen || w.Approvals != 1 {
			t.Fatalf("%+v", w)
		}
	})
}

func TestDecidingIsForApprovals(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		_, waits := e.parked(e.by, client("a"))
		_, _, err := e.decide(e.person(models.RoleOwner), Decision{WaitID: waits[0].ID, Approve: true})
		wantFault(t, err, fault.Invalid, "input.waitId")
		_, _, err = e.decide(e.by, Decision{WaitID: models.NewID[models.WaitEntity](), Approve: true})
		wantFault(t, err, fault.NotFound, "input.waitId")
	})
}

// The approval of somebody who was removed since doesn't count towards the quorum.
func TestARemovedMembersApprovalDoesNotCount(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		_, waits := e.parkedIn(e.person(models.RoleOwner), NewSession{}, approval(turns.Approval{Quorum: 2}))
		id, one := waits[0].ID, e.person(models.RoleMember)
		if _, _, err := e.decide(one, Decision{WaitID: id, Approve: true}); err != nil {
			t.Fatal(err)
		}
		err := e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			return tx.Where("org_id = ? AND user_id = ?", e.by.OrgID, one.UserID).Delete(&models.Membership{}).Error
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []models.WaitState{models.WaitOpen, models.WaitOK} {
			if w, _, err := e.decide(e.person(models.RoleMember), Decision{WaitID: id, Approve: true}); err != nil || w.State != want {
				t.Errorf("%+v, %v, want %s", w, err, want)
			}
		}
	})
}

// Somebody is removed while another person decides: the decision waits for it, and then theirs doesn't count.
func TestADecisionWaitsForARemovalUnderWay(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		_, waits := e.parkedIn(e.person(models.RoleOwner), NewSession{}, approval(turns.Approval{Quorum: 2}))
		id, one, two := waits[0].ID, e.person(models.RoleMember), e.person(models.RoleMember)
		if _, _, err := e.decide(one, Decision{WaitID: id, Approve: true}); err != nil {
			t.Fatal(err)
		}
		decided := make(chan error, 1)
		err := e.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
			if err := tx.Where("org_id = ? AND user_id = ?", e.by.OrgID, one.UserID).Delete(&models.Membership{}).Error; err != nil {
				return err
			}
			go func() {
				_, _, err := e.decide(two, Decision{WaitID: id, Approve: true})
				decided <- err
			}()
			if e.db.Pool == nil {
				return nil // SQLite has one writer
			}
			owner, err := storetest.Owner(t.Context(), e.db)
			if err != nil {
				return err
			}
			defer func() { _ = owner.Close(context.Background()) }()
			for waiting := false; !waiting; {
				if len(decided) > 0 {
					return errors.New("it was decided before the removal")
				}
				const q = "SELECT count(*) > 0 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
				if err := owner.QueryRow(t.Context(), q).Scan(&waiting); err != nil {
					return err
				}
			}
			return nil
		})
		if err := errors.Join(err, <-decided); err != nil {
			t.Fatal(err)
		}
		if w := e.wait(e.by, id); w.State != models.WaitOpen || w.Approvals != 1 {
			t.Errorf("%+v", w)
		}
	})
}
