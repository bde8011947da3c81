package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/vektah/gqlparser/v2"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/web"
)

// TestTrustedDocuments checks each manifest: of the releases that browsers may still show, too, every document must be what its
// hash says, and must fit the schema of today.
func TestTrustedDocuments(t *testing.T) {
	t.Parallel()
	all, err := web.TrustedDocuments()
	if err != nil {
		t.Fatal(err)
	}
	schema := generated.NewExecutableSchema(generated.Config{}).Schema()
	for hash, text := range all {
		if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != hash {
			t.Errorf("%s is not the hash of %s", hash, text)
		}
		if _, err := gqlparser.LoadQueryWithRules(schema, text, nil); err != nil {
			t.Errorf("%v in %s", err, text)
		}
	}
	files, err := filepath.Glob("../../web/trusted/*.json")
	if err != nil || len(files) == 0 || len(files) > 4 {
		t.Fatalf("want the current documents and those of at most three releases: %v, %v", files, err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var own map[string]string
		if err := json.Unmarshal(b, &own); err != nil {
			t.Fatal(file, err)
		}
		for hash, text := range own {
			if all[hash] != text {
				t.Errorf("%s: %s is not among those that the server knows", file, hash)
			}
		}
		if filepath.Base(file) == "current.json" && len(own) < 50 {
			t.Errorf("only %d documents of the dashboard", len(own))
		}
	}
}
