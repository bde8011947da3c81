package tools_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
)

func TestInputHash(t *testing.T) {
	f := tools.Frozen{ToolID: "a.b", Arguments: json.RawMessage(`{"x":"<&>","y":[1,2]}`)}
	hash := f.InputHash()
	if len(hash) != 32 {
		t.Fatalf("the hash has %d bytes", len(hash))
	}
	// The journal keeps JSON; encoding/json escapes what canonical JSON doesn't.
	doc, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var stored tools.Frozen
	if err := json.Unmarshal(doc, &stored); err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(stored.Arguments, f.Arguments) {
		t.Fatal("the test wants arguments that a store rewrites")
	}
	if !bytes.Equal(stored.InputHash(), hash) {
		t.Fatal("the hash changed in the journal")
	}
	for name, other := range map[string]tools.Frozen{
		"other tool":      {ToolID: "a.c", Arguments: f.Arguments},
		"other arguments": {ToolID: "a.b", Arguments: json.RawMessage(`{"x":"<&>","y":[2,1]}`)},
		"broken":          {ToolID: "a.b", Arguments: json.RawMessage(`{`)},
		"none":            {ToolID: "a.b"},
	} {
		if bytes.Equal(other.InputHash(), hash) {
			t.Errorf("%s: same hash", name)
		}
	}
	same := tools.Frozen{ToolID: "a.b", Name: "renamed", Arguments: json.RawMessage(` {"y":[1.0,2],"x":"\u003c&>"}`)}
	if !bytes.Equal(same.InputHash(), hash) {
		t.Error("the hash depends on the tool's name or on how arguments are written")
	}
}
