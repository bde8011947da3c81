package commit

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// Another organization's transaction that doesn't end holds nobody up, however many commands wait for it.
func TestNobodyWaitsForTheTransactionOfAnotherOrganization(t *testing.T) {
	w := onPostgres(t)
	orgs := w.members(2)
	busy, quiet := orgs[0], orgs[1]
	g := newGate()
	w.faults.set(g.at("written")) // It holds the feed of its organization then.
	answers := []<-chan error{submit(t.Context(), w.c, busy.opened(models.NewID[models.SessionEntity]()))}
	<-g.reached
	for range 20 {
		answers = append(answers, submit(t.Context(), w.c, busy.opened(models.NewID[models.SessionEntity]())))
	}
	queued(w.c, 20)
	for range 20 {
		s := models.NewID[models.SessionEntity]()
		for _, c := range []Command{quiet.opened(s), quiet.happens(s, 1)} {
			if err := w.c.Submit(context.Background(), c); err != nil {
				t.Fatal(err)
			}
		}
	}
	queued(w.c, 20)
	close(g.open)
	for i, a := range answers {
		if err := <-a; err != nil {
			t.Errorf("command %d of the busy organization: %v", i, err)
		}
	}
	w.feed(quiet.org)
}

func TestAssignment(t *testing.T) {
	const flushers = 3
	a := newAssignment(flushers)
	orgs := make([]models.OrgID, 10)
	for i := range orgs {
		orgs[i] = models.NewID[models.OrgEntity]()
	}
	var at [flushers]int
	where, under := map[models.OrgID]int{}, map[models.OrgID]int{}
	leave := func(org models.OrgID) {
		a.leave(org)
		under[org]--
		at[where[org]]--
	}
	for range 10_000 {
		org := orgs[rand.IntN(len(orgs))]
		if under[org] > 0 && rand.IntN(2) == 0 {
			leave(org)
			continue
		}
		before := at
		f := a.enter(org)
		if under[org] > 0 && f != where[org] {
			t.Fatalf("commands of an organization are under way at flusher %d, and another one goes to %d", where[org], f)
		}
		for i, n := range before {
			if under[org] == 0 && n < before[f] {
				t.Fatalf("an organization that had nothing under way goes to flusher %d, of %v commands; %d has fewer", f, before, i)
			}
		}
		where[org] = f
		under[org]++
		at[f]++
	}
	for _, org := range orgs {
		for under[org] > 0 {
			leave(org)
		}
	}
	if len(a.orgs) != 0 {
		t.Errorf("%d organizations are remembered that have nothing under way", len(a.orgs))
	}
}
