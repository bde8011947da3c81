package auth_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// whoMayWhat is the permissions of the roles, written out once more on purpose: it is the oracle.
//
//nolint:dupword // it is a table
const whoMayWhat = `
                  OWNER ADMIN MEMBER VIEWER
ORG_READ          yes   yes   yes    yes
CATALOG_READ      yes   yes   yes    yes
SESSIONS_READ     yes   yes   yes    yes
BUDGETS_READ      yes   yes   yes    yes
USAGE_READ        yes   yes   yes    yes
SESSIONS_WRITE    yes   yes   yes    no
CATALOG_WRITE     yes   yes   yes    no
APPROVALS_DECIDE  yes   yes   yes    no
SESSIONS_DELETE   yes   yes   yes    no
CATALOG_DELETE    yes   yes   yes    no
PROVIDERS_READ    yes   yes   yes    no
MEMBERS_READ      yes   yes   yes    no
PROVIDERS_MANAGE  yes   yes   no     no
MEMBERS_MANAGE    yes   yes   no     no
API_KEYS_MANAGE   yes   yes   no     no
BUDGETS_MANAGE    yes   yes   no     no
WEBHOOKS_MANAGE   yes   yes   no     no
AUDIT_READ        yes   yes   no     no
ORG_MANAGE        yes   no    no     no
PLATFORM_READ     no    no    no     no
PLATFORM_MANAGE   no    no    no     no
`

func TestRolesMayWhatTheTableSays(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(whoMayWhat), "\n")
	roles := strings.Fields(lines[0])
	want := map[string][]string{}
	for _, line := range lines[1:] {
		cells := strings.Fields(line)
		for i, cell := range cells[1:] {
			if cell == "yes" {
				want[roles[i]] = append(want[roles[i]], cells[0])
			}
		}
	}
	platform := []string{"PLATFORM_MANAGE", "PLATFORM_READ"}
	for _, role := range roles {
		slices.Sort(want[role])
		if got := names(auth.RolePermissions(models.Role(role), false)); !slices.Equal(got, want[role]) {
			t.Errorf("%s: got %v, want %v", role, got, want[role])
		}
		with := append(slices.Clone(want[role]), platform...)
		slices.Sort(with)
		if got := names(auth.RolePermissions(models.Role(role), true)); !slices.Equal(got, with) {
			t.Errorf("%s who is an operator: got %v, want %v", role, got, with)
		}
	}
	if len(lines)-1 != len(names(^auth.Permissions(0))) {
		t.Errorf("the table has %d permissions, the code %d", len(lines)-1, len(names(^auth.Permissions(0))))
	}
}

func TestNoRoleMayNothing(t *testing.T) {
	for _, role := range []models.Role{"", "owner", "GOD"} {
		if got := auth.RolePermissions(role, true); got != 0 {
			t.Errorf("%q: got %v, want nothing", role, names(got))
		}
	}
	if (*auth.Principal)(nil).Can(auth.OrgRead) {
		t.Error("nobody may read")
	}
}

func TestPermissionNamesAreReadBack(t *testing.T) {
	for _, p := range (^auth.Permissions(0)).List() {
		if got, ok := auth.ParsePermission(p.String()); !ok || got != p {
			t.Errorf("%s: got %v, %v", p, got, ok)
		}
	}
	if _, ok := auth.ParsePermission("NO_SUCH"); ok {
		t.Error("a permission that doesn't exist was read")
	}
}

func names(s auth.Permissions) []string {
	list := make([]string, 0, len(s.List()))
	for _, p := range s.List() {
		list = append(list, p.String())
	}
	slices.Sort(list)
	return list
}
