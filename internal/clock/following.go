package clock

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Source returns the time of the clock that several processes share: store.DB.Now is that of their database.
type Source func(ctx context.Context) (time.Time, error)

// FollowConfig is what Follow needs.
type FollowConfig struct {
	Source Source
	Logger *slog.Logger
	// Machine is this machine's clock, of which only differences between two times count. Defaults to System.
	Machine Clock
	// Ticks tells when to measure again; a ticker of two seconds when it is nil.
	Ticks <-chan time.Time
}

const (
	followInterval = 2 * time.Second
	// followPatience is how long a measurement may take.
	followPatience = 5 * time.Second
	// followFirst is how many are taken at the start: the first one may have to connect and to prepare.
	followFirst = 5
	// followWindow is how many are remembered. Together they are so young that clocks that run differently have not parted.
	followWindow = 8
	// followNews is from which difference on a clock counts as set, and people are told.
	followNews = time.Second
	// followGrain is what times may be rounded to on their way here.
	followGrain = time.Microsecond
)

// Following is a clock that tells the time of another one, which it asks now and then. Times that decide something – deadlines,
// when something is due or expires – are written by one process and compared by others: by this clock they mean the same
// everywhere, however wrong the machines' clocks are.
//
// Telling the time asks nobody. It is the measured time plus what has passed since on this machine, by its monotonic clock where it has
// one: somebody who sets the machine's clock moves nothing. It goes back only when the other one was set back, by a second or more:
// standing still for so long would make everything late that is due after some time. What is less, it waits out.
type Following struct {
	cfg FollowConfig
	// begun is where the machine's clock stood, and zero that without its monotonic part: all times are counted from there.
	begun, zero time.Time
	// era ends when the other clock was set back.
	era atomic.Pointer[era]
	// samples are the last ones, the oldest first. Only one goroutine measures at a time.
	samples []sample

	once sync.Once
	stop context.CancelFunc
	done chan struct{}
}

// era is a span in which no time comes after a later one: ahead is what is added to the time since begun, and latest the highest sum that
// was given; in nanoseconds.
type era struct{ ahead, latest atomic.Int64 }

func newEra(ahead time.Duration) *era {
	e := &era{}
	e.ahead.Store(int64(ahead))
	e.latest.Store(math.MinInt64)
	return e
}

// sample is one measurement: the other clock is ahead by this much, give or take err.
type sample struct{ ahead, err time.Duration }

// Follow measures how far the other clock is from this machine's, and goes on doing so until Stop. It fails when the source does.
func Follow(ctx context.Context, cfg FollowConfig) (*Following, error) {
	f := newFollowing(cfg)
	for range followFirst {
		if err := f.measure(ctx); err != nil {
			return nil, err
		}
	}
	if ahead := f.ahead(); ahead.Abs() >= followNews {
		cfg.Logger.Warn("this machine's clock differs from the database's, which is used", "the database is ahead by", ahead)
	}
	ctx, f.stop = context.WithCancel(context.Background()) //nolint:gosec // G118: Stop calls it
	go f.run(ctx)
	return f, nil
}

func newFollowing(cfg FollowConfig) *Following {
	if cfg.Machine == nil {
		cfg.Machine = System{}
	}
	f := &Following{cfg: cfg, begun: cfg.Machine.Now(), done: make(chan struct{})}
	f.zero = f.begun.Round(0)
	f.era.Store(newEra(0))
	return f
}

// Stop ends the measuring, and waits until nothing of it runs. The clock goes on as it was. It may be called more than once.
func (f *Following) Stop() {
	f.once.Do(f.stop)
	<-f.done
}

// Now implements Clock. The time has no monotonic part: its differences to others of this clock are right without.
func (f *Following) Now() time.Time {
	e := f.era.Load()
	now := int64(f.passed()) + e.ahead.Load()
	for {
		latest := e.latest.Load()
		if now <= latest {
			return f.zero.Add(time.Duration(latest))
		}
		if e.latest.CompareAndSwap(latest, now) {
			return f.zero.Add(time.Duration(now))
		}
	}
}

func (f *Following) ahead() time.Duration { return time.Duration(f.era.Load().ahead.Load()) }

// passed is how much time has passed on this machine.
func (f *Following) passed() time.Duration { return f.cfg.Machine.Now().Sub(f.begun) }

func (f *Following) run(ctx context.Context) {
	defer close(f.done)
	Every(ctx, followInterval, f.cfg.Ticks, func() {
		before := f.ahead()
		if err := f.measure(ctx); err != nil {
			if ctx.Err() == nil {
				f.cfg.Logger.Warn("the database's clock can't be read; the last known difference is used", "error", err)
			}
			return
		}
		if by := f.ahead() - before; by.Abs() >= followNews {
			f.cfg.Logger.Warn("the database's clock was changed, and this process follows it", "by", by)
		}
	})
}

// measure asks the source once. What it tells was true at some moment between question and answer: at half of the way it is wrong
// by half of the way at most.
func (f *Following) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, followPatience)
	defer cancel()
	asked := f.passed()
	answer, err := f.cfg.Source(ctx)
	if err != nil {
		return fmt.Errorf("read the database's clock: %w", err)
	}
	way := f.passed() - asked
	f.note(sample{ahead: answer.Sub(f.zero) - asked - way/2, err: way - way/2 + followGrain})
	return nil
}

// note goes by the best sample of the last ones: that of the shortest way, and of the youngest among those.
func (f *Following) note(s sample) {
	best, set := s, false
	for _, old := range f.samples {
		if (old.ahead - s.ahead).Abs() > old.err+s.err {
			// Both can't be true: one of the clocks was set, or they have parted. What was measured before says nothing any more.
			best, f.samples, set = s, nil, true
			break
		}
		if old.err < best.err {
			best = old
		}
	}
	if len(f.samples) == followWindow {
		f.samples = f.samples[1:]
	}
	f.samples = append(f.samples, s)
	if set && f.ahead()-best.ahead >= followNews {
		f.era.Store(newEra(best.ahead))
		return
	}
	f.era.Load().ahead.Store(int64(best.ahead))
}
