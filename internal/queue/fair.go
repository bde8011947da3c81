package queue

import (
	"bytes"

	"github.com/ostler-dev/ostler/internal/models"
)

// Place is where in the circle of organizations a claim begins. Each runner has its own and keeps it from one claim to the next, so
// that every organization has its turn. (Ids are made in the order of time: a place drawn from all possible ones would be
// behind the last organization nearly always.) The zero Place is the beginning.
type Place struct {
	// Org is the organization that was served last.
	Org models.OrgID
	// served is how many turns it got since it was reached, as long as its weight allows more; then it comes first once more. Else 0.
	served int
}

// orgLine is the line of one organization in front of a claim.
type orgLine struct {
	org    models.OrgID
	weight int
	// cap is how many of its turns may be at work in all processes; 0 is any number.
	cap int
	// capacity is how many of its turns may be claimed.
	capacity int
	// share is how many are.
	share int
}

// share divides n turns among organizations by their weights, rounded up, in the order in which they are met. What one can't take
// is not given to others: these may ask again. fairShares does the same in SQL.
func share(n int, lines []orgLine) {
	sum := 0
	for _, l := range lines {
		sum += l.weight
	}
	left := n
	for i := range lines {
		l := &lines[i]
		l.share = min((n*l.weight+sum-1)/sum, l.capacity, left)
		left -= l.share
	}
}

// after returns the id behind which a walk begins.
func (p Place) after() models.OrgID {
	if p.served == 0 {
		return p.Org
	}
	before := p.Org
	for i := len(before) - 1; i >= 0; i-- {
		before[i]--
		if before[i] != 0xff {
			break
		}
	}
	return before
}

// next returns the place after a claim, and whether asking again for what is still free may give more. got is what each line gave, n what
// was asked for.
func (p Place) next(n int, lines []orgLine, got map[models.OrgID]int) (at Place, more bool) {
	start, total := p.after(), 0
	var last *orgLine
	for i, l := range lines {
		total += got[l.org]
		if got[l.org] == 0 {
			continue
		}
		// It may have more turns than it was allowed to give.
		more = more || (got[l.org] == l.share && l.share < l.capacity)
		if last == nil || compareFrom(start, l.org, last.org) > 0 {
			last = &lines[i]
		}
	}
	if last == nil {
		return p, false
	}
	at, served := Place{Org: last.org}, got[last.org]
	if last.org == p.Org {
		served += p.served
	}
	if got[last.org] == last.share && served < last.weight {
		at.served = served
	}
	return at, more || total == n
}

// compareFrom compares two organizations by how far a walk that begins behind start has to go.
func compareFrom(start, a, b models.OrgID) int {
	behind := func(id models.OrgID) bool { return bytes.Compare(id[:], start[:]) <= 0 }
	if behind(a) != behind(b) {
		if behind(a) {
			return 1
		}
		return -1
	}
	return bytes.Compare(a[:], b[:])
}
