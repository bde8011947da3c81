package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ostler-dev/ostler/bench/report"
	"github.com/ostler-dev/ostler/internal/apiclient"
)

// foreignThings is how many things of each kind the other organization has: one alone would stay in every cache.
const foreignThings = 64

// foreignRequests is how many requests of each sort S1 makes in a pair: in all, fewer than an organization may make in a minute.
const foreignRequests = 500

// asked is an operation that S1 asks with ids of others.
type asked struct{ name, kind, query string }

func askedWithIDs() []asked {
	return []asked{
		{"node(id) of a session", "sess", `query($id: ID!) { node(id: $id) { id } }`},
		{"session(id)", "sess", `query($id: ID!) { session(id: $id) { id title status } }`},
		{"agent(id)", "agent", `query($id: ID!) { agent(id: $id) { id name } }`},
		{"updateSession(id)", "sess", `mutation($id: ID!) { updateSession(id: $id, input: {title: "changed"}) { session { id } userErrors { code message path } } }`},
		{"updateAgent(id)", "agent", `mutation($id: ID!) { updateAgent(id: $id, input: {description: "changed"}) { agent { id } userErrors { code message path } } }`},
	}
}

// foreignIDs takes S1: how long an answer takes for ids of another organization, against ids that nobody has.
func (b *bench) foreignIDs(ctx context.Context, kind string) error {
	at, err := b.newPlace(ctx, kind)
	if err != nil {
		return err
	}
	with := setup()
	with.Orgs = 2
	s, err := b.startSystemWith(ctx, kind, noFloor, at, with)
	if err != nil {
		return err
	}
	return s.end(ctx, s.takeForeignIDs(ctx))
}

func (s *system) takeForeignIDs(ctx context.Context) error {
	own, err := s.api.Org(0).CreateSessions(ctx, 1)
	if err != nil {
		return err
	}
	sessions, err := s.api.Org(1).CreateSessions(ctx, foreignThings)
	if err != nil {
		return err
	}
	foreign := map[string][]string{}
	for i, session := range sessions {
		var made struct {
			CreateAgent struct{ Agent struct{ ID string } }
		}
		err := session.API.Do(ctx, `mutation($name: String!) { createAgent(input: {name: $name, systemPrompt: ""}) { agent { id } userErrors { code message path } } }`,
			map[string]any{"name": fmt.Sprintf("theirs-%d", i)}, &made)
		if err != nil {
			return err
		}
		foreign["sess"] = append(foreign["sess"], session.ID)
		foreign["agent"] = append(foreign["agent"], made.CreateAgent.Agent.ID)
	}
	requests := foreignRequests
	if s.small {
		requests = 100
	}
	for _, o := range askedWithIDs() {
		if err := s.tellApart(ctx, own[0].API, o, foreign[o.kind], requests); err != nil {
			return fmt.Errorf("%s: %w", o.name, err)
		}
	}
	return nil
}

// tellApart asks with foreign and unknown ids in turn. Which of the two is first changes, so that neither always finds what the other one has
// warmed up.
func (s *system) tellApart(ctx context.Context, api *apiclient.Client, o asked, foreign []string, requests int) error {
	var all [2][]float64 // foreign, unknown
	var pairs []float64
	for pair := range s.pairs + 1 { // the first one only warms up
		var took [2][]float64
		for i := range requests {
			theirs := foreign[i%len(foreign)]
			nobodys, err := unknownLike(theirs)
			if err != nil {
				return err
			}
			ids := [2]string{theirs, nobodys}
			var answers [2][]byte
			for turn := range 2 {
				which := (i + turn) % 2
				body, err := apiclient.Document(o.query, map[string]any{"id": ids[which]})
				if err != nil {
					return err
				}
				begun := time.Now()
				r, err := api.Post(ctx, body)
				elapsed := time.Since(begun)
				if err != nil {
					return err
				}
				if r.Status != 200 {
					return fmt.Errorf("the answer is %d: %s", r.Status, r.Body)
				}
				took[which] = append(took[which], millis(elapsed))
				answers[which] = bytes.ReplaceAll(r.Body, []byte(ids[which]), nil)
			}
			// An answer that tells the two apart, or is none, needs no clock.
			if !denied(answers[0]) || !bytes.Equal(answers[0], answers[1]) {
				return fmt.Errorf("a foreign id is answered with %s, one that nobody has with %s", answers[0], answers[1])
			}
		}
		if pair > 0 {
			all[0], all[1] = append(all[0], took[0]...), append(all[1], took[1]...)
			pairs = append(pairs, report.Median(took[0])/report.Median(took[1]))
		}
	}
	theirs, nobodys := report.Median(all[0]), report.Median(all[1])
	s.add(report.Figure{
		ID: "S1", Name: o.name + ": |foreign ÷ unknown − 1|, p50", Value: math.Abs(theirs/nobodys - 1), Target: report.AtMost(0.05),
		Note: fmt.Sprintf("foreign %.3f ms, unknown %.3f ms, %d requests each; pairs %s", theirs, nobodys, len(all[0]), ratiosText(pairs)),
	})
	return nil
}

func ratiosText(ratios []float64) string {
	texts := make([]string, len(ratios))
	for i, r := range ratios {
		texts[i] = fmt.Sprintf("%.3f", r)
	}
	return strings.Join(texts, " ")
}

// unknownLike returns an id of the same moment as another one, with another random part, so that indexes are searched in the same place.
func unknownLike(id string) (string, error) {
	prefix, digits, _ := strings.Cut(id, "_")
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) != 16 {
		return "", fmt.Errorf("%q is no id", id)
	}
	random := uuid.New()
	copy(key[8:], random[8:])
	return prefix + "_" + hex.EncodeToString(key), nil
}

// denied reports whether an answer says that there is no such thing.
func denied(answer []byte) bool {
	return bytes.Contains(answer, []byte(`":null`)) && (!bytes.Contains(answer, []byte(`"errors"`)) && !bytes.Contains(answer, []byte(`"userErrors"`)) ||
		bytes.Contains(answer, []byte(`"NOT_FOUND"`)))
}
