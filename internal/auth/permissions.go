package auth

import "github.com/ostler-dev/ostler/internal/models"

// Permission is a right to do something in an organization, as the schema's enum of the same name.
type Permission uint8

// The permissions, in the order of the schema.
const (
	OrgRead Permission = iota
	OrgManage
	MembersRead
	MembersManage
	APIKeysManage
	AuditRead
	CatalogRead
	CatalogWrite
	CatalogDelete
	ProvidersRead
	ProvidersManage
	SessionsRead
	SessionsWrite
	SessionsDelete
	BudgetsRead
	BudgetsManage
	UsageRead
	ApprovalsDecide
	WebhooksManage
	PlatformRead
	PlatformManage
	permissionCount
)

var permissionNames = [permissionCount]string{
	"ORG_READ", "ORG_MANAGE", "MEMBERS_READ", "MEMBERS_MANAGE", "API_KEYS_MANAGE", "AUDIT_READ",
	"CATALOG_READ", "CATALOG_WRITE", "CATALOG_DELETE", "PROVIDERS_READ", "PROVIDERS_MANAGE",
	"SESSIONS_READ", "SESSIONS_WRITE", "SESSIONS_DELETE", "BUDGETS_READ", "BUDGETS_MANAGE", "USAGE_READ",
	"APPROVALS_DECIDE", "WEBHOOKS_MANAGE", "PLATFORM_READ", "PLATFORM_MANAGE",
}

// String returns the schema's name.
func (p Permission) String() string { return permissionNames[p] }

// ParsePermission reads the schema's name; false when there is no such permission.
func ParsePermission(name string) (Permission, bool) {
	for i, n := range permissionNames {
		if n == name {
			return Permission(i), true
		}
	}
	return 0, false
}

// Permissions is a set of permissions.
type Permissions uint32

// PermissionsOf makes a set.
func PermissionsOf(list ...Permission) Permissions {
	var s Permissions
	for _, p := range list {
		s |= 1 << p
	}
	return s
}

// Has reports whether p is in the set.
func (s Permissions) Has(p Permission) bool { return s&(1<<p) != 0 }

// List returns the set in the order of the schema.
func (s Permissions) List() []Permission {
	var list []Permission
	for p := range permissionCount {
		if s.Has(p) {
			list = append(list, p)
		}
	}
	return list
}

// Implied returns the set with what its permissions imply: a session can't be read without what it was made of.
func (s Permissions) Implied() Permissions {
	if s.Has(SessionsRead) {
		s |= PermissionsOf(CatalogRead)
	}
	return s
}

// Platform are the permissions of operators. No role and no key has them.
func Platform() Permissions { return operatorPermissions }

// Names returns the set as the schema names it, in the order of the schema.
func (s Permissions) Names() []string {
	names := []string{}
	for _, p := range s.List() {
		names = append(names, p.String())
	}
	return names
}

// The permissions of the roles.
var (
	viewerPermissions = PermissionsOf(OrgRead, CatalogRead, SessionsRead, BudgetsRead, UsageRead)
	memberPermissions = viewerPermissions | PermissionsOf(SessionsWrite, CatalogWrite, ApprovalsDecide, SessionsDelete,
		CatalogDelete, ProvidersRead, MembersRead)
	adminPermissions = memberPermissions | PermissionsOf(ProvidersManage, MembersManage, APIKeysManage, BudgetsManage,
		WebhooksManage, AuditRead)
	ownerPermissions    = adminPermissions | PermissionsOf(OrgManage)
	operatorPermissions = PermissionsOf(PlatformRead, PlatformManage)
)

// RolePermissions returns what a role may do; nothing for a role that doesn't exist. Operators may also run the platform.
func RolePermissions(role models.Role, operator bool) Permissions {
	var s Permissions
	switch role {
	case models.RoleOwner:
		s = ownerPermissions
	case models.RoleAdmin:
		s = adminPermissions
	case models.RoleMember:
		s = memberPermissions
	case models.RoleViewer:
		s = viewerPermissions
	}
	if operator && s != 0 {
		s |= operatorPermissions
	}
	return s
}
