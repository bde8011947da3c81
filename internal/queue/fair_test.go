package queue

import (
	"bytes"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
)

// No more is given than was asked for and than there is room for, nobody gets more than its share rounded up, and nothing is left
// while everybody has room.
//
// Rules: Q14.
func TestShares(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 64).Draw(t, "n")
		lines := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) orgLine {
			return orgLine{weight: rapid.IntRange(1, 1000).Draw(t, "weight"), capacity: rapid.IntRange(1, 80).Draw(t, "room")}
		}), 1, 64).Draw(t, "lines")
		share(n, lines)
		weights, given, roomy := 0, 0, true
		for _, l := range lines {
			weights += l.weight
			given += l.share
			roomy = roomy && l.capacity >= n
		}
		for _, l := range lines {
			if fair := (n*l.weight + weights - 1) / weights; l.share < 0 || l.share > l.capacity || l.share > fair {
				t.Fatalf("%+v got more than its room or %d", l, fair)
			}
		}
		if given > n || (roomy && given != n) {
			t.Fatalf("of %d turns %d were given to %+v", n, given, lines)
		}
	})
}

// Where slots become free one by one, each organization is given as many turns as its weight says before the circle begins anew.
//
// Rules: Q14.
func TestTheCircleHonoursWeights(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 5), 1, 6).Draw(t, "weights")
		circle := make([]orgLine, len(weights))
		sum := 0
		for i, w := range weights {
			circle[i] = orgLine{org: models.NewID[models.OrgEntity](), weight: w, capacity: 100}
			sum += w
		}
		var place Place
		got := map[models.OrgID]int{}
		rounds := rapid.IntRange(1, 3).Draw(t, "rounds")
		for range rounds * sum {
			start := place.after()
			i := slices.IndexFunc(circle, func(l orgLine) bool { return bytes.Compare(l.org[:], start[:]) > 0 })
			lines := []orgLine{circle[max(i, 0)]}
			share(1, lines)
			got[lines[0].org]++
			var more bool
			if place, more = place.next(1, lines, map[models.OrgID]int{lines[0].org: 1}); !more {
				t.Fatal("nothing more is to be had")
			}
		}
		for _, l := range circle {
			if got[l.org] != rounds*l.weight {
				t.Fatalf("with weight %d of %d, %d of %d turns", l.weight, sum, got[l.org], rounds*sum)
			}
		}
	})
}
