package budget

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/ostler-dev/ostler/internal/models"
)

// windowBuckets is how many buckets a rolling window has.
const windowBuckets = 60

// Bucket is what was spent in one part of a rolling window.
type Bucket struct {
	// Slot is the number of BucketLength periods since 1970, and Newest the time of the newest posting in it.
	Slot   int64         `json:"slot"`
	Newest models.Millis `json:"newest"`
	Spent  models.Amount `json:"spent"`
}

// BucketLength is the length of a rolling budget's buckets. It is rounded up, so that a window never touches more than one bucket beyond
// its sixty.
func BucketLength(b *models.Budget) models.Millis {
	return max((PeriodLength(b)+windowBuckets-1)/windowBuckets, 1)
}

// slotOf numbers the bucket that a time is in.
func slotOf(b *models.Budget, at models.Millis) int64 { return int64(max(at, 0) / BucketLength(b)) }

// Buckets returns the buckets of a rolling budget, oldest first; false when they can't be read. Then nothing leaves the window any more, and
// the limit holds, until the row is repaired.
func Buckets(b *models.Budget) ([]Bucket, bool) {
	if len(b.Buckets) == 0 {
		return nil, true
	}
	var list []Bucket
	err := json.Unmarshal(b.Buckets, &list)
	return list, err == nil
}

// writeBuckets keeps the buckets, with their sum.
func writeBuckets(b *models.Budget, list []Bucket) {
	b.Spent, b.Buckets = 0, nil
	if len(list) == 0 {
		return
	}
	for _, k := range list {
		b.Spent = add(b.Spent, k.Spent)
	}
	data, err := json.Marshal(list)
	if err != nil {
		panic(err) // they are numbers
	}
	b.Buckets = data
}

// roll drops the buckets that have left the window, each when its newest posting is out, so that never too little is counted. What came
// about in a period came about within a window's length here: who was warned is not warned again, and who let a session go on past the
// soft limit is not asked again, each time that a bucket leaves and the next call fills its place.
func roll(b *models.Budget, now models.Millis) {
	window := PeriodLength(b)
	if list, ok := Buckets(b); ok && window > 0 {
		in := slices.DeleteFunc(list, func(k Bucket) bool { return k.Newest <= now-window })
		if len(in) < len(list) {
			writeBuckets(b, in)
			if Balance(b) > 0 {
				b.ExhaustedAt = nil
			}
		}
	}
	if b.ExhaustedAt != nil && now-*b.ExhaustedAt >= window && Balance(b) > 0 {
		b.ExhaustedAt = nil // by a call that was too large, with little or nothing spent
	}
	if b.WarnedAt != nil && now-*b.WarnedAt >= window && !nearLimit(b) {
		b.WarnedAt = nil
	}
	if b.SoftPassedAt != nil && now-*b.SoftPassedAt >= window && window > 0 {
		if OverSoft(b) {
			// Still past it a window later: that asks anew, from a moment that follows from the row alone.
			b.SoftPassedAt = (now - (now-*b.SoftPassedAt)%window).Ptr()
		} else {
			b.SoftPassedAt = nil
		}
	}
}

// enter adds a debit to the bucket of now, wherever it is in the list: clocks of different nodes differ, and go back.
func enter(b *models.Budget, amount models.Amount, now models.Millis) {
	list, ok := Buckets(b)
	if !ok {
		b.Spent = add(b.Spent, amount)
		return
	}
	slot := slotOf(b, now)
	at, found := slices.BinarySearchFunc(list, slot, func(k Bucket, slot int64) int { return cmp.Compare(k.Slot, slot) })
	if found {
		list[at].Spent, list[at].Newest = add(list[at].Spent, amount), max(list[at].Newest, now)
	} else {
		list = slices.Insert(list, at, Bucket{Slot: slot, Newest: now, Spent: amount})
	}
	if len(list) > windowBuckets+1 {
		// Only clocks that are far apart make more: the oldest one leaves together with the next then.
		list[1].Spent, list[1].Newest = add(list[0].Spent, list[1].Spent), max(list[0].Newest, list[1].Newest)
		list = list[1:]
	}
	writeBuckets(b, list)
}
