package catalog

import (
	"strings"

	"github.com/ostler-dev/ostler/internal/models"
)

// Layer is what one harness, an agent, a session or a message says about how a turn runs. The zero Layer says nothing.
type Layer struct {
	Prompt       string
	Capabilities []models.CapabilityRef
	ModelID      *models.ModelID
	// Fallbacks are the models to ask when that one can't be reached, in this order; empty says nothing.
	Fallbacks     []models.ModelID
	MaxIterations *int
	// StreamRecovery tells what becomes of an answer that its runner did not live to finish.
	StreamRecovery *models.StreamRecovery
}

// Fold puts layers on top of each other, the most general first: prompts append, with a blank line between; a capability
// keeps its first place and takes its last settings; of model, fallback models, iteration cap and stream recovery the
// last one set wins. Fold is associative, so that a part of the layers may be folded beforehand.
func Fold(layers ...Layer) Layer {
	var f Layer
	var prompts []string
	place := map[string]int{}
	for _, l := range layers {
		if l.Prompt != "" {
			prompts = append(prompts, l.Prompt)
		}
		for _, c := range l.Capabilities {
			if i, ok := place[c.ID]; ok {
				f.Capabilities[i] = c
				continue
			}
			place[c.ID] = len(f.Capabilities)
			f.Capabilities = append(f.Capabilities, c)
		}
		if l.ModelID != nil {
			f.ModelID = l.ModelID
		}
		if len(l.Fallbacks) > 0 {
			f.Fallbacks = l.Fallbacks
		}
		if l.MaxIterations != nil {
			f.MaxIterations = l.MaxIterations
		}
		if l.StreamRecovery != nil {
			f.StreamRecovery = l.StreamRecovery
		}
	}
	f.Prompt = strings.Join(prompts, "\n\n")
	return f
}

func harnessLayer(h *models.Harness) Layer {
	l := Layer{
		Capabilities: h.Capabilities, ModelID: h.DefaultModelID, Fallbacks: h.FallbackModelIDs, MaxIterations: h.MaxIterations,
		StreamRecovery: h.StreamRecovery,
	}
	if h.SystemPrompt != nil {
		l.Prompt = strings.TrimSpace(*h.SystemPrompt)
	}
	return l
}

func agentLayer(a *models.Agent) Layer {
	return Layer{
		Prompt: strings.TrimSpace(a.SystemPrompt), Capabilities: a.Capabilities, ModelID: a.DefaultModelID,
		Fallbacks: a.FallbackModelIDs, MaxIterations: a.MaxIterations,
	}
}

// layersOf returns the layers of a line of harnesses, root first, and of an agent, which may be nil.
func layersOf(chain []models.Harness, agent *models.Agent) []Layer {
	layers := make([]Layer, 0, len(chain)+2)
	for i := range chain {
		layers = append(layers, harnessLayer(&chain[i]))
	}
	if agent != nil {
		layers = append(layers, agentLayer(agent))
	}
	return layers
}
