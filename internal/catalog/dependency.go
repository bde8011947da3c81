package catalog

import (
	"fmt"

	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
)

// DependencyError reports that a harness, an agent or a capability that a turn needs is archived or gone. The engine ends
// the turn with the code dependency_unavailable.
type DependencyError struct {
	// Dependency is harness, agent, capability or client tool.
	Dependency string
	// ID is the outside form of its id.
	ID string
	// Name is its name, for people; a deleted one may have none.
	Name  string
	State models.Lifecycle
	// Reason says what is wrong when it is neither archived nor gone.
	Reason string
}

func (e *DependencyError) Error() string {
	if e.Reason != "" {
		return e.Reason
	}
	name := e.Name
	if name == "" {
		name = e.ID
	}
	switch e.State {
	case models.LifecycleArchived:
		return fmt.Sprintf("The %s %s is archived. Unarchive it, or choose another one.", e.Dependency, name)
	default:
		return fmt.Sprintf("The %s %s is no longer available. Choose another one.", e.Dependency, name)
	}
}

// Fault returns the failure for a request that names the dependency, or something that needs it, in a field of its input.
func (e *DependencyError) Fault(field string) *fault.Error {
	return fault.New(fault.Dependency, "%s", e.Error()).At("input", field)
}

// ModelReason tells why there is no model to run with.
type ModelReason string

// The reasons.
const (
	ModelNone             ModelReason = "none"
	ModelGone             ModelReason = "gone"
	ModelDisabled         ModelReason = "disabled"
	ModelProviderArchived ModelReason = "provider_archived"
)

// ModelError reports that no usable model was found: nothing names one, or the one that is named can't be used. What is
// named is never replaced silently by something more general. The engine ends the turn with the code
// provider_misconfigured.
type ModelError struct {
	Reason ModelReason
	// ModelID is the model that was named; nil when none was.
	ModelID *models.ModelID
	// Name is what people call it.
	Name string
	// Provider is the provider's name.
	Provider string
}

func (e *ModelError) Error() string {
	switch e.Reason {
	case ModelNone:
		return "No model is chosen. Choose one for the message, the session, the agent, the harness or the organization."
	case ModelDisabled:
		return fmt.Sprintf("The model %s is disabled. Enable it, or choose another one.", e.Name)
	case ModelProviderArchived:
		return fmt.Sprintf("The provider %s of the model %s is archived. Choose another model.", e.Provider, e.Name)
	default:
		return fmt.Sprintf("The model %s no longer exists. Choose another one.", e.ModelID)
	}
}

// Fault returns the failure for a request that names the model in a field of its input.
func (e *ModelError) Fault(field string) *fault.Error {
	return fault.New(fault.Dependency, "%s", e.Error()).At("input", field)
}

// usableChain looks for a harness in a line of inheritance that is not active: a harness needs all that it inherits from,
// because running without a part of it would degrade it silently.
func usableChain(chain []models.Harness) *DependencyError {
	for i := len(chain) - 1; i >= 0; i-- {
		if h := &chain[i]; h.Lifecycle != models.LifecycleActive {
			return &DependencyError{Dependency: "harness", ID: h.ID.String(), Name: h.Name, State: h.Lifecycle}
		}
	}
	return nil
}

func usableAgent(a *models.Agent) *DependencyError {
	if a.Lifecycle == models.LifecycleActive {
		return nil
	}
	return &DependencyError{Dependency: "agent", ID: a.ID.String(), Name: a.Name, State: a.Lifecycle}
}
