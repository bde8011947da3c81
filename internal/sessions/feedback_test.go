package sessions

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// rated makes a session with a turn that has ended.
func (e *env) rated() (models.SessionID, models.TurnID) {
	e.t.Helper()
	session := e.create().ID
	return session, e.wholeTurn(session, "x")
}

func (e *env) rate(by *auth.Principal, turn models.TurnID, rating, comment string) {
	e.t.Helper()
	var r *models.Rating
	if rating != "" {
		r = ptr(models.Rating(rating))
	}
	if _, err := e.svc.RateTurn(e.t.Context(), by, turn, r, &comment); err != nil {
		e.t.Fatal(err)
	}
}

// said tells what is said about a turn, the newest first.
func (e *env) said(turn models.TurnID) string {
	e.t.Helper()
	all, err := e.svc.FeedbackOf(e.t.Context(), e.by.OrgID, []models.TurnID{turn})
	if err != nil {
		e.t.Fatal(err)
	}
	var list []string
	for _, f := range all[turn] {
		list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s", *f.Rating, models.Value(f.Comment))))
	}
	return strings.Join(list, ",")
}

func TestEverybodyHasOneSayAboutATurn(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		session, turn := e.rated()
		key := &auth.Principal{OrgID: e.by.OrgID, KeyID: models.NewID[models.APIKeyEntity](), Permissions: e.by.Permissions}
		before := e.kinds(session)
		want := func(said, events string) {
			t.Helper()
			if got := e.said(turn); got != said {
				t.Errorf("said is %q, want %q", got, said)
			}
			if got := strings.TrimPrefix(e.kinds(session), before); got != events {
				t.Errorf("the log went on with %q, want %q", got, events)
			}
		}
		want("", "")
		e.rate(e.by, turn, "", "") // nothing to take back
		want("", "")
		e.rate(e.by, turn, "DOWN", "It forgot the hay.")
		want("DOWN It forgot the hay.", ",TURN_RATED")
		e.rate(e.by, turn, "DOWN", " It forgot the hay.\n")
		want("DOWN It forgot the hay.", ",TURN_RATED")
		e.clock.Advance(time.Second)
		e.rate(key, turn, "UP", " ")
		want("UP,DOWN It forgot the hay.", ",TURN_RATED,TURN_RATED")
		e.clock.Advance(time.Second)
		e.rate(e.by, turn, "UP", "No, it is there.")
		want("UP No, it is there.,UP", ",TURN_RATED,TURN_RATED,TURN_RATED")
		e.rate(e.by, turn, "", "")
		want("UP", ",TURN_RATED,TURN_RATED,TURN_RATED,TURN_RATED")
	})
}

// Programs send a request again when no answer has come, while the first one is on its way.
func TestTheSameSayAtOnceIsOneEvent(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		session, turn := e.rated()
		var all errgroup.Group
		for range 8 {
			all.Go(func() error {
				_, err := e.svc.RateTurn(t.Context(), e.by, turn, ptr(models.RatingDown), nil)
				return err
			})
		}
		if err := all.Wait(); err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(e.kinds(session), "TURN_RATED"); n != 1 {
			t.Errorf("%d events say it", n)
		}
	})
}

func TestALogWithFeedbackIsWhole(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		session := e.create().ID
		first := e.wholeTurn(session, "x")
		e.wholeTurn(session, "y")
		e.rate(e.by, first, "UP", "")
		fork := e.fork(session).ID
		e.rate(e.by, first, "", "")
		for id, want := range map[models.SessionID]int{session: 2, fork: 1} {
			log := e.log(id)
			if err := events.CheckLog(log); err != nil || strings.Count(e.kinds(id), "TURN_RATED") != want {
				t.Errorf("%s: %v, %v; want %d ratings", id, e.kinds(id), err, want)
			}
		}
	})
}

func TestWhatCantBeRated(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		session, turn := e.rated()
		under := e.say(session, "another")
		rate := func(by *auth.Principal, turn models.TurnID, rating *models.Rating, comment string, code fault.Code, path string) {
			t.Helper()
			_, err := e.svc.RateTurn(t.Context(), by, turn, rating, &comment)
			wantFault(t, err, code, path)
		}
		up := ptr(models.RatingUp)
		rate(e.by, turn, nil, "words alone", fault.Invalid, "input.comment")
		rate(e.by, turn, up, strings.Repeat("x", 2001), fault.Invalid, "input.comment")
		rate(e.by, turn, up, "a\x00b", fault.Invalid, "input.comment")
		rate(e.by, under, up, "", fault.Conflict, "input.turnId")
		rate(e.by, models.NewID[models.TurnEntity](), up, "", fault.NotFound, "input.turnId")
		rate(e.theirs, turn, up, "", fault.NotFound, "input.turnId")
		if got := e.said(turn); got != "" {
			t.Errorf("said is %q", got)
		}
		e.rate(e.by, turn, "UP", "")
		if theirs, err := e.svc.FeedbackOf(t.Context(), e.theirs.OrgID, []models.TurnID{turn}); err != nil || len(theirs[turn]) != 0 {
			t.Errorf("others see %v, %v", theirs, err)
		}
	})
}

func TestSessionsAreFoundByBadAnswers(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		e.by = e.person(models.RoleOwner)
		bad, one := e.rated()
		two := e.wholeTurn(bad, "y")
		good, fine := e.rated()
		mended, taken := e.rated()
		untold, _ := e.rated()
		key := &auth.Principal{OrgID: e.by.OrgID, KeyID: models.NewID[models.APIKeyEntity](), Permissions: e.by.Permissions}
		for _, turn := range []models.TurnID{one, two, taken} {
			e.rate(e.by, turn, "DOWN", "")
		}
		e.rate(key, two, "DOWN", "")
		e.rate(e.by, fine, "UP", "")
		e.rate(e.by, taken, "", "")
		e.wantFound(Filter{RatedDown: ptr(true)}, bad)
		e.wantFound(Filter{RatedDown: ptr(false)}, untold, mended, good)
		if list, err := e.svc.List(t.Context(), e.theirs.OrgID, Filter{RatedDown: ptr(true)}, Sorting{}, nil, 10); err != nil || len(list) != 0 {
			t.Errorf("others see %v, %v", list, err)
		}
	})
}

// What is said by more than a list shows can still be taken back.
func TestTheFirstOfManyTakesTheirFeedbackBack(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		session, turn := e.rated()
		key := func() *auth.Principal {
			return &auth.Principal{OrgID: e.by.OrgID, KeyID: models.NewID[models.APIKeyEntity](), Permissions: e.by.Permissions}
		}
		first := key()
		e.rate(first, turn, "DOWN", "")
		e.clock.Advance(time.Second)
		for range maxFeedback {
			e.rate(key(), turn, "UP", "")
		}
		e.wantFound(Filter{RatedDown: ptr(true)}, session)
		e.rate(first, turn, "", "")
		e.wantFound(Filter{RatedDown: ptr(true)})
	})
}
