package secrets_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

func TestTheKeyFileIsMadeOnceAndForItsOwnerOnly(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	db := storetest.SQLite(t)
	load := func() error {
		_, err := secrets.Load(t.Context(), db, secrets.Config{DataDir: dir})
		return err
	}
	ids := make([]string, 8)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			k, err := secrets.Load(t.Context(), db, secrets.Config{DataDir: dir})
			if err != nil {
				t.Errorf("load: %v", err)
				return
			}
			ids[i] = k.KeyID()
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("got different keys: %q", ids)
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
	if err := load(); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: got %v", err)
	}
	if err := os.WriteFile(path, []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := load(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a broken file: got %v", err)
	}
}

func TestLoad(t *testing.T) {
	pg, lite := storetest.Postgres(t), storetest.SQLite(t)
	if _, err := secrets.Load(t.Context(), pg, secrets.Config{DataDir: t.TempDir()}); err == nil ||
		!strings.Contains(err.Error(), "OSTLER_MASTER_KEY is not set") {
		t.Errorf("PostgreSQL without a key: got %v", err)
	}
	a, err := secrets.Load(t.Context(), pg, secrets.Config{Current: key(1), Previous: key(2)})
	if err != nil || a.KeyID() != keeper(t, 1).KeyID() {
		t.Errorf("PostgreSQL with a key: got %v", err)
	}
	dir := t.TempDir()
	b, err := secrets.Load(t.Context(), lite, secrets.Config{DataDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	c, err := secrets.Load(t.Context(), lite, secrets.Config{DataDir: dir})
	if err != nil || b.KeyID() != c.KeyID() {
		t.Errorf("a second start has another key: %v", err)
	}
}

// A key file that was lost is not replaced: what the database holds is sealed under it, and a new one would stand in the way of its copy.
func TestALostKeyFileIsNotReplaced(t *testing.T) {
	db, dir := storetest.SQLite(t), t.TempDir()
	cfg := secrets.Config{DataDir: dir}
	k, err := secrets.Load(t.Context(), db, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.VerifyKey(t.Context(), db, clock.NewManual(time.UnixMilli(1))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, secrets.KeyFile)
	if err := os.Rename(path, path+".copy"); err != nil {
		t.Fatal(err)
	}
	if _, err := secrets.Load(t.Context(), db, cfg); !errors.Is(err, secrets.ErrWrongKey) || !strings.Contains(err.Error(), k.KeyID()) {
		t.Errorf("without its file: %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file was replaced: %v", err)
	}
	if err := os.Rename(path+".copy", path); err != nil {
		t.Fatal(err)
	}
	if again, err := secrets.Load(t.Context(), db, cfg); err != nil || again.KeyID() != k.KeyID() {
		t.Errorf("with its file again: %v", err)
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
