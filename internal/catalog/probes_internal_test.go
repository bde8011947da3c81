package catalog

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/models"
)

func TestProbesAreLimitedPerOrganization(t *testing.T) {
	c := clock.NewManual(time.UnixMilli(1_700_000_000_000))
	p := newProbes(c)
	mine, theirs := models.NewID[models.OrgEntity](), models.NewID[models.OrgEntity]()
	var ends []func()
	for i := range maxProbesAtOnce {
		done, err := p.begin(mine)
		if err != nil {
			t.Fatalf("probe %d: %v", i, err)
		}
		ends = append(ends, done)
	}
	refused := func(what string, wait int) {
		t.Helper()
		if _, err := p.begin(mine); !fault.Is(err, fault.RateLimited) || fault.As(err).RetryAfterSeconds != wait {
			t.Fatalf("%s: %v, to be repeated after %d s", what, err, wait)
		}
	}
	refused("one more at once", 1)
	if done, err := p.begin(theirs); err != nil {
		t.Fatalf("another organization: %v", err)
	} else {
		done()
	}
	for _, done := range ends {
		done()
	}
	c.Advance(20 * time.Second)
	for i := maxProbesAtOnce; i < maxProbes; i++ {
		done, err := p.begin(mine)
		if err != nil {
			t.Fatalf("probe %d: %v", i, err)
		}
		done()
	}
	refused("one more within the minute", 40)
	c.Advance(40 * time.Second)
	done, err := p.begin(mine)
	if err != nil {
		t.Fatalf("a minute later: %v", err)
	}
	done()
	c.Advance(2 * probeWindow)
	if _, err := p.begin(theirs); err != nil || len(p.orgs) != 1 {
		t.Fatalf("%d organizations are remembered: %v", len(p.orgs), err)
	}
}

type listerFunc func(ctx context.Context) error

func (f listerFunc) Models(ctx context.Context, _ llm.Endpoint) ([]llm.ModelInfo, error) {
	return nil, f(ctx)
}

func TestAProviderThatDoesNotAnswerIsGivenUp(t *testing.T) {
	silent := listerFunc(func(ctx context.Context) error {
		<-ctx.Done()
		return llm.ConnectionError(ctx, errors.New("cut"))
	})
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, err := ask(t.Context(), silent, llm.Endpoint{})
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || e.Code != llm.CodeUnavailable || e.Message == "" || time.Since(began) != probeTimeout {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := ask(ctx, silent, llm.Endpoint{}); !errors.Is(err, context.Canceled) {
			t.Errorf("given up by the client: %v", err)
		}
	})
}
