package orgs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/background"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// keyUseEvery is how far apart, in milliseconds, two stored uses of a key are: a busy key costs one write a minute.
	keyUseEvery = models.Millis(60_000)
	// keyUseFlush is how often uses are stored, away from the requests that they are of.
	keyUseFlush = 5 * time.Second
	// keyUseLimit bounds how many keys are remembered between two flushes, keyUseBatch how many one transaction writes.
	keyUseLimit = 10_000
	keyUseBatch = 500
	// keyUseLast is how long the last flush may take when the server stops.
	keyUseLast = 2 * time.Second
)

type ownKey struct {
	org models.OrgID
	id  models.APIKeyID
}

// keyUses remembers when keys were used, until it is stored.
type keyUses struct {
	mu   sync.Mutex
	uses map[ownKey]models.Millis
}

// note remembers a use unless one was stored less than a minute before. It never waits for the database.
func (u *keyUses) note(k *models.APIKey, now models.Millis) {
	if k.LastUsedAt != nil && now < *k.LastUsedAt+keyUseEvery {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.uses == nil {
		u.uses = map[ownKey]models.Millis{}
	}
	key := ownKey{k.OrgID, k.ID}
	if _, known := u.uses[key]; known || len(u.uses) < keyUseLimit {
		u.uses[key] = now
	}
}

func (u *keyUses) take() map[ownKey]models.Millis {
	u.mu.Lock()
	defer u.mu.Unlock()
	taken := u.uses
	u.uses = nil
	return taken
}

// StoreKeyUses stores when keys were used last, as far as it isn't yet. What can't be stored is forgotten: the next use tells as much.
func (s *Service) StoreKeyUses(ctx context.Context) error {
	uses := s.keyUses.take()
	// All nodes lock the rows in one order.
	keys := slices.SortedFunc(maps.Keys(uses), func(a, b ownKey) int {
		if c := bytes.Compare(a.org[:], b.org[:]); c != 0 {
			return c
		}
		return bytes.Compare(a.id[:], b.id[:])
	})
	for batch := range slices.Chunk(keys, keyUseBatch) {
		err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
			for _, k := range batch {
				at := uses[k]
				err := store.Of(tx.Model(&models.APIKey{}), k.org).
					Where("id = ? AND (last_used_at IS NULL OR last_used_at <= ?)", k.id, at-keyUseEvery).Update("last_used_at", at).Error
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("store when API keys were used: %w", err)
		}
	}
	return nil
}

// KeyUseRecorder returns the job that stores uses of keys every few seconds, and the last ones when it is stopped.
func (s *Service) KeyUseRecorder(log *slog.Logger) *background.Job {
	return background.Every(log, "store when API keys were used", keyUseFlush, s.StoreKeyUses, background.AtStop(keyUseLast))
}
