package models_test

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

func TestRolesAreOrdered(t *testing.T) {
	order := []models.Role{"", models.RoleViewer, models.RoleMember, models.RoleAdmin, models.RoleOwner}
	for i, role := range order {
		for j, least := range order {
			if role.AtLeast(least) != (i >= j) {
				t.Errorf("%q is at least %q: %t", role, least, role.AtLeast(least))
			}
		}
		if role.AtLeast("SUPER") || models.Role("SUPER").AtLeast(role) {
			t.Errorf("a role that doesn't exist is compared with %q", role)
		}
	}
}
