package sessions

import (
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/limits"
	"github.com/ostler-dev/ostler/internal/models"
)

// What an organization stores is counted once, however often and wherever it is written, and is refused when it would be too much: with an
// error that says so, whoever writes.
func TestTheLimitOfStoredBytes(t *testing.T) {
	each(t, func(t *testing.T, e *env) {
		most := limits.Values{StorageBytes: 1000}
		e.limited(most)
		of := limits.New(limits.Config{DB: e.db, Clock: e.clock, Usual: most})
		s, ctx := e.create().ID, t.Context()
		stored := func(want int64) {
			t.Helper()
			if got, err := storedBytes(ctx, e.db, e.by.OrgID); err != nil || got != want {
				t.Errorf("%d bytes are stored, %v; want %d", got, err, want)
			}
		}
		write := func(path string, content string) error {
			_, _, err := e.svc.WriteFile(ctx, e.by, NewFile{SessionID: s, Path: path, Content: content, Encoding: "text"})
			return err
		}
		stored(0)
		for _, path := range []string{"a.txt", "b.txt", "a.txt"} {
			if err := write(path, strings.Repeat("x", 400)); err != nil {
				t.Fatal(err)
			}
		}
		stored(400)
		if err := write("c.txt", strings.Repeat("y", 500)); err != nil {
			t.Fatal(err)
		}
		stored(900)
		wantFault(t, write("d.txt", strings.Repeat("z", 101)), fault.LimitReached, "path")
		if err := write("empty.txt", ""); err != nil {
			t.Errorf("nothing needs no room: %v", err)
		}
		picture := picture(t, "image/png", 1024, 1024)
		images := NewImages(e.db, e.clock, of)
		if len(picture) <= 100 {
			t.Fatalf("the picture has %d bytes only", len(picture))
		}
		_, err := images.Create(ctx, e.by, "a.png", picture)
		wantFault(t, err, fault.LimitReached, "")
		stored(900)
		// Tools are told, and all that one call writes counts together.
		changes := NewChanges()
		files := NewWorkspace(e.db, e.clock, of).Overlay(e.by.OrgID, s, changes)
		if _, err := files.Write(ctx, "/workspace/e.txt", []byte(strings.Repeat("e", 60)), nil); err != nil {
			t.Error(err)
		}
		if _, err := files.Write(ctx, "/workspace/f.txt", []byte(strings.Repeat("f", 60)), nil); err == nil || !strings.Contains(err.Error(), "stored") {
			t.Errorf("a tool that writes too much: %v", err)
		}
		// Another organization has its own.
		if got, err := storedBytes(ctx, e.db, models.NewID[models.OrgEntity]()); err != nil || got != 0 {
			t.Errorf("%d, %v", got, err)
		}
		if _, err := NewImages(e.db, e.clock, nil).Create(ctx, e.by, "a.png", picture); err != nil {
			t.Errorf("without a limit: %v", err)
		}
		stored(900 + int64(len(picture)))
	})
}
