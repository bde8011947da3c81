package secrets_test

import (
	"bytes"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
)

func TestTheKeyFileIsMadeOnceAndForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	keys := make([][]byte, 8)
	var wg sync.WaitGroup
	for i := range keys {
		wg.Go(func() {
			key, err := secrets.LoadOrCreateKeyFile(dir)
			if err != nil {
				t.Errorf("load: %v", err)
			}
			keys[i] = key
		})
	}
	wg.Wait()
	for _, key := range keys {
		if len(key) != 32 || !bytes.Equal(key, keys[0]) {
			t.Fatalf("got different keys: %d bytes", len(key))
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("got %v, %v; want the key file alone", entries, err)
	}
	path := filepath.Join(dir, secrets.KeyFile)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("got mode %v, %v", info.Mode(), err)
	}

	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.LoadOrCreateKeyFile(dir); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: got %v", err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.LoadOrCreateKeyFile(dir); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: got %v", err)
	}
}

func TestLoad(t *testing.T) {
	if _, err := secrets.Load(secrets.Config{Dialect: store.Postgres, DataDir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "OSTLER_MASTER_KEY is not set") {
		t.Errorf("PostgreSQL without a key: got %v", err)
	}
	a, err := secrets.Load(secrets.Config{Dialect: store.Postgres, Current: key(1), Previous: key(2)})
	if err != nil || a.KeyID() != keeper(t, 1).KeyID() {
		t.Errorf("PostgreSQL with a key: got %v", err)
	}
	dir := t.TempDir()
	b, err := secrets.Load(secrets.Config{Dialect: store.SQLite, DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c, err := secrets.Load(secrets.Config{Dialect: store.SQLite, DataDir: dir})
	if err != nil || b.KeyID() != c.KeyID() {
		t.Errorf("a second start has another key: %v", err)
	}
}

func TestParseKey(t *testing.T) {
	raw := bytes.Repeat([]byte{0xfb, 0xff}, 16)
	for _, text := range []string{
		base64.StdEncoding.EncodeToString(raw), base64.RawStdEncoding.EncodeToString(raw),
		base64.URLEncoding.EncodeToString(raw), " " + base64.StdEncoding.EncodeToString(raw) + "\n",
	} {
		if got, err := secrets.ParseKey(text); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("%q: got %x, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "abc", strings.Repeat("A", 42), strings.Repeat("A", 44), strings.Repeat("!", 43)} {
		if _, err := secrets.ParseKey(text); err == nil {
			t.Errorf("%q was accepted", text)
		}
	}
}
