package models_test

import (
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
)

// Whatever is given as an id: it is refused, or it is exactly how that id is written.
func FuzzParseID(f *testing.F) {
	for _, s := range []string{"", "agent_", "agent_01933b5a7c1e7d4b8f3a2c1d0e9f8a7b", "AGENT_01933B5A7C1E7D4B8F3A2C1D0E9F8A7B", "sess_01933b5a7c1e7d4b8f3a2c1d0e9f8a7b", "agent_é1933b5a7c1e7d4b8f3a2c1d0e9f8a7b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if id, err := models.ParseID[models.AgentEntity](s); err == nil && id.String() != s {
			t.Fatalf("%q was read as %s", s, id)
		}
		if id, err := models.ParseID[models.SessionEntity](s); err == nil {
			if id.String() != s {
				t.Fatalf("%q was read as %s", s, id)
			}
			if _, err := models.ParseID[models.AgentEntity](s); err == nil {
				t.Fatalf("%q is an id of two kinds", s)
			}
		}
	})
}
