package e2e

import (
	"bytes"
	"os"
	"testing"
)

// TestNothingOfFaultTests looks for what a build with the tag chaos adds: the program as it is shipped has none of it.
func TestNothingOfFaultTests(t *testing.T) {
	t.Parallel()
	p := start(t, newPlace(t, "sqlite").env)
	var got struct{ Capabilities []struct{ ID string } }
	signIn(t, p).do(t, `{ capabilities { id } }`, nil, &got)
	if len(got.Capabilities) == 0 {
		t.Error("the program offers no capability at all")
	}
	for _, c := range got.Capabilities {
		if c.ID == "chaos" {
			t.Error("the program offers the capability chaos")
		}
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	// A name of a setting that every build has shows that the search finds what is there.
	if !bytes.Contains(program, []byte("OSTLER_DATA_DIR")) {
		t.Error("the program does not hold the names of its settings in a form that can be found")
	}
	// Not those that the guides speak of, which the program serves.
	for _, name := range []string{"OSTLER_CHAOS_SEED", "OSTLER_CHAOS_FILE"} {
		if bytes.Contains(program, []byte(name)) {
			t.Errorf("the program holds %q", name)
		}
	}
}
