package httpapi

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/models"
)

func TestTheCacheKeepsWhatWasUsedLast(t *testing.T) {
	t.Parallel()
	c := newFairCache[string, int](10 * (10 + entryOverhead))
	var org models.OrgID
	for i := range 50 {
		c.add(org, fmt.Sprint(i), i, 10)
		c.get("0")
	}
	if len(c.byKey) != 10 || c.used != c.capacity {
		t.Errorf("%d bytes in %d entries", c.used, len(c.byKey))
	}
	for key, want := range map[string]bool{"0": true, "49": true, "41": true, "40": false, "20": false} {
		if _, ok := c.get(key); ok != want {
			t.Errorf("%s is there: %v", key, ok)
		}
	}
	if c.add(org, "huge", 7, c.capacity); len(c.byKey) != 10 {
		t.Error("it made room for what is larger than itself")
	}
	if got := c.add(org, "49", 50, 10); got != 49 {
		t.Errorf("another value under the same key: got %d", got)
	}
}

// TestNobodyDrivesOutOthers has one organization bring ever new entries, by number and by size.
func TestNobodyDrivesOutOthers(t *testing.T) {
	t.Parallel()
	greedy := models.NewID[models.OrgEntity]()
	for _, size := range []int{1, 5000} {
		c := newFairCache[string, int](100_000)
		var others []string
		for i := range 20 {
			org := models.NewID[models.OrgEntity]()
			for j := range 3 {
				key := fmt.Sprint(i, " ", j)
				others = append(others, key)
				c.add(org, key, j, 100)
			}
		}
		for i := range 1000 {
			c.add(greedy, fmt.Sprint("greedy ", i), i, size)
		}
		for _, key := range others {
			if _, ok := c.get(key); !ok {
				t.Errorf("with entries of %d bytes %q is gone", size, key)
			}
		}
		if c.used > c.capacity {
			t.Errorf("%d bytes of %d", c.used, c.capacity)
		}
	}
}

// TestTheCacheKeepsItsAccounts compares the accounts with what is there, whatever happens.
func TestTheCacheKeepsItsAccounts(t *testing.T) {
	t.Parallel()
	orgs := []models.OrgID{{}, models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()}
	rapid.Check(t, func(t *rapid.T) {
		c := newFairCache[int, int](8 * entryOverhead)
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			key := rapid.IntRange(0, 20).Draw(t, "key")
			if rapid.Bool().Draw(t, "get") {
				c.get(key)
				continue
			}
			before := map[models.OrgID]int{}
			for org, a := range c.accounts {
				before[org] = a.used
			}
			org := rapid.SampledFrom(orgs).Draw(t, "org")
			c.add(org, key, key, rapid.IntRange(0, 9*entryOverhead).Draw(t, "size"))
			for other, used := range before {
				if a := c.accounts[other]; other != org && used <= c.capacity/len(orgs) && (a == nil || a.used < used) {
					t.Fatalf("%v lost something, with %d bytes of %d for %d", other, used, c.capacity, len(orgs))
				}
			}
		}
		sum, entries := 0, 0
		for org, a := range c.accounts {
			used := 0
			for el := a.order.Front(); el != nil; el = el.Next() {
				entry := el.Value.(*cacheEntry[int, int])
				used += entry.weight
				if entry.owner != a || c.byKey[entry.key] != el {
					t.Fatalf("an entry of %v is on another account", org)
				}
			}
			if used != a.used || used == 0 || c.largest[a.place] != a || a.used > c.largest[0].used {
				t.Fatalf("the account of %v says %d, there are %d", org, a.used, used)
			}
			sum, entries = sum+used, entries+a.order.Len()
		}
		if sum != c.used || sum > c.capacity || entries != len(c.byKey) || len(c.largest) != len(c.accounts) {
			t.Fatalf("%d bytes and %d entries, it says %d and %d", sum, entries, c.used, len(c.byKey))
		}
	})
}

func TestCachedDocumentsAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *Config) { c.Limits.CachedDocumentBytes = 2 << 20 })
	for i := range 40 {
		b.query(fmt.Sprintf("{serverInfo{name}}#%d %s", i, strings.Repeat("x", 60_000)), nil)
	}
	c := b.server.engine.documents.parsed
	if c.used > c.capacity || c.used < c.capacity/2 {
		t.Errorf("%d bytes of %d", c.used, c.capacity)
	}
}
