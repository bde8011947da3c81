package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/models"
)

// Snapshots name their fields as the API does, in the order of these types. They hold no secrets: the settings of
// capabilities have none so far; once a schema can mark one, snapshotRefs is where it is left out.

// harnessSnapshot is the state of a harness in its history.
type harnessSnapshot struct {
	Name             string                 `json:"name"`
	DisplayName      string                 `json:"displayName"`
	Description      *string                `json:"description"`
	ParentID         *models.HarnessID      `json:"parentId"`
	SystemPrompt     *string                `json:"systemPrompt"`
	Capabilities     []models.CapabilityRef `json:"capabilities"`
	DefaultModelID   *models.ModelID        `json:"defaultModelId"`
	FallbackModelIDs []models.ModelID       `json:"fallbackModelIds"`
	MaxIterations    *int                   `json:"maxIterations"`
	StreamRecovery   *models.StreamRecovery `json:"streamRecovery,omitempty"`
	Lifecycle        models.Lifecycle       `json:"lifecycle"`
}

// agentSnapshot is the state of an agent in its history.
type agentSnapshot struct {
	Name             string                 `json:"name"`
	DisplayName      string                 `json:"displayName"`
	Description      *string                `json:"description"`
	HarnessID        *models.HarnessID      `json:"harnessId"`
	SystemPrompt     string                 `json:"systemPrompt"`
	Capabilities     []models.CapabilityRef `json:"capabilities"`
	DefaultModelID   *models.ModelID        `json:"defaultModelId"`
	FallbackModelIDs []models.ModelID       `json:"fallbackModelIds"`
	MaxIterations    *int                   `json:"maxIterations"`
	ClientTools      []models.ClientTool    `json:"clientTools,omitempty"`
	Tags             []string               `json:"tags"`
	Lifecycle        models.Lifecycle       `json:"lifecycle"`
}

func snapshotHarness(h *models.Harness) (models.JSON, error) {
	return snapshot(harnessSnapshot{
		Name: h.Name, DisplayName: h.DisplayName, Description: h.Description, ParentID: h.ParentID, SystemPrompt: h.SystemPrompt,
		Capabilities: snapshotRefs(h.Capabilities), DefaultModelID: h.DefaultModelID,
		FallbackModelIDs: orEmpty(h.FallbackModelIDs), MaxIterations: h.MaxIterations, StreamRecovery: h.StreamRecovery, Lifecycle: h.Lifecycle,
	})
}

func snapshotAgent(a *models.Agent) (models.JSON, error) {
	return snapshot(agentSnapshot{
		Name: a.Name, DisplayName: a.DisplayName, Description: a.Description, HarnessID: a.HarnessID, SystemPrompt: a.SystemPrompt,
		Capabilities: snapshotRefs(a.Capabilities), DefaultModelID: a.DefaultModelID,
		FallbackModelIDs: orEmpty(a.FallbackModelIDs), MaxIterations: a.MaxIterations,
		ClientTools: a.ClientTools, Tags: orEmpty(a.Tags), Lifecycle: a.Lifecycle,
	})
}

func snapshotRefs(refs []models.CapabilityRef) []models.CapabilityRef { return orEmpty(refs) }

// orEmpty makes [] of no list: null would be a difference that there isn't.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func snapshot(state any) (models.JSON, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(state); err != nil {
		return nil, fmt.Errorf("make a snapshot: %w", err)
	}
	return models.JSON(bytes.TrimSpace(b.Bytes())), nil
}

// change gives the change that makes a harness what it was. Name, parent and lifecycle stay: no change of a harness can
// give it others.
func (s *harnessSnapshot) change() HarnessChange {
	return HarnessChange{
		DisplayName: Give(&s.DisplayName), Description: Give(s.Description), SystemPrompt: Give(s.SystemPrompt),
		Capabilities: Give(s.Capabilities), DefaultModelID: Give(s.DefaultModelID), FallbackModelIDs: Give(s.FallbackModelIDs),
		MaxIterations: Give(s.MaxIterations), StreamRecovery: Give(s.StreamRecovery),
	}
}

// change gives the change that makes an agent what it was, but for its name and its lifecycle.
func (s *agentSnapshot) change() AgentChange {
	return AgentChange{
		DisplayName: Give(&s.DisplayName), Description: Give(s.Description), HarnessID: Give(s.HarnessID),
		SystemPrompt: Give(&s.SystemPrompt), Capabilities: Give(s.Capabilities), DefaultModelID: Give(s.DefaultModelID),
		FallbackModelIDs: Give(s.FallbackModelIDs), MaxIterations: Give(s.MaxIterations),
		ClientTools: Give(s.ClientTools), Tags: Give(s.Tags),
	}
}

// FieldChange is a field that a change gave another value. Before and After are its values as JSON.
type FieldChange struct {
	Field         string
	Before, After models.JSON
}

// Differences compares two snapshots field by field, in the order of the fields of after. A field that only one of them has
// is null in the other.
func Differences(before, after models.JSON) ([]FieldChange, error) {
	was, old, err := fieldsOf(before)
	if err != nil {
		return nil, err
	}
	is, order, err := fieldsOf(after)
	if err != nil {
		return nil, err
	}
	for _, name := range old {
		if _, ok := is[name]; !ok {
			order = append(order, name)
		}
	}
	list := []FieldChange{}
	for _, name := range order {
		b, a := orNullJSON(was[name]), orNullJSON(is[name])
		if !bytes.Equal(b, a) {
			list = append(list, FieldChange{Field: name, Before: b, After: a})
		}
	}
	return list, nil
}

func orNullJSON(v models.JSON) models.JSON {
	if len(v) == 0 {
		return models.JSON("null")
	}
	return v
}

// fieldsOf gives the fields of an object and the order in which they stand.
func fieldsOf(doc models.JSON) (fields map[string]models.JSON, order []string, err error) {
	if err := json.Unmarshal(doc, &fields); err != nil {
		return nil, nil, fmt.Errorf("read a snapshot: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(doc))
	if _, err := dec.Token(); err != nil {
		return nil, nil, fmt.Errorf("read a snapshot: %w", err)
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("read a snapshot: %w", err)
		}
		var skip json.RawMessage
		if err := dec.Decode(&skip); err != nil {
			return nil, nil, fmt.Errorf("read a snapshot: %w", err)
		}
		order = append(order, fmt.Sprint(name))
	}
	return fields, order, nil
}
