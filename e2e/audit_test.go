package e2e

import (
	"path/filepath"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/store"
)

// TestAuditLog signs in, fails to, and makes an agent; reads what the log tells of it, checks it beside the running server, and then as
// somebody who has edited it.
func TestAuditLog(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, pl *place) {
		p := start(t, pl.env)
		c := signIn(t, p)
		var refused struct {
			SignIn struct{ UserErrors []struct{ Code string } }
		}
		for _, email := range []string{ownerEmail, "nobody@example.com"} {
			err := newClient(p.url).try(`mutation($email: String!) { signIn(input: {email: $email, password: "a-wrong-password"}) { userErrors { code } } }`,
				map[string]any{"email": email}, &refused)
			if err == nil || !strings.Contains(err.Error(), "INVALID_CREDENTIALS") {
				t.Fatalf("%s: got %v", email, err)
			}
		}
		agent := c.agent(t, "audited", "sim-echo")

		var log struct {
			AuditEntries struct {
				Nodes []struct {
					Action, Address, RequestID string
					TargetID                   *string
					Actor                      struct{ Kind, Name string }
				}
			}
			VerifyAudit struct {
				Ok      bool
				Entries int
			}
		}
		const query = `{ auditEntries { nodes { action address requestId targetId actor { kind name } } } verifyAudit { ok entries } }`
		c.do(t, query, nil, &log)
		nodes := log.AuditEntries.Nodes
		var actions []string
		for _, n := range nodes {
			actions = append(actions, n.Actor.Kind+" "+n.Action)
		}
		got := strings.Join(actions, ", ")
		if want := "USER agent.created, SYSTEM signin.failed, USER signin.succeeded, SYSTEM org.created"; got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
		if !log.VerifyAudit.Ok || log.VerifyAudit.Entries != len(nodes) {
			t.Errorf("got %+v", log.VerifyAudit)
		}
		if n := nodes[0]; n.TargetID == nil || *n.TargetID != agent || n.Actor.Name != "Administrator" || n.Address == "" || n.RequestID == "" {
			t.Errorf("got %+v", n)
		}
		other := c.secondOrg(t, p, "Other")
		other.do(t, query, nil, &log)
		for _, n := range log.AuditEntries.Nodes {
			if n.Action == "agent.created" || n.Action == "signin.failed" {
				t.Errorf("another organization sees %+v", n)
			}
		}
		anonymous := newClient(p.url)
		if err := anonymous.try(query, nil, nil); err == nil || !strings.Contains(err.Error(), "UNAUTHENTICATED") {
			t.Errorf("without a token: got %v", err)
		}

		verify := func(want int, flag string, texts ...string) {
			t.Helper()
			args := []string{"admin", "verify-audit"}
			if flag != "" {
				args = append(args, flag)
			}
			v := launch(t, pl.env, args...)
			if code := v.exit(t); code != want {
				t.Errorf("%s: ended with %d, want %d:\n%s", flag, code, want, v.out)
			}
			says(t, v.out.String(), texts...)
		}
		verify(0, "", "default org_", "other org_", "(platform) org_00000000000000000000000000000001: 1 entries from position 1 on: OK")
		verify(0, "--org=other", "other org_")
		verify(1, "--org=nobody", "there is no organization")
		verify(1, "--all", "usage: ostler")

		p.kill()
		edit(t, pl, c.Org)
		verify(1, "", "BROKEN at position 3: The entry was edited", "the audit logs of 1 of 3 chains are broken")
		verify(1, "--org="+c.Org, "default "+c.Org+": 2 entries", "the audit log is broken")
		verify(0, "--org=other", ": OK")
	})
}

// edit changes the third entry of the first organization, past what the database refuses.
func edit(t *testing.T, pl *place, org string) {
	t.Helper()
	url := pl.env["OSTLER_DATABASE_URL"]
	drop := "DROP TRIGGER audit_append_only ON audit_entries"
	if pl.kind == "sqlite" {
		url = "sqlite:" + filepath.Join(pl.env["OSTLER_DATA_DIR"], "ostler.db")
		drop = "DROP TRIGGER audit_append_only"
	}
	db, err := store.Open(t.Context(), store.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	err = db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
		if err := tx.Exec(drop).Error; err != nil {
			return err
		}
		return store.OneRow(tx.Exec("UPDATE audit_entries SET action = 'signin.other' WHERE position = 3 AND org_id = (SELECT id FROM orgs WHERE slug = 'default')"))
	})
	if err != nil {
		t.Fatalf("edit the log of %s: %v", org, err)
	}
}
