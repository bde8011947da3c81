package catalog

import "github.com/ostler-dev/ostler/internal/models"

// Source is who says something about how a turn runs.
type Source string

// The sources, the most general first. The server says what nobody else does.
const (
	FromServer  Source = "SERVER"
	FromOrg     Source = "ORGANIZATION"
	FromHarness Source = "HARNESS"
	FromAgent   Source = "AGENT"
	FromSession Source = "SESSION"
)

// Origin is where a part of what a turn runs with comes from.
type Origin struct {
	// Of is the field of the API that it is of; of a capability it is "capabilities." with its id.
	Of     string
	Source Source
	// Name is what the harness or the agent is called; empty for other sources, and for an agent that doesn't exist yet.
	Name string
}

// originsOf tells of each part which layer has said it last, and of the prompt all that it is made of. The layers are those of layersOf and one
// more, the session's or the message's; refs are the capabilities in effect. defaulted reports that the model is the organization's.
func originsOf(chain []models.Harness, agent *models.Agent, layers []Layer, refs []models.CapabilityRef, defaulted bool) []Origin {
	list := make([]Origin, 0, len(layers)+len(refs)+4)
	said := map[string]Origin{}
	for i, l := range layers {
		from := Origin{Source: FromSession}
		switch {
		case i < len(chain):
			from = Origin{Source: FromHarness, Name: chain[i].DisplayName}
		case i == len(chain) && agent != nil:
			from = Origin{Source: FromAgent, Name: agent.DisplayName}
		}
		for of, says := range map[string]bool{
			"model": l.ModelID != nil, "fallbackModels": len(l.Fallbacks) > 0, "maxIterations": l.MaxIterations != nil, "streamRecovery": l.StreamRecovery != nil,
		} {
			if says {
				said[of] = from
			}
		}
		for _, c := range l.Capabilities {
			said["capabilities."+c.ID] = from
		}
		if l.Prompt != "" {
			list = append(list, Origin{Of: "systemPrompt", Source: from.Source, Name: from.Name})
		}
	}
	if defaulted {
		said["model"] = Origin{Source: FromOrg}
	}
	parts := []string{"model", "fallbackModels", "maxIterations", "streamRecovery"}
	for _, r := range refs {
		parts = append(parts, "capabilities."+r.ID)
	}
	for _, of := range parts {
		from, ok := said[of]
		if !ok {
			from.Source = FromServer // also what comes along with another capability
		}
		list = append(list, Origin{Of: of, Source: from.Source, Name: from.Name})
	}
	return list
}
