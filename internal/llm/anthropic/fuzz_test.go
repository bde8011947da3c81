package anthropic_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/anthropic"
	"github.com/ostler-dev/ostler/internal/llm/wiretest"
)

// Whatever a server sends, a call ends with an answer that is complete or with an error, and never with a panic.
func FuzzStream(f *testing.F) {
	for _, file := range fixtures {
		f.Add(strings.Join(wiretest.Events(f, file), ""))
	}
	f.Fuzz(func(t *testing.T, stream string) {
		d := anthropic.New(anthropic.Options{HTTP: &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
			return &http.Response{
				StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(stream)),
			}, nil
		})}})
		resp, err := d.Stream(t.Context(), llm.Request{Model: "m"}, func(llm.Delta) {})
		if (err == nil) != (resp.FinishReason != "") {
			t.Errorf("error %v with the finish reason %q", err, resp.FinishReason)
		}
		for _, p := range resp.Parts {
			if p.Type == "" {
				t.Errorf("a part without a type: %+v", p)
			}
		}
	})
}
