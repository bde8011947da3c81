package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// RepeatableFor is how long a request may be repeated under its idempotency key.
const RepeatableFor = 24 * time.Hour

// Repeated answers a request from what its key was used for before. found is false when the key is new, or too old.
func Repeated[T any](tx *Tx, hash []byte) (result T, found bool, err error) {
	if found, err := RepeatOf(tx.Known, hash, tx.Now); !found || err != nil {
		return result, false, err
	}
	if err := json.Unmarshal(tx.Known.Result, &result); err != nil {
		return result, false, fmt.Errorf("read the answer under an idempotency key: %w", err)
	}
	return result, true, nil
}

// RepeatOf reports whether a request is that for which its key was used before: not when the key, nil for a new one, has expired by now. Another
// request under the same key is fault.IdempotencyMismatch.
func RepeatOf(known *models.IdempotencyKey, hash []byte, now models.Millis) (bool, error) {
	if known == nil || known.ExpiresAt <= now {
		return false, nil
	}
	if !bytes.Equal(known.InputHash, hash) {
		return false, fault.New(fault.IdempotencyMismatch,
			"The idempotency key was used before with a different input; use a new one.").At("input", "idempotencyKey")
	}
	return true, nil
}
