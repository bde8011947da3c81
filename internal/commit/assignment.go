package commit

import (
	"sync"

	"github.com/ostler-dev/ostler/internal/models"
)

// assignment says which flusher commits for which organization. While commands of an organization are under way, all others of it go
// to the same flusher: they would wait for each other in the database, for the session or for the organization's feed, and so would
// everybody who shares a transaction with them. An organization that has much to commit makes its own transactions large, therefore,
// and leaves the other flushers to the others. One that has nothing under way goes to whichever flusher has the least.
type assignment struct {
	mu   sync.Mutex
	orgs map[models.OrgID]*underWay
	load []int // the commands under way, by flusher
}

// underWay is where an organization has commands under way, and how many.
type underWay struct{ flusher, commands int }

func newAssignment(flushers int) *assignment {
	return &assignment{orgs: map[models.OrgID]*underWay{}, load: make([]int, flushers)}
}

// enter returns the flusher for one more command, by its number. leave must follow when the command is answered.
func (a *assignment) enter(org models.OrgID) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.orgs[org]
	if p == nil {
		p = &underWay{flusher: a.idlest()}
		a.orgs[org] = p
	}
	p.commands++
	a.load[p.flusher]++
	return p.flusher
}

func (a *assignment) leave(org models.OrgID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.orgs[org]
	p.commands--
	a.load[p.flusher]--
	if p.commands == 0 {
		delete(a.orgs, org)
	}
}

func (a *assignment) idlest() int {
	least := 0
	for i, n := range a.load {
		if n < a.load[least] {
			least = i
		}
	}
	return least
}
