package sessions

import (
	"context"
	"fmt"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// storedContent returns the content of a file or an image by its hash.
func storedContent(ctx context.Context, db *store.DB, org models.OrgID, hash []byte, of string) ([]byte, error) {
	blob, err := store.First[models.Blob](store.Of(db.Read(ctx, org), org).Where("hash = ?", hash))
	if err != nil {
		return nil, fmt.Errorf("read the content of %s: %w", of, err)
	}
	if blob == nil {
		return nil, fmt.Errorf("the content %x of %s is not stored", hash, of)
	}
	return blob.Content, nil
}

// storedBytes returns how many bytes of files and images an organization has stored, each content once.
func storedBytes(ctx context.Context, db *store.DB, org models.OrgID) (int64, error) {
	row, err := store.First[models.OrgStorage](store.Of(db.Read(ctx, org), org))
	if err != nil {
		return 0, fmt.Errorf("read how much %s has stored: %w", org, err)
	}
	if row == nil {
		return 0, nil
	}
	return row.Bytes, nil
}

// checkStorageQuota returns fault.LimitReached when an organization would store more than it may. Without a limit it reads nothing.
func checkStorageQuota(ctx context.Context, db *store.DB, of *limits.Limits, org models.OrgID, bytes int) error {
	most := of.Of(ctx, org).StorageBytes
	if most <= 0 || bytes == 0 {
		return nil
	}
	have, err := storedBytes(ctx, db, org)
	if err != nil {
		return err
	}
	if have+int64(bytes) > int64(most) {
		return fault.New(fault.LimitReached,
			"The organization has stored %d of its %d bytes of files and images, so %d more don't fit. Ask the operator of this server to raise the limit.",
			have, most, bytes)
	}
	return nil
}
