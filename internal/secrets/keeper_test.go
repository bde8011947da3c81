package secrets_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
)

func key(b byte) []byte { return bytes.Repeat([]byte{b}, 32) }

func keeper(t *testing.T, current byte, previous ...byte) *secrets.Keeper {
	t.Helper()
	old := make([][]byte, 0, len(previous))
	for _, b := range previous {
		old = append(old, key(b))
	}
	k, err := secrets.NewKeeper(key(current), old...)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

var place = secrets.Place{
	Org: models.NewID[models.OrgEntity](), Table: "providers", Column: "credentials", Row: "prov_1",
}

func seal(t *testing.T, k *secrets.Keeper, value string) []byte {
	t.Helper()
	sealed, err := k.Seal([]byte(value), place)
	if err != nil {
		t.Fatal(err)
	}
	return sealed
}

func TestSealedValuesOpenWhereTheyWereSealed(t *testing.T) {
	k := keeper(t, 1)
	for _, value := range []string{"", "s", "secret-value", string(bytes.Repeat([]byte("x"), 100_000))} {
		sealed := seal(t, k, value)
		if len(value) > 3 && bytes.Contains(sealed, []byte(value)) {
			t.Error("the value can be read in its sealed form")
		}
		got, err := k.Open(sealed, place)
		if err != nil || string(got) != value {
			t.Errorf("got %d bytes, %v; want %d bytes", len(got), err, len(value))
		}
	}
	if bytes.Equal(seal(t, k, "same"), seal(t, k, "same")) {
		t.Error("sealing twice gives the same bytes")
	}
}

func TestSealedValuesDoNotOpenElsewhere(t *testing.T) {
	k := keeper(t, 1)
	sealed := seal(t, k, "secret-value")
	for name, change := range map[string]func(*secrets.Place){
		"org":         func(p *secrets.Place) { p.Org = models.NewID[models.OrgEntity]() },
		"no org":      func(p *secrets.Place) { p.Org = models.OrgID{} },
		"table":       func(p *secrets.Place) { p.Table = "mcp_servers" },
		"column":      func(p *secrets.Place) { p.Column = "name" },
		"row":         func(p *secrets.Place) { p.Row = "prov_2" },
		"moved parts": func(p *secrets.Place) { p.Table, p.Column = "providersc", "redentials" },
	} {
		elsewhere := place
		change(&elsewhere)
		if got, err := k.Open(sealed, elsewhere); !errors.Is(err, secrets.ErrOpen) || got != nil {
			t.Errorf("%s: got %q, %v; want ErrOpen", name, got, err)
		}
	}
}

func TestChangedValuesDoNotOpen(t *testing.T) {
	k := keeper(t, 1)
	sealed := seal(t, k, "secret-value")
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := k.Open(changed, place); !errors.Is(err, secrets.ErrOpen) {
			t.Fatalf("byte %d changed: got %v, want ErrOpen", i, err)
		}
	}
	for n := range sealed {
		if _, err := k.Open(sealed[:n], place); !errors.Is(err, secrets.ErrOpen) {
			t.Fatalf("cut to %d bytes: got %v, want ErrOpen", n, err)
		}
	}
}

func TestOnlyConfiguredMasterKeysOpen(t *testing.T) {
	old := seal(t, keeper(t, 1), "secret-value")
	if _, err := keeper(t, 2).Open(old, place); !errors.Is(err, secrets.ErrOpen) {
		t.Errorf("another key: got %v, want ErrOpen", err)
	}
	rotated := keeper(t, 2, 1)
	if got, err := rotated.Open(old, place); err != nil || string(got) != "secret-value" {
		t.Errorf("the previous key: got %q, %v", got, err)
	}
	if _, err := keeper(t, 1).Open(seal(t, rotated, "new"), place); !errors.Is(err, secrets.ErrOpen) {
		t.Errorf("a rotated keeper must seal under the current key; the old one gave %v", err)
	}
}

func TestColumnsBindTheRow(t *testing.T) {
	c := keeper(t, 1).SigningKeys()
	sealed, err := c.Seal("a", []byte("private"))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.Open("a", sealed); err != nil || string(got) != "private" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := c.Open("b", sealed); !errors.Is(err, secrets.ErrOpen) {
		t.Errorf("another row: got %v, want ErrOpen", err)
	}
}

func TestDerivedSecrets(t *testing.T) {
	get := func(k *secrets.Keeper, purpose string) [][]byte {
		list, err := k.Secrets(purpose)
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	a, b := get(keeper(t, 1), "one"), get(keeper(t, 2, 1), "one")
	if len(a) != 1 || len(b) != 2 || !bytes.Equal(a[0], b[1]) || bytes.Equal(b[0], b[1]) {
		t.Error("the secrets must follow the keys, the current one first")
	}
	if bytes.Equal(a[0], get(keeper(t, 1), "two")[0]) {
		t.Error("two purposes share a secret")
	}
	if _, err := secrets.NewKeeper(make([]byte, 31)); err == nil {
		t.Error("a short key was accepted")
	}
}
