package runtime

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// An actor is a coroutine of the simulation: it runs until it waits, and goes on when the schedule says so. Of all actors exactly
// one runs at any time, in lockstep with the scheduler, so that what happens depends on the seed alone.
type actor struct {
	name string
	// of is the process that it dies with; nil for the world outside.
	of *simNode
	// ready reports whether what it waits for is there; nil when it can always go on.
	ready func() bool
	// turn is sent to when it may run: false to make it end where it is, as a process does that is killed.
	turn chan bool
	// gone tells that it has ended, dying that it is about to.
	gone, dying bool
	// loop is true when it goes on as long as its process does.
	loop bool
}

// actors are all coroutines of a simulation, in the order in which they came.
type actors struct {
	list    []*actor
	current *actor
	// back is sent to by the one that ran when it waits or ends.
	back chan struct{}
	// broke hears of panics.
	broke func(who string, v any)
}

// spawn makes an actor that runs when it is chosen for the first time.
func (a *actors) spawn(name string, of *simNode, fn func()) *actor {
	c := &actor{name: name, of: of, turn: make(chan bool)}
	a.list = append(a.list, c)
	go func() {
		defer func() {
			if v := recover(); v != nil {
				a.broke(c.name, fmt.Sprintf("%v\n%s", v, debug.Stack()))
			}
			c.gone = true
			a.back <- struct{}{}
		}()
		if <-c.turn {
			fn()
		}
	}()
	return c
}

// wait lets others run until the schedule chooses this actor again, and what it waits for is there.
func (a *actors) wait(ready func() bool) {
	c := a.current
	if c == nil || c.dying {
		return // the scheduler itself, or what an actor does on its way out
	}
	c.ready = ready
	a.back <- struct{}{}
	if !<-c.turn {
		c.dying = true
		runtime.Goexit()
	}
	c.ready = nil
}

// run lets an actor run until it waits or ends.
func (a *actors) run(c *actor) { a.switchTo(c, true) }

// kill ends an actor where it waits.
func (a *actors) kill(c *actor) {
	if !c.gone {
		a.switchTo(c, false)
	}
}

func (a *actors) switchTo(c *actor, goOn bool) {
	a.current = c
	c.turn <- goOn
	<-a.back
	a.current = nil
}

// sweep forgets those that have ended.
func (a *actors) sweep() {
	kept := a.list[:0]
	for _, c := range a.list {
		if !c.gone {
			kept = append(kept, c)
		}
	}
	clear(a.list[len(kept):])
	a.list = kept
}

// killAll ends those that belong to a process, or all.
func (a *actors) killAll(of *simNode) {
	for _, c := range a.list {
		if of == nil || c.of == of {
			a.kill(c)
		}
	}
	a.sweep()
}

// runnable returns those that could go on now.
func (a *actors) runnable() []*actor {
	var list []*actor
	for _, c := range a.list {
		if (c.of == nil || !c.of.frozen) && (c.ready == nil || c.ready()) {
			list = append(list, c)
		}
	}
	return list
}
