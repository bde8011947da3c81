package sessions

import (
	"context"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// kindsSince are the events that tell how the files and the plan of a session have changed.
var kindsSince = []models.EventKind{models.EventFileWritten, models.EventTurnStarted}

// since is what happened to the files and the plan of a session after the end of a turn. Events say what was at a path before them, so the
// first one about a path tells what was there at the end of the turn: what came earlier need not be looked at.
type since struct {
	// before is what was at the paths that were touched; nil for nothing. now is how many bytes are there by now.
	before map[string]*models.SessionFile
	now    map[string]int64
	// unknown are paths of which that is not known: their events are from before they told it.
	unknown map[string]bool
	// turn is when the first turn began; nil when none has.
	turn *models.Millis
}

func (s since) clone() since {
	s.before, s.now, s.unknown = maps.Clone(s.before), maps.Clone(s.now), maps.Clone(s.unknown)
	if s.before == nil {
		s.before, s.now, s.unknown = map[string]*models.SessionFile{}, map[string]int64{}, map[string]bool{}
	}
	return s
}

// add takes in the next event.
func (s *since) add(e models.Event) error {
	p, err := events.Decode(e.Kind, e.Data)
	if err != nil {
		return fmt.Errorf("read what was written to the files of %s: %w", e.SessionID, err)
	}
	switch p := p.(type) {
	case events.TurnStarted:
		if s.turn == nil {
			s.turn = &e.OccurredAt
		}
	case events.FileWritten:
		return s.written(p)
	}
	return nil
}

func (s *since) written(p events.FileWritten) error {
	for _, dir := range p.Directories {
		if !s.seen(dir) {
			s.before[dir] = nil
		}
		s.now[dir] = 0
	}
	if !s.seen(p.Path) {
		switch {
		case p.Before != nil:
			hash, err := hex.DecodeString(p.Before.Hash)
			if err != nil {
				return fmt.Errorf("the hash of %s is not one: %w", p.Path, err)
			}
			f := &models.SessionFile{
				Path: p.Path, Directory: len(hash) == 0, Readonly: p.Before.Readonly, Size: p.Before.Size, Encoding: p.Before.Encoding,
				UpdatedAt: p.Before.UpdatedAt,
			}
			if len(hash) > 0 {
				f.Hash = hash
			}
			s.before[p.Path] = f
		case p.Created:
			s.before[p.Path] = nil
		default:
			s.before[p.Path], s.unknown[p.Path] = nil, true
		}
	}
	s.now[p.Path] = p.Size
	return nil
}

func (s *since) seen(path string) bool {
	_, ok := s.before[path]
	return ok
}

// bytes returns how much larger the files were.
func (s *since) bytes() (n int64) {
	for _, f := range s.before {
		if f != nil {
			n += f.Size
		}
	}
	for _, size := range s.now {
		n -= size
	}
	return n
}

// files returns the entries that were there, and the paths where nothing was.
func (s *since) files() (files []models.SessionFile, gone []string) {
	for _, path := range slices.Sorted(maps.Keys(s.before)) {
		if f := s.before[path]; f != nil {
			files = append(files, *f)
		} else {
			gone = append(gone, path)
		}
	}
	return files, gone
}

// sincePage is how many events are read at once.
const sincePage = 500

// lookPast reads what has happened past the end of the turn, as far as it is known how far the log goes. What comes later is
// seen under the lock.
func (s *Service) lookPast(ctx context.Context, c *forkSession) error {
	c.since = since{}.clone()
	turns := events.PageQuery{Base: c.checked.BaseSequence, After: &c.through, Before: new(c.known + 1), Limit: 1, Kinds: kindsSince[1:]}
	list, err := s.log.Page(ctx, c.by.OrgID, c.in.SessionID, turns)
	if err != nil {
		return err //nolint:wrapcheck // it says what was read
	}
	err = s.eachWrite(ctx, c, c.through, c.known+1, c.since.add)
	if len(list) > 0 && err == nil {
		err = c.since.add(list[0])
	}
	if err != nil || len(c.since.unknown) == 0 {
		return err
	}
	if err := s.lookBack(ctx, c); err != nil {
		return err
	}
	clear(c.since.unknown)
	return nil
}

// eachWrite gives what was written to the files of the original between two sequences, both exclusive.
func (s *Service) eachWrite(ctx context.Context, c *forkSession, after, before int64, fn func(models.Event) error) error {
	for {
		list, err := s.log.Page(ctx, c.by.OrgID, c.in.SessionID, events.PageQuery{
			Base: c.checked.BaseSequence, After: &after, Before: &before, Limit: sincePage, Kinds: kindsSince[:1],
		})
		if err != nil {
			return err //nolint:wrapcheck // it says what was read
		}
		for _, e := range list {
			if err := fn(e); err != nil {
				return err
			}
		}
		if len(list) < sincePage {
			return nil
		}
		after = list[len(list)-1].Sequence
	}
}

// lookBack finds out what files were whose later events are too old to tell it: from all that was written before.
func (s *Service) lookBack(ctx context.Context, c *forkSession) error {
	return s.eachWrite(ctx, c, 0, c.through+1, func(e models.Event) error {
		payload, err := events.Decode(e.Kind, e.Data)
		p, ok := payload.(events.FileWritten)
		if err != nil || !ok || !c.since.unknown[p.Path] {
			return err //nolint:wrapcheck // it says what can't be read
		}
		c.since.before[p.Path] = nil
		if p.Deleted {
			return nil
		}
		hash, err := hex.DecodeString(p.Hash)
		if err != nil {
			return fmt.Errorf("the hash of %s is not one: %w", p.Path, err)
		}
		// How it was shown isn't known; this can show anything.
		c.since.before[p.Path] = &models.SessionFile{Path: p.Path, Size: p.Size, Hash: hash, Encoding: tools.EncodingBase64, UpdatedAt: e.OccurredAt}
		for _, dir := range parents(p.Path) {
			if !c.since.seen(dir) {
				c.since.before[dir] = &models.SessionFile{Path: dir, Directory: true, UpdatedAt: e.OccurredAt}
			}
		}
		return nil
	})
}
