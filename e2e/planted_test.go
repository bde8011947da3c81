package e2e

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/vektah/gqlparser/v2/ast"

	"github.com/ostler-dev/ostler/graph/generated"
)

// secretFields are the texts of the API that are secrets: those that are taken in are planted by TestPlantedSecrets, those that are given
// out are noted there. A text whose name looks like that of a secret and that is neither here nor in openFields fails the test.
var secretFields = []string{
	"SignInInput.password", "Mutation.changePassword(current)", "Mutation.changePassword(new)", "Mutation.resetPassword(token)",
	"Mutation.resetPassword(password)", "AcceptInvitationInput.token", "AcceptInvitationInput.password", "Mutation.refreshTokens(refreshToken)",
	"CreateProviderInput.apiKey", "UpdateProviderInput.apiKey", "TestProviderInput.apiKey", "Mutation.resolveWait(token)",
	"TokenPair.accessToken", "TokenPair.refreshToken", "ApiKeyPayload.key", "InvitePayload.token", "HookSecretPayload.secret", "Wait.token",
	"WebhookPayload.secret", "CreatePaymentPolicyInput.secret", "UpdatePaymentPolicyInput.secret",
}

// openFields are called like secrets and are none.
var openFields = []string{
	"Session.customerKey", "SessionFilter.customerKey", "CreateSessionInput.customerKey", "CreateSessionInput.idempotencyKey",
	"SendMessageInput.idempotencyKey", "ForkSessionInput.idempotencyKey", "RerunTurnInput.idempotencyKey", "TopUpBudgetInput.idempotencyKey", "UsageRow.customerKey",
}

// secretSettings are the variables of the environment that hold secrets, and openSettings those that are called so and don't.
var (
	secretSettings = []string{
		"OSTLER_DATABASE_URL", "OSTLER_DATABASE_OWNER_URL", "OSTLER_DATABASE_DIRECT_URL", "OSTLER_MASTER_KEY", "OSTLER_MASTER_KEY_PREVIOUS",
		"OSTLER_JWT_SECRET", "OSTLER_SMTP_URL", "OSTLER_ADMIN_PASSWORD", "ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY",
		"OSTLER_NATS_URL", "OSTLER_METRICS_TOKEN", "OSTLER_OIDC_CLIENT_SECRET",
	}
	openSettings = []string{"OSTLER_PUBLIC_URL", "OSTLER_ORG_API_KEYS", "ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GEMINI_BASE_URL"}
)

var secretName = regexp.MustCompile(`(?i)password|secret|token|key|credential|private|signature|^current$|^new$`)

// TestEverySecretIsPlanted compares the lists above with the schema and with the program's settings.
func TestEverySecretIsPlanted(t *testing.T) {
	t.Parallel()
	left := map[string]bool{}
	for _, name := range slices.Concat(secretFields, openFields) {
		left[name] = true
	}
	check := func(coordinate, name string, typ *ast.Type) {
		if s := typ.Name(); s != "String" && s != "JSON" || !secretName.MatchString(name) {
			return
		}
		if !left[coordinate] {
			t.Errorf("%s looks like a secret: have TestPlantedSecrets plant it and add it to secretFields, or to openFields if it is none", coordinate)
		}
		delete(left, coordinate)
	}
	for name, def := range generated.NewExecutableSchema(generated.Config{}).Schema().Types {
		for _, field := range def.Fields {
			check(name+"."+field.Name, field.Name, field.Type)
			for _, arg := range field.Arguments {
				check(fmt.Sprintf("%s.%s(%s)", name, field.Name, arg.Name), arg.Name, arg.Type)
			}
		}
	}
	for name := range left {
		t.Errorf("the schema has no %s", name)
	}
	settings := regexp.MustCompile(`(?m)^([A-Z_]+)=`).FindAllStringSubmatch(done(t, newPlace(t, "sqlite").env, "config"), -1)
	for _, m := range settings {
		looks := regexp.MustCompile(`KEY|SECRET|PASSWORD|TOKEN|_URL`).MatchString(m[1])
		if looks && !slices.Contains(slices.Concat(secretSettings, openSettings), m[1]) {
			t.Errorf("%s looks like a secret: have TestPlantedSecrets plant it and add it to secretSettings, or to openSettings if it is none", m[1])
		}
	}
	if len(settings) < 20 {
		t.Errorf("config prints %d settings", len(settings))
	}
	t.Logf("S7: %d fields and arguments of the API and %d settings are secrets", len(secretFields), len(secretSettings))
}

// forms are how a secret may be written down: as it is, in an address, as hex, and within base64 of something longer.
func forms(secret string) map[string]string {
	list := map[string]string{"plain": secret, "in an address": url.QueryEscape(secret), "hex": hex.EncodeToString([]byte(secret)), "HEX": strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	for before := range 3 {
		whole := append(make([]byte, before), secret...)
		for name, encoding := range map[string]*base64.Encoding{"base64": base64.RawStdEncoding, "base64url": base64.RawURLEncoding} {
			// Only the characters that nothing before or after has a part in.
			text := encoding.EncodeToString(whole)[:len(whole)*8/6]
			list[fmt.Sprintf("%s %d", name, before)] = text[(before*8+5)/6:]
		}
	}
	return list
}

// search looks for secrets in a text, in all their forms, and returns the names of those that it holds. Quick: it is done for megabytes.
func search(text string, secrets map[string]string) (found []string) {
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		for form, needle := range forms(secrets[name]) {
			if strings.Contains(text, needle) {
				found = append(found, name+" as "+form)
			}
		}
	}
	return found
}

// TestSearchFindsSecrets hides a secret in every form that search knows.
func TestSearchFindsSecrets(t *testing.T) {
	t.Parallel()
	const secret = "planted-here-0123456789"
	for before := range 4 {
		hidden := strings.Repeat("x", before) + secret + "yz"
		for name, text := range map[string]string{
			"plain": hidden, "an address": url.QueryEscape("/ä?" + hidden + "&"), "hex": hex.EncodeToString([]byte(hidden)), "HEX": fmt.Sprintf("%X", hidden),
			"base64": base64.StdEncoding.EncodeToString([]byte(hidden)), "base64url": base64.RawURLEncoding.EncodeToString([]byte(hidden)),
		} {
			if len(search(text, map[string]string{"it": secret})) == 0 {
				t.Errorf("%s behind %d others is not found in %s", name, before, text)
			}
		}
	}
	if found := search("planted-here-012345678", map[string]string{"it": secret}); len(found) > 0 {
		t.Errorf("found where it is not: %v", found)
	}
}
