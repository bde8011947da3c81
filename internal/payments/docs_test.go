package payments_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/payments"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
)

// starts runs the rail of the guide and returns its address, which it prints first, and what it prints then.
func starts(t *testing.T, binary, secret string) (string, *bufio.Reader) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), binary)
	cmd.Env = append(os.Environ(), "ADDRESS=127.0.0.1:0", "OSTLER_PAYMENT_SECRET="+secret)
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
		t.Fatalf("the rail did not start: %v", err)
	}
	return strings.TrimSpace(line), printed
}

// The rail of the guide is the one that runs here: it pays once however often it is asked, by requests that are signed, and no others.
func TestTheRailOfTheGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "docs", "payments.md"))
	if err != nil {
		t.Fatal(err)
	}
	source := filepath.Join("testdata", "rail", "main.go")
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(guide), "```go\n"+string(text)+"```\n") {
		t.Errorf("payments.md doesn't show %s as it is", source)
	}
	binary := filepath.Join(t.TempDir(), "rail")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./"+source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	w := newWorld(t, storetest.SQLite(t))
	w.clock = clock.NewManual(time.Now()) // the rail goes by the machine's clock
	w.Service = w.process(nil)
	n := w.tenant()
	url, printed := starts(t, binary, secret)
	n.policy(func(p *payments.NewPolicy) { p.URL = url })
	n.budget(100*one, nil)
	doomed := w.process(func(cfg *payments.Config) { cfg.Committer = &dying{Committer: w.committer, n: 2} })
	if _, err := doomed.Pay(t.Context(), n.order("a", 4*one)); err == nil {
		t.Error("it did not die")
	}
	if r := n.paid("a", 4*one); r.Reference != "local-1" || r.Amount != 4*one {
		t.Errorf("got %+v", r)
	}
	if r := n.paid("b", one/2); r.Reference != "local-2" || r.Amount != one/2 {
		t.Errorf("got %+v", r)
	}
	for _, want := range []string{"paid 4 example.com\n", "paid 0.5 example.com\n"} {
		if line, err := printed.ReadString('\n'); err != nil || line != want {
			t.Errorf("it printed %q, %v, want %q", line, err, want)
		}
	}
	w.clock.Advance(-6 * time.Minute)
	_, err = n.pay("old", one)
	refused(t, "an old signature", err, tools.PaymentRefused)
	w.clock.Advance(6 * time.Minute)
	stranger := w.tenant()
	stranger.policy(func(p *payments.NewPolicy) { p.URL, p.Secret = url, strings.ToUpper(secret) })
	_, err = stranger.pay("a", one)
	refused(t, "another secret", err, tools.PaymentRefused)
	n.sound()
	stranger.sound()
}
