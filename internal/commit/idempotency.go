package commit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/fault"
)

// RepeatableFor is how long a request may be repeated under its idempotency key.
const RepeatableFor = 24 * time.Hour

// Repeated answers a request from what its key was used for before. found is false when the key is new, or too old.
func Repeated[T any](tx *Tx, hash []byte) (result T, found bool, err error) {
	if tx.Known == nil || tx.Known.ExpiresAt <= tx.Now {
		return result, false, nil
	}
	if !bytes.Equal(tx.Known.InputHash, hash) {
		return result, false, fault.New(fault.IdempotencyMismatch,
			"The idempotency key was used before with a different input; use a new one.").At("input", "idempotencyKey")
	}
	if err := json.Unmarshal(tx.Known.Result, &result); err != nil {
		return result, false, fmt.Errorf("read the answer under an idempotency key: %w", err)
	}
	return result, true, nil
}
