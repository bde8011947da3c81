package toolstest_test

import (
	"errors"
	"testing"

	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/toolstest"
)

func TestMemoryConforms(t *testing.T) {
	toolstest.TestFiles(t, func(*testing.T) tools.Files { return toolstest.NewMemory() })
}

func TestMemoryLimits(t *testing.T) {
	m := toolstest.NewMemory()
	m.MaxFileBytes, m.MaxTotalBytes = 4, 6
	steps := []struct {
		path, content, code string
	}{
		{"/workspace/a", "12345", "too_large"},
		{"/workspace/a", "1234", ""},
		{"/workspace/b", "123", "quota_exceeded"},
		{"/workspace/a", "1", ""},
		{"/outputs/b", "1234", ""},
	}
	for _, s := range steps {
		_, err := m.Write(t.Context(), s.path, []byte(s.content), nil)
		code := ""
		if p := (*tools.PathError)(nil); errors.As(err, &p) {
			code = p.Code
		}
		if code != s.code {
			t.Fatalf("write %s of %d bytes: %v, want %q", s.path, len(s.content), err, s.code)
		}
	}
}
