package e2e

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/internal/auth/oidc/oidctest"
)

// whoMayWhat is the table of who may what, written out once more on purpose: it is the oracle.
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

// somebody is one who asks.
type somebody struct {
	name string
	*client
	// may is what they may do; nil for those whom the server must not know.
	may map[string]bool
	key bool
}

func rolesOf(role string) map[string]bool {
	lines := strings.Split(strings.TrimSpace(whoMayWhat), "\n")
	may := map[string]bool{}
	for i, r := range strings.Fields(lines[0]) {
		for _, line := range lines[1:] {
			if cells := strings.Fields(line); r == role && cells[i+1] == "yes" {
				may[cells[0]] = true
			}
		}
	}
	return may
}

// everybody makes the identities of the matrix: an operator, who is an owner as well, the roles, keys with one permission each and one with none, and those who are
// nobody (any more).
func everybody(t *testing.T, place *place, p *process, issuer *oidctest.Issuer, owner *client) (known, unknown []*somebody) {
	t.Helper()
	operator := rolesOf("OWNER")
	operator["PLATFORM_READ"], operator["PLATFORM_MANAGE"] = true, true // the first owner is one, and no role makes one
	known = []*somebody{{name: "an operator", client: owner, may: operator}}
	for _, role := range []string{"OWNER", "ADMIN", "MEMBER", "VIEWER"} {
		c, _ := owner.newMember(t, strings.ToLower(role)+"@matrix.example.com", role)
		known = append(known, &somebody{name: role, client: c, may: rolesOf(role)})
	}
	known = append(known, &somebody{name: "a VIEWER whom an issuer vouches for", client: vouchedFor(t, p, issuer, owner), may: rolesOf("VIEWER")})
	key, _ := owner.apiKey(t)
	known = append(known, &somebody{name: "a key without permissions", client: key, may: map[string]bool{}, key: true})
	for permission := range rolesOf("OWNER") {
		key, _ := owner.apiKey(t, permission)
		may := map[string]bool{permission: true}
		if permission == "SESSIONS_READ" {
			may["CATALOG_READ"] = true // what sessions are made of
		}
		known = append(known, &somebody{name: "a key with " + permission, client: key, may: may, key: true})
	}

	with := func(name, token string) {
		c := newClient(owner.URL)
		c.Token = token
		unknown = append(unknown, &somebody{name: name, client: c})
	}
	parts, claims := strings.Split(owner.Token, "."), claimsOf(t, owner.Token)
	expired, elsewhere := issuedEarlier(t, place, owner.URL, claims)
	with("no token", "")
	with("an expired token", expired)
	with("a token for another audience", elsewhere)
	with("alg none", base64.RawURLEncoding.EncodeToString(encode(map[string]any{"alg": "none", "typ": "JWT"}))+"."+parts[1]+".")
	with("a key that nobody made", "ost_"+strings.Repeat("a", 40))
	for name, token := range signedElsewhere(t, owner) {
		with(name, token)
	}

	revoked, row := owner.apiKey(t, "ORG_READ", "SESSIONS_READ", "CATALOG_READ", "MEMBERS_READ")
	removed, _ := owner.newMember(t, "removed@matrix.example.com", "ADMIN")
	owner.revoke(t, row)
	owner.do(t, `mutation($id: ID!) { removeMember(membershipId: $id) { userErrors { code message } } }`,
		map[string]any{"id": owner.membership(t, "removed@matrix.example.com")}, nil)
	unknown = append(unknown, &somebody{name: "a revoked key", client: revoked}, &somebody{name: "a removed member", client: removed})
	for _, who := range unknown[len(unknown)-2:] {
		eventually(t, who.name+" is out", func() error {
			if err := who.try(`{ org { id } }`, nil, nil); err == nil || !strings.HasPrefix(err.Error(), "UNAUTHENTICATED") {
				return errors.Join(errNotYet, err)
			}
			return nil
		})
	}
	return known, unknown
}

// vouchedFor has somebody sign in with an issuer of OpenID Connect, who has no password.
func vouchedFor(t *testing.T, p *process, issuer *oidctest.Issuer, owner *client) *client {
	t.Helper()
	issuer.SignIn(oidctest.Person{Subject: "ada-1", Email: "ada@example.com", Name: "Ada"})
	b := newBrowser(t, p)
	b.get(t, b.atIssuer(t, "?invitation="+invitationFor(t, owner, "ada@example.com")))
	c := newClient(p.url)
	c.Token, c.Org = b.cookie(t, "ostler_access"), owner.Org
	c.do(t, whoAmI, nil, nil)
	return c
}

// signedElsewhere returns tokens with the right claims, good for a minute, under the name of the server's own key: one that another key has
// signed, and one that the server's public key has signed as if it were a secret.
func signedElsewhere(t *testing.T, owner *client) map[string]string {
	t.Helper()
	head, _, _ := strings.Cut(owner.Token, ".")
	header := map[string]any{}
	var keys struct {
		Keys []struct {
			Kid string `json:"kid"`
			X   string `json:"x"`
		} `json:"keys"`
	}
	res, err := owner.HTTP.Get(owner.URL + "/.well-known/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&keys); err != nil || len(keys.Keys) == 0 {
		t.Fatalf("the published keys are %+v: %v", keys, err)
	}
	public, err := base64.RawURLEncoding.DecodeString(keys.Keys[0].X)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := base64.RawURLEncoding.DecodeString(head); err != nil || json.Unmarshal(b, &header) != nil || header["kid"] != keys.Keys[0].Kid {
		t.Fatalf("the head of the token is %s", head)
	}
	_, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	claims := claimsOf(t, owner.Token)
	claims["exp"] = time.Now().Add(time.Minute).Unix()
	token := func(alg string, sign func([]byte) []byte) string {
		header["alg"] = alg
		text := base64.RawURLEncoding.EncodeToString(encode(header)) + "." + base64.RawURLEncoding.EncodeToString(encode(claims))
		return text + "." + base64.RawURLEncoding.EncodeToString(sign([]byte(text)))
	}
	return map[string]string{
		"a token of another key": token("EdDSA", func(b []byte) []byte { return ed25519.Sign(private, b) }),
		"a token of the public key as a secret": token("HS256", func(b []byte) []byte {
			mac := hmac.New(sha256.New, public)
			mac.Write(b)
			return mac.Sum(nil)
		}),
	}
}
