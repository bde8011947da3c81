package egress_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/egress"
)

// TestWithoutAddress asks for addresses with a key, which go wrong in several ways: none of the errors names it, and what they are can be
// told as before.
func TestWithoutAddress(t *testing.T) {
	t.Parallel()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	here := egress.New(egress.Config{AllowLoopback: true})
	t.Cleanup(here.CloseIdleConnections)
	for name, test := range map[string]struct {
		client  *egress.Client
		address string
		blocked bool
	}{
		"nobody listens": {here, gone.URL + "/hook/the-key?key=the-key", false},
		"not allowed":    {egress.New(egress.Config{}), gone.URL + "/hook/the-key?key=the-key", true},
	} {
		_, err := test.client.HTTP().Get(test.address)
		if err == nil || !strings.Contains(err.Error(), "the-key") {
			t.Fatalf("%s: net/http says %v, and this test shows nothing", name, err)
		}
		bare := egress.WithoutAddress(err)
		if strings.Contains(bare.Error(), "the-key") || bare.Error() == "" {
			t.Errorf("%s: %v", name, bare)
		}
		if _, blocked := errors.AsType[*egress.BlockedError](bare); blocked != test.blocked {
			t.Errorf("%s: blocked is %v, want %v: %v", name, blocked, test.blocked, bare)
		}
	}
	address := strings.Join([]string{"https://example.com/the-key", "\x7f"}, "")
	_, err := url.Parse(address)
	if bare := egress.WithoutAddress(err); err == nil || strings.Contains(bare.Error(), "the-key") {
		t.Errorf("what can't be parsed: %v", bare)
	}
	if other := errors.New("another"); egress.WithoutAddress(other) != other { //nolint:errorlint // the same one
		t.Error("another error is changed")
	}
}
