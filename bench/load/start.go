package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/bench/client"
	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

const (
	emptyStarts    = 5
	existingStarts = 10
)

// startTimes takes P6: from the program's execution to the first answered list of agents.
func (b *bench) startTimes(ctx context.Context, kind string) error {
	var empty, hashing, existing []float64
	for i := range emptyStarts {
		place, err := b.newPlace(ctx, kind)
		if err != nil {
			return err
		}
		total, signIn, token, err := b.firstStart(ctx, place)
		if err == nil && i == 0 {
			existing, err = b.laterStarts(ctx, place, token)
		}
		if err = errors.Join(err, place.remove(ctx)); err != nil {
			return err
		}
		empty = append(empty, millis(total))
		hashing = append(hashing, millis(signIn))
	}
	b.run.Add(report.Figure{
		ID: "P6", Database: kind, Name: "exec → list of agents, nothing there yet", Unit: "ms", Samples: empty,
		Gate: report.AtMost(500), Target: report.AtMost(100),
		Note: fmt.Sprintf("with the first owner's password hash; a sign-in, mostly a hash, takes %.0f ms and isn't counted", report.Median(hashing)),
	})
	b.run.Add(report.Figure{
		ID: "P6", Database: kind, Name: "exec → list of agents, existing database", Unit: "ms", Samples: existing,
		Gate: report.AtMost(250), Target: report.AtMost(40), Note: "with a token made before",
	})
	return nil
}

// firstStart starts the product on nothing, signs in and lists agents. total leaves out the sign-in.
func (b *bench) firstStart(ctx context.Context, at *place) (total, signIn time.Duration, token string, err error) {
	p, err := b.startProduct(ctx, at)
	if err != nil {
		return 0, 0, "", err
	}
	api := apiclient.New(p.URL)
	before := time.Now()
	tokens, err := api.SignIn(ctx, ownerEmail, ownerPassword)
	signIn = time.Since(before)
	if err == nil {
		err = client.PageOfAgents(ctx, api.With(tokens))
		total = time.Since(p.Started) - signIn
	}
	return total, signIn, tokens.AccessToken, errors.Join(err, p.Stop())
}

func (b *bench) laterStarts(ctx context.Context, at *place, token string) ([]float64, error) {
	var times []float64
	for range existingStarts {
		p, err := b.startProduct(ctx, at)
		if err != nil {
			return nil, err
		}
		err = client.PageOfAgents(ctx, apiclient.New(p.URL).As(token))
		times = append(times, millis(time.Since(p.Started)))
		if err = errors.Join(err, p.Stop()); err != nil {
			return nil, err
		}
	}
	return times, nil
}
