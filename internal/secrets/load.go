package secrets

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

// KeyFile is the name of the file in the data directory that holds a generated master key.
const KeyFile = "master.key"

// Config tells where the master keys come from. Keys are 32 bytes; nil where not given.
type Config struct {
	// Current is OSTLER_MASTER_KEY. With SQLite nil means the key file in DataDir, which is made for a database that has no key yet.
	Current []byte
	// Previous is OSTLER_MASTER_KEY_PREVIOUS: it opens what was sealed before a rotation.
	Previous []byte
	DataDir  string
}

// Load returns the keeper that a configuration asks for. With PostgreSQL it refuses a missing key: a generated one would
// differ from node to node. With SQLite it refuses one that was lost, by an error that wraps ErrWrongKey: a new key would open nothing.
func Load(ctx context.Context, db *store.DB, cfg Config) (*Keeper, error) {
	current := cfg.Current
	if current == nil {
		if db.Dialect != store.SQLite {
			return nil, errors.New("OSTLER_MASTER_KEY is not set: with PostgreSQL every node needs the same one; " +
				"make it once with `openssl rand -base64 32` and keep it safe")
		}
		var known []models.MasterKey
		err := db.ReadAcross(ctx).Order("created_at DESC, id").Limit(1).Find(&known).Error
		if err != nil {
			return nil, fmt.Errorf("look for the master key of the database: %w", err)
		}
		if len(known) == 0 {
			current, err = loadOrCreateKeyFile(cfg.DataDir)
		} else {
			current, err = readKeyFile(filepath.Join(cfg.DataDir, KeyFile))
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%w: it belongs to key %s, and there is no file %s in %s. Put that file back, or set OSTLER_MASTER_KEY to its content",
					ErrWrongKey, known[0].ID, KeyFile, cfg.DataDir)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if cfg.Previous == nil {
		return NewKeeper(current)
	}
	return NewKeeper(current, cfg.Previous)
}

// ParseKey reads a master key as the environment holds it: 32 bytes in base64.
func ParseKey(text string) ([]byte, error) {
	text = strings.TrimRight(strings.TrimSpace(text), "=")
	for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if key, err := enc.DecodeString(text); err == nil && len(key) == keyLen {
			return key, nil
		}
	}
	return nil, errors.New("a master key must be 32 bytes in base64: make one with `openssl rand -base64 32`")
}

// loadOrCreateKeyFile reads the master key from the data directory. When there is none it makes one, readable by its
// owner only.
func loadOrCreateKeyFile(dataDir string) ([]byte, error) {
	path := filepath.Join(dataDir, KeyFile)
	key, err := readKeyFile(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := createKeyFile(dataDir, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("make the master key file %s: %w", path, err)
	}
	return readKeyFile(path)
}

func readKeyFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the master key file: %w", err)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("the master key file %s can be read by others (%v): run `chmod 600 %s`", path, info.Mode().Perm(), path)
	}
	text, err := os.ReadFile(path) //nolint:gosec // the path comes from the configuration
	if err != nil {
		return nil, fmt.Errorf("read the master key file: %w", err)
	}
	key, err := ParseKey(string(bytes.TrimSpace(text)))
	if err != nil {
		return nil, fmt.Errorf("read the master key file %s: %w", path, err)
	}
	return key, nil
}

// createKeyFile writes the file under another name and then links it: nobody ever sees half a key, and a file that
// came into being meanwhile is not replaced (fs.ErrExist).
func createKeyFile(dir, path string) (err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	key := make([]byte, keyLen)
	if _, err := rand.Read(key); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, KeyFile+".*") // 0600
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(f.Name())) }()
	_, err = f.WriteString(base64.StdEncoding.EncodeToString(key) + "\n")
	// Losing the key means losing what it seals: it must be on the disk before anything uses it.
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	d, err := os.Open(dir) //nolint:gosec // the path comes from the configuration
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
