package ask

import (
	"context"
	"fmt"
	"time"

	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/llm"
)

// reach returns who speaks a model's protocol, and where. Its errors tell what is not set up.
func (m *Models) reach(ctx context.Context, of *catalog.RunModel) (llm.Driver, llm.Endpoint, error) {
	p := &of.Provider
	wrong := func(cause error, format string, args ...any) (llm.Driver, llm.Endpoint, error) {
		return nil, llm.Endpoint{}, &llm.Error{Code: llm.CodeMisconfigured, Message: fmt.Sprintf(format, args...), Cause: cause}
	}
	driver := m.cfg.Drivers[p.Kind]
	if driver == nil {
		return wrong(nil, "This server has no driver for providers of kind %s.", p.Kind)
	}
	at, err := m.cfg.Catalog.Endpoint(ctx, p)
	if err != nil {
		return wrong(err, "The API key of the provider %s can't be read on this server. Enter it again in the provider's settings.", p.Name)
	}
	if at.APIKey == "" && p.Kind.NeedsKey() {
		return wrong(nil, "The provider %s has no API key. Enter one in the provider's settings.", p.Name)
	}
	return driver, at, nil
}

func restingError(m *catalog.RunModel, until time.Time) *llm.Error {
	return &llm.Error{Code: llm.CodeUnavailable, Transient: true, Message: fmt.Sprintf(
		"The provider %s has failed several times in a row, so it is not called again before %s. Try again then, or choose a model of another provider.",
		m.Provider.Name, until.Add(time.Second-1).UTC().Format("15:04:05 UTC"))}
}

func idleError(limit time.Duration, cause error) *llm.Error {
	return &llm.Error{Code: llm.CodeUnavailable, Transient: true, Cause: cause, Message: fmt.Sprintf(
		"The model sent nothing for %s, so the call was stopped. Try again later, or choose another model.", limit)}
}

// endlessError is not transient: the next call would take as long.
func endlessError(limit time.Duration, cause error) *llm.Error {
	return &llm.Error{Code: llm.CodeUnavailable, Cause: cause, Message: fmt.Sprintf(
		"The model did not finish within %s, so the call was stopped. Ask for less at once, or choose another model.", limit)}
}
