package docs_test

import (
	"os"
	"path/filepath"
	"testing"
)

// TestRecipes wants the code of the guide to subscriptions to be the code that e2e runs.
func TestRecipes(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("subscriptions.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{}
	for _, text := range blocks(string(page), "js") {
		shown[text] = true
	}
	files, err := filepath.Glob("../e2e/clients/recipes/*.mjs")
	if err != nil || len(files) == 0 {
		t.Fatalf("the recipes: %v, %v", files, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		if !shown[string(text)] {
			t.Errorf("subscriptions.md does not show %s as it is", f)
		}
	}
	if len(shown) != len(files) {
		t.Errorf("subscriptions.md shows %d recipes, there are %d", len(shown), len(files))
	}
}
