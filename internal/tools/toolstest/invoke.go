package toolstest

import (
	"encoding/json"
	"testing"

	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/tools"
)

// Invoke takes a call of a capability's tool all the way: offered, prepared, run. The capability must do without
// others.
func Invoke(tb testing.TB, c tools.Capability, call *Call, name, arguments string) tools.Result {
	tb.Helper()
	registry, err := tools.NewRegistry(c)
	if err != nil {
		tb.Fatal(err)
	}
	set, err := registry.Resolve([]models.CapabilityRef{{ID: c.ID}})
	if err != nil {
		tb.Fatal(err)
	}
	frozen, ended := tools.Prepare(tb.Context(), set, &call.Call, name, json.RawMessage(arguments))
	if ended != nil {
		return *ended
	}
	return tools.Run(tb.Context(), registry, &call.Call, frozen)
}
