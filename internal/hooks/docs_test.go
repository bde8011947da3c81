package hooks_test

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/approvals"
	"github.com/ostler-dev/ostler/internal/tools/expr"
	"github.com/ostler-dev/ostler/internal/tools/userhooks"
)

func page(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// start runs a receiver of the guide and returns its address, which it prints first.
func start(t *testing.T, secret string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Env = append(os.Environ(), "ADDRESS=127.0.0.1:0", "OSTLER_HOOK_SECRET="+base64.StdEncoding.EncodeToString([]byte(secret)))
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
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("%v did not start: %v", command, err)
	}
	return strings.TrimSpace(line)
}

// The receivers in the guide are those that run here, and they take what we sign and nothing else.
//
// Rules: H2.
func TestTheReceiversOfTheGuide(t *testing.T) {
	guide := page(t, "hooks.md")
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
		if !strings.Contains(guide, fence+string(text)+"```\n") {
			t.Errorf("hooks.md doesn't show %s as it is", source)
		}
		url := start(t, "shh", command...)
		ask := func(with string, at time.Time, path string) hooks.Outcome {
			r := runner(t, func(c *hooks.Config) { c.Secrets, c.Clock = secret(with), clock.NewManual(at) })
			e := happens(tools.HookPreToolUse)
			e.Call.Arguments = json.RawMessage(`{"path":"` + path + `"}`)
			return run(t, r, e, webhook(tools.HookPreToolUse, url))
		}
		if out := ask("shh", time.Now(), "/workspace/ä"); out.Decision != hooks.Allow || out.Runs[0].Failure != "" {
			t.Errorf("%s: got %+v", source, out)
		}
		if out := ask("shh", time.Now(), "/workspace/private/a"); out.Decision != hooks.Block || out.Reason != "private files stay as they are" {
			t.Errorf("%s: got %+v", source, out)
		}
		for name, out := range map[string]hooks.Outcome{
			"another secret": ask("other", time.Now(), "/"),
			"an old request": ask("shh", time.Now().Add(-6*time.Minute), "/"),
		} {
			if !strings.Contains(out.Runs[0].Failure, "status 401") {
				t.Errorf("%s takes %s: %+v", source, name, out)
			}
		}
	}
}

// The settings in the guides can be attached.
func TestTheSettingsOfTheGuides(t *testing.T) {
	expressions, err := expr.New()
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(userhooks.Capability(expressions, egress.New(egress.Config{})), approvals.Capability(expressions))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hooks.md", "approvals.md"} {
		n := 0
		for _, part := range strings.Split(page(t, name), "```json\n")[1:] {
			text, _, _ := strings.Cut(part, "```")
			var ref models.CapabilityRef
			if json.Unmarshal([]byte(text), &ref) != nil || ref.ID == "" {
				continue
			}
			n++
			if _, err := registry.Resolve([]models.CapabilityRef{ref}); err != nil {
				t.Errorf("%s: %v in %s", name, err, text)
			}
		}
		if n == 0 {
			t.Errorf("%s shows no settings", name)
		}
	}
}
