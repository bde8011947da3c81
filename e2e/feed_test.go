package e2e

import (
	"slices"
	"strings"
	"testing"
)

// The alias lets a subscription read it.
const orgEvents = `subscription($after: Cursor, $agent: ID) { sessionEvents: orgEvents(after: $after, agentId: $agent) {
	kind sequence turnId data cursor sessionId } }`

func (c *client) follow(t *testing.T, after, agent string) *subscription {
	t.Helper()
	vars := map[string]any{"after": after}
	if agent != "" {
		vars["agent"] = agent
	}
	return c.subscribeTo(t, orgEvents, vars)
}

// lifecycle returns what must be in the feed of a session's log.
func lifecycle(log []event) (kinds []string) {
	for _, e := range log {
		if strings.HasPrefix(e.Kind, "SESSION_") || strings.HasPrefix(e.Kind, "TURN_") {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// of returns the events of a session, and fails unless they are in the order of its log.
func of(t *testing.T, feed []event, session string) (kinds []string) {
	t.Helper()
	last := 0
	for _, e := range feed {
		if e.SessionID != session {
			continue
		}
		if e.Sequence <= last {
			t.Errorf("%s came after %d", e, last)
		}
		last = e.Sequence
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

// checkFeed compares a feed, as a reader got it, with the logs of all its sessions.
func checkFeed(t *testing.T, c *client, feed []event, sessions ...string) {
	t.Helper()
	cursors := map[string]bool{}
	for _, e := range feed {
		if e.Kind == "CAUGHT_UP" {
			continue
		}
		if cursors[e.Cursor] || !slices.Contains(sessions, e.SessionID) {
			t.Errorf("%s of %s came twice, or has no business here", e, e.SessionID)
		}
		cursors[e.Cursor] = true
	}
	for _, s := range sessions {
		if got, want := of(t, feed, s), lifecycle(c.history(t, s)); !slices.Equal(got, want) {
			t.Errorf("the feed has of %s\n%v, the log\n%v", s, got, want)
		}
	}
}

// TestFollowingAnOrganization follows two organizations through turns and a restart.
func TestFollowingAnOrganization(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, place *place) {
		p := start(t, place.env)
		c := signIn(t, p)
		other := c.secondOrg(t, p, "Second")
		one, two := c.agent(t, "one", "sim-echo"), c.agent(t, "two", "sim-echo")
		all, foreign := c.follow(t, "start", ""), other.follow(t, "start", "")
		mine := c.follow(t, "start", one)
		idle := func(s *subscription, n int) []event { t.Helper(); return s.untilKind(t, "SESSION_IDLED", n) }
		var sessions []string
		for i, agent := range []string{one, two, one} {
			sessions = append(sessions, c.session(t, agent))
			c.message(t, sessions[i], "hello")
			idle(all, i+1)
		}
		stranger := other.session(t, other.agent(t, "else", "sim-echo"))
		other.message(t, stranger, "hello")
		feed := idle(all, 3)
		checkFeed(t, c, feed, sessions...)
		checkFeed(t, other, idle(foreign, 1), stranger)
		checkFeed(t, c, idle(mine, 2), sessions[0], sessions[2])

		// Whoever resumes anywhere sees what comes behind it.
		middle := feed[len(feed)/2]
		rest := c.follow(t, middle.Cursor, "").untilKind(t, "CAUGHT_UP", 1)
		if got, want := len(rest), len(feed)-len(feed)/2-1+1; got != want {
			t.Errorf("%d events after the middle, want %d", got, want)
		}
		p.terminate(t)
		p = p.again(t, place.env)
		c = c.at(p)
		again := c.follow(t, feed[len(feed)-1].Cursor, "")
		again.untilKind(t, "CAUGHT_UP", 1)
		c.message(t, sessions[1], "more")
		checkFeed(t, c, append(feed, idle(again, 1)...), sessions...)
	})
}

// TestFollowingAnOrganizationAcrossNodes has turns run elsewhere, and takes the bus away in between.
func TestFollowingAnOrganizationAcrossNodes(t *testing.T) {
	t.Parallel()
	cluster := newCluster(t)
	first, second := cluster.api(t), cluster.api(t)
	cluster.runner(t)
	cluster.runner(t)
	c := signIn(t, first)
	agent := c.agent(t, "one", "sim-echo")
	here, there := c.follow(t, "start", ""), c.at(second).follow(t, "start", agent)
	var sessions []string
	run := func(n int) {
		t.Helper()
		for range n {
			s := c.session(t, agent)
			sessions = append(sessions, s)
			c.message(t, s, "hello")
		}
		for _, s := range []*subscription{here, there} {
			checkFeed(t, c, s.untilKind(t, "SESSION_IDLED", len(sessions)), sessions...)
		}
	}
	run(5)
	cluster.bus.kill()
	run(3)
	cluster.bus.start(t)
	run(5)
}
