package httpapi

import (
	"context"
	"log/slog"
	"testing"

	"github.com/ostler-dev/ostler/graph/generated"
	"github.com/ostler-dev/ostler/internal/apiclient/attacks"
)

// FuzzRequest gives bodies to all that happens before an operation runs.
func FuzzRequest(f *testing.F) {
	for _, a := range attacks.All() {
		if len(a.Document) < 2000 {
			f.Add([]byte(`{"query":` + quote(a.Document) + `}`))
		}
	}
	f.Add([]byte(`{"query":"query($n:Int,$s:SessionFilter){sessions(first:$n,filter:$s){nodes{id}}}","variables":{"n":1.5,"s":{"status":["IDLE"]}}}`))
	f.Add([]byte(typename + typename))
	engine, err := newEngine(Config{}.withDefaults(), generated.NewExecutableSchema(generated.Config{}), slog.New(slog.DiscardHandler), unmetered{}, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		req, err := decodeRequest(body)
		if err != nil {
			return
		}
		_, errs := engine.prepare(context.Background(), req)
		for _, e := range errs {
			code, _ := e.Extensions["code"].(string)
			if !knownCode(code) || code == codeInternal {
				t.Errorf("%q: %v", body, e)
			}
		}
	})
}

// FuzzMessage feeds frames to the reader of messages.
func FuzzMessage(f *testing.F) {
	f.Add([]byte(init1))
	f.Add([]byte(subscribeFrame))
	f.Add([]byte(`{"id":"1","id":"2"}`))
	f.Fuzz(func(_ *testing.T, data []byte) {
		m, err := decodeMessage(data)
		if err != nil || m.payload == nil {
			return
		}
		_, _ = initToken(m.payload)
		_, _ = decodeRequest(m.payload)
	})
}
