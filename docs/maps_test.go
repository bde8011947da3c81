package docs_test

import (
	"bufio"
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// root is the repository.
var root = os.DirFS("..")

// files are the repository's own.
func files(t *testing.T) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "git", "-C", "..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	if err != nil {
		t.Fatalf("git can't list the files; is this a clone? %v", err)
	}
	list := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	return slices.DeleteFunc(list, func(f string) bool {
		_, err := fs.Stat(root, f)
		return err != nil // deleted, and not yet committed
	})
}

// packages are the directories of Go code that is written by hand, but for programs of tests.
func packages(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, f := range files(t) {
		dir := path.Dir(f)
		if strings.HasSuffix(f, ".go") && !strings.HasSuffix(f, "_test.go") && !strings.Contains(f, "testdata/") && !slices.Contains(list, dir) {
			list = append(list, dir)
		}
	}
	return list
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := fs.ReadFile(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The layout in the README, the table in architecture.md and the walls of the linter know every package, and no other.
func TestPackagesAreOnTheMaps(t *testing.T) {
	t.Parallel()
	readme, _, _ := strings.Cut(read(t, "README.md"), "\n## Guides")
	_, layout, _ := strings.Cut(readme, "\n## How the code is laid out\n\n```text\n")
	layout, _, _ = strings.Cut(layout, "```")
	_, table, _ := strings.Cut(read(t, "docs/architecture.md"), "\n## Packages")
	table, _, _ = strings.Cut(table, "\n## ")
	var lint struct {
		Linters struct {
			Settings struct {
				Depguard struct {
					Rules map[string]struct {
						Files []string `yaml:"files"`
					} `yaml:"rules"`
				} `yaml:"depguard"`
			} `yaml:"settings"`
		} `yaml:"linters"`
	}
	if err := yaml.Unmarshal([]byte(read(t, ".golangci.yml")), &lint); err != nil {
		t.Fatal(err)
	}
	walls := map[string]bool{}
	braces := regexp.MustCompile(`^\*\*/internal/\{?([a-z,]+)\}?/\*\*$`)
	for _, rule := range lint.Linters.Settings.Depguard.Rules {
		for _, pattern := range rule.Files {
			if m := braces.FindStringSubmatch(pattern); m != nil {
				for name := range strings.SplitSeq(m[1], ",") {
					walls["internal/"+name] = true
				}
			}
		}
	}
	named := regexp.MustCompile(`\b(?:cmd|graph|internal)/[a-z/]*[a-z]`)
	maps := map[string]map[string]bool{"README.md": {}, "docs/architecture.md": {}, ".golangci.yml": walls}
	for _, p := range named.FindAllString(layout, -1) {
		maps["README.md"][p] = true
	}
	for _, p := range named.FindAllString(table, -1) {
		maps["docs/architecture.md"][p] = true
	}
	all := packages(t)
	for name, known := range maps {
		for _, p := range all {
			parts := strings.Split(p, "/")
			if parts[0] != "internal" && (name == ".golangci.yml" || parts[0] != "cmd" && parts[0] != "graph") {
				continue
			}
			// Packages below another one go with it.
			if top := strings.Join(parts[:2], "/"); !known[top] && top != "graph/generated" && (top != "cmd/natsd" || name == "README.md") {
				t.Errorf("%s doesn't know %s", name, p)
			}
		}
		for p := range known {
			if !slices.ContainsFunc(all, func(dir string) bool { return dir == p || strings.HasPrefix(dir, p+"/") }) && !isFile(p) {
				t.Errorf("%s speaks of %s, which isn't there", name, p)
			}
		}
	}
}

// isFile reports whether a directory or a file, with or without its ending, is in the repository.
func isFile(p string) bool {
	_, err := fs.Stat(root, p)
	_, goErr := fs.Stat(root, p+".go")
	return err == nil || goErr == nil
}

// Paths that guides quote are there.
func TestQuotedPathsExist(t *testing.T) {
	t.Parallel()
	quoted := regexp.MustCompile("`((?:internal|cmd|graph|web|docs|e2e|bench|scripts)/[A-Za-z0-9_./-]+)`")
	for name, page := range guides(t) {
		if name == "../CHANGELOG.md" {
			continue // it tells of what was
		}
		for _, m := range quoted.FindAllStringSubmatch(page, -1) {
			if _, err := fs.Stat(root, strings.TrimSuffix(m[1], "/")); err != nil && !strings.HasPrefix(m[1], "web/dist") {
				t.Errorf("%s quotes %s, which isn't there", name, m[1])
			}
		}
	}
}

// Comments refer to no guide that isn't there.
func TestQuotedGuidesExist(t *testing.T) {
	t.Parallel()
	all := files(t)
	comment := regexp.MustCompile(`(?://|#|\*) .*`)
	guide := regexp.MustCompile(`[A-Za-z0-9_-]+\.md\b`)
	for _, f := range all {
		if ext := path.Ext(f); ext != ".go" && ext != ".ts" && ext != ".tsx" && ext != ".graphqls" && ext != ".sql" && ext != ".yml" && ext != ".sh" {
			continue
		}
		if strings.HasPrefix(f, "graph/generated/") {
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader([]byte(read(t, f))))
		lines.Buffer(nil, 1<<24)
		for n := 1; lines.Scan(); n++ {
			for _, name := range guide.FindAllString(comment.FindString(lines.Text()), -1) {
				if !slices.ContainsFunc(all, func(p string) bool { return path.Base(p) == name }) {
					t.Errorf("%s:%d refers to %s, which isn't there", f, n, name)
				}
			}
		}
	}
}
