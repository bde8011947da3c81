package shares_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/ostler-dev/ostler/internal/shares"
)

func TestTheLastQuarterIsForKeysThatHoldNone(t *testing.T) {
	s := shares.Shares[string]{Places: 8}
	for i := range 6 {
		if !s.Try("flood", 1) {
			t.Fatalf("place %d of 6 was refused", i+1)
		}
	}
	if s.Try("flood", 1) {
		t.Error("one key took of the last quarter")
	}
	if full, all := s.Full(); !slices.Equal(full, []string{"flood"}) || all {
		t.Errorf("full are %v, all: %t", full, all)
	}
	if !s.Try("other", 1) {
		t.Error("a key that holds none was refused")
	}
	if s.Try("other", 1) {
		t.Error("its second place came of the last quarter")
	}
	if !s.Try("third", 1) || s.Try("fourth", 1) {
		t.Error("there are not eight places")
	}
	if _, all := s.Full(); !all {
		t.Error("all places are taken, and it isn't said")
	}
}

func TestOneKeyHoldsNoMoreThanEach(t *testing.T) {
	s := shares.Shares[string]{Places: 64, Each: 2}
	if !s.Try("a", 2) || s.Try("a", 1) || !s.Try("b", 1) {
		t.Error("a key holds two at most, whatever others hold")
	}
	s.Leave("a", 1)
	if !s.Try("a", 1) {
		t.Error("a place that was given back can't be taken")
	}
}

func TestLeastIsWhatAKeyMayTakeOfTheLastQuarter(t *testing.T) {
	s := shares.Shares[string]{Places: 80, Least: 10}
	if !s.Try("flood", 60) || s.Try("flood", 1) {
		t.Error("three quarters are for everybody, and no more")
	}
	if !s.Try("other", 4) || !s.Try("other", 6) || s.Try("other", 1) {
		t.Error("another key takes ten of the last quarter, one after the other")
	}
}

// Each key has its turn, whatever the length of its line, and those who were proved to be known come before all.
func TestKeysAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shares.Shares[string]{Places: 1}
		if !s.Try("flood", 1) {
			t.Fatal("the first place was refused")
		}
		var order []string
		arrive := func(name, key string, wait func(context.Context, string) error) {
			go func() {
				if wait(t.Context(), key) == nil {
					order = append(order, name)
					s.Leave(key, 1)
				}
			}()
			synctest.Wait()
		}
		for i := range 3 {
			arrive(fmt.Sprint("flood ", i), "flood", s.Wait)
		}
		arrive("other 0", "other", s.Wait)
		arrive("other 1", "other", s.Wait)
		arrive("known", "flood", s.WaitFirst)
		s.Leave("flood", 1)
		synctest.Wait()
		if want := []string{"known", "flood 0", "other 0", "flood 1", "other 1", "flood 2"}; !slices.Equal(order, want) {
			t.Errorf("the order was %q, want %q", order, want)
		}
	})
}

func TestWhoGivesUpHoldsNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shares.Shares[string]{Places: 1}
		ctx, cancel := context.WithCancel(t.Context())
		s.Try("a", 1)
		got := make(chan error, 2)
		go func() { got <- s.Wait(ctx, "b") }()
		synctest.Wait()
		go func() { got <- s.Wait(t.Context(), "b") }()
		synctest.Wait()
		cancel()
		if err := <-got; !errors.Is(err, context.Canceled) {
			t.Errorf("who gave up got %v", err)
		}
		s.Leave("a", 1)
		if err := <-got; err != nil || s.Held("b") != 1 {
			t.Errorf("the one behind got %v, and b holds %d", err, s.Held("b"))
		}
		if err := s.Wait(ctx, "c"); !errors.Is(err, context.Canceled) || s.Held("c") != 0 {
			t.Errorf("who had given up before got %v", err)
		}
	})
}

// asker is somebody who waits for a place, or holds one.
type asker struct {
	key    int
	cancel context.CancelFunc
	err    error
	done   bool
}

// Whatever is done in whatever order: no bound is passed, nobody waits for a place that they may have, and in the end all places are back.
func TestSharesUnderRandomUse(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		s := &shares.Shares[int]{Places: rapid.IntRange(1, 12).Draw(rt, "places"), Each: rapid.IntRange(0, 5).Draw(rt, "each")}
		steps := rapid.SliceOfN(rapid.IntRange(0, 1<<10), 1, 60).Draw(rt, "steps")
		var problem string
		synctest.Test(t, func(t *testing.T) { problem = play(t, s, steps) })
		if problem != "" {
			rt.Fatal(problem)
		}
	})
}

func play(t *testing.T, s *shares.Shares[int], steps []int) string {
	var all []*asker
	for _, step := range steps {
		key, pick := step%4, step/16
		switch step / 4 % 4 {
		case 0, 1:
			ctx, cancel := context.WithCancel(t.Context())
			a := &asker{key: key, cancel: cancel}
			all = append(all, a)
			wait := s.Wait
			if step/4%4 == 1 {
				wait = s.WaitFirst
			}
			go func() { a.err = wait(ctx, key); a.done = true }()
		case 2:
			if s.Try(key, 1) {
				all = append(all, &asker{key: key, cancel: func() {}, done: true})
			}
		case 3:
			if len(all) == 0 {
				continue
			}
			a := all[pick%len(all)]
			a.cancel()
			synctest.Wait()
			if a.err == nil {
				s.Leave(a.key, 1)
			}
			all = slices.DeleteFunc(all, func(b *asker) bool { return a == b })
		}
		synctest.Wait()
		if problem := judge(s, all); problem != "" {
			return problem
		}
	}
	for _, a := range all {
		a.cancel()
	}
	synctest.Wait()
	for _, a := range all {
		if a.err == nil {
			s.Leave(a.key, 1)
		}
	}
	for key := range 4 {
		if n := s.Held(key); n != 0 {
			return fmt.Sprintf("key %d holds %d in the end", key, n)
		}
	}
	return ""
}

func judge(s *shares.Shares[int], all []*asker) string {
	var held, waiting [4]int
	sum := 0
	for _, a := range all {
		if !a.done {
			waiting[a.key]++
		} else {
			held[a.key]++
			sum++
		}
	}
	full, none := s.Full()
	if sum > s.Places || none != (sum == s.Places) {
		return fmt.Sprintf("%d of %d places are held, none left: %t", sum, s.Places, none)
	}
	for key, n := range held {
		if s.Held(key) != n || s.Each > 0 && n > s.Each || s.Places >= 4 && n > s.Places-s.Places/4 {
			return fmt.Sprintf("key %d holds %d, Held says %d, of %d, each %d", key, n, s.Held(key), s.Places, s.Each)
		}
		if waiting[key] > 0 && !none && !slices.Contains(full, key) {
			return fmt.Sprintf("key %d waits, and may have a place", key)
		}
	}
	return ""
}
