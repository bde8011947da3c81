package webhooks_test

import (
	"bufio"
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

// starts runs a receiver of the guide and returns its address, which it prints first, and what it prints then.
func starts(t *testing.T, secret []byte, command ...string) (string, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "ADDRESS=127.0.0.1:0", "OSTLER_WEBHOOK_SECRET="+base64.StdEncoding.EncodeToString(secret))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	printed := bufio.NewReader(out)
	line, err := printed.ReadString('\n')
	if err != nil {
		t.Fatalf("%v did not start: %v", command, err)
	}
	return strings.TrimSpace(line), printed
}

// The receivers in the guide are those that run here. They take what we sign, by the present secret or by the earlier one, and nothing
// else; what comes twice they handle once.
func TestTheReceiversOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "webhooks.md"))
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "receiver")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "testdata/receiver/main.go").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for source, command := range map[string][]string{
		"testdata/receiver/main.go":  {binary},
		"testdata/receiver/main.mjs": {"node", "testdata/receiver/main.mjs"},
	} {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		fence := map[string]string{".go": "```go\n", ".mjs": "```js\n"}[filepath.Ext(source)]
		if !strings.Contains(string(guide), fence+string(text)+"```\n") {
			t.Errorf("webhooks.md doesn't show %s as it is", source)
		}
		w := newWorld(t, storetest.SQLite(t))
		w.clock = clock.NewManual(time.Now()) // the receivers go by the machine's clock
		w.Service, err = webhooks.NewService(webhooks.Config{DB: w.db, Keeper: w.keeper, Clock: w.clock, Addresses: w.client})
		if err != nil {
			t.Fatal(err)
		}
		n, d := w.tenant(), w.dispatcher(nil)
		row, secret := n.webhook("http://127.0.0.1:1/")
		url, printed := starts(t, secret, command...)
		sent := func(title string) models.WebhookDelivery {
			t.Helper()
			n.happens(titled(title))
			w.run(d)
			list := n.deliveries(row)
			return list[len(list)-1]
		}
		if _, _, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{URL: &url}); err != nil {
			t.Fatal(err)
		}
		first := sent("ä")
		if first.Status == nil || *first.Status != http.StatusNoContent {
			t.Fatalf("%s: got %+v", source, first)
		}
		if _, err := w.Replay(t.Context(), n.by, first.ID); err != nil {
			t.Fatal(err)
		}
		w.run(d)
		if _, _, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{RotateSecret: true}); err != nil {
			t.Fatal(err)
		}
		if del := sent("by both"); *del.Status != http.StatusNoContent {
			t.Errorf("%s: got %+v", source, del)
		}
		for range 2 {
			if line, err := printed.ReadString('\n'); err != nil || strings.TrimSpace(line) != "SESSION_TITLE_CHANGED "+n.session.String() {
				t.Errorf("%s printed %q, %v", source, line, err)
			}
		}
		if _, _, err := w.Update(t.Context(), n.by, row.ID, webhooks.Change{RotateSecret: true}); err != nil {
			t.Fatal(err)
		}
		if del := sent("by others"); *del.Status != http.StatusUnauthorized {
			t.Errorf("%s takes what others have signed: %+v", source, del)
		}
		other, secret := n.webhook("http://127.0.0.1:1/")
		url, _ = starts(t, secret, command...)
		w.clock.Advance(-6 * time.Minute)
		if _, _, err := w.Update(t.Context(), n.by, other.ID, webhooks.Change{URL: &url}); err != nil {
			t.Fatal(err)
		}
		n.happens(titled("old"))
		w.run(d)
		if list := n.deliveries(other); len(list) != 1 || *list[0].Status != http.StatusUnauthorized {
			t.Errorf("%s takes an old request: %+v", source, list)
		}
	}
}
