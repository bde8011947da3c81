package catalog

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/models"
)

// snapshot is the state of a harness or an agent in its history. It names its fields as the API does, in this order. It holds no secrets: the
// settings of capabilities have none so far; once a schema can mark one, it is to be left out here.
type snapshot struct {
	Name        string  `json:"name"`
	DisplayName string  `json:"displayName"`
	Description *string `json:"description"`
	// ParentID is a harness's, and HarnessID an agent's; the other one is nil.
	ParentID         **models.HarnessID     `json:"parentId,omitempty"`
	HarnessID        **models.HarnessID     `json:"harnessId,omitempty"`
	SystemPrompt     *string                `json:"systemPrompt"`
	Capabilities     []models.CapabilityRef `json:"capabilities"`
	DefaultModelID   *models.ModelID        `json:"defaultModelId"`
	FallbackModelIDs []models.ModelID       `json:"fallbackModelIds"`
	MaxIterations    *int                   `json:"maxIterations"`
	StreamRecovery   *models.StreamRecovery `json:"streamRecovery,omitempty"`
	ClientTools      []models.ClientTool    `json:"clientTools,omitempty"`
	Tags             *[]string              `json:"tags,omitempty"`
	Lifecycle        models.Lifecycle       `json:"lifecycle"`
}

func (d *definition[T, E]) snapshot(row *T) (models.JSON, error) {
	f := d.shared(row)
	state := snapshot{
		Name: *f.name, DisplayName: *f.displayName, Description: *f.description, Capabilities: orEmpty(*f.capabilities),
		DefaultModelID: *f.defaultModel, FallbackModelIDs: orEmpty([]models.ModelID(*f.fallbacks)), MaxIterations: *f.maxIterations, Lifecycle: *f.lifecycle,
	}
	d.snapshotOwn(row, &state)
	doc, err := jsonx.Encode(state)
	if err != nil {
		return nil, fmt.Errorf("make a snapshot: %w", err)
	}
	return models.JSON(doc), nil
}

func (d *definition[T, E]) snapshots(a, b *T) (was, is models.JSON, err error) {
	if was, err = d.snapshot(a); err == nil {
		is, err = d.snapshot(b)
	}
	return was, is, err
}

// orEmpty makes [] of no list: null would be a difference that there isn't.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// change returns the change that makes a document what it was, but for what no change can give it.
func (s *snapshot) change() Change {
	c := Change{
		DisplayName: Give(&s.DisplayName), Description: Give(s.Description), SystemPrompt: Give(s.SystemPrompt),
		Capabilities: Give(s.Capabilities), DefaultModelID: Give(s.DefaultModelID), FallbackModelIDs: Give(s.FallbackModelIDs),
		MaxIterations: Give(s.MaxIterations), StreamRecovery: Give(s.StreamRecovery), ClientTools: Give(s.ClientTools),
		HarnessID: Opt[*models.HarnessID]{Given: true}, Tags: Opt[[]string]{Given: true},
	}
	if s.HarnessID != nil {
		c.HarnessID.Value = *s.HarnessID
	}
	if s.Tags != nil {
		c.Tags.Value = *s.Tags
	}
	return c
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

// fieldsOf returns the fields of an object and the order in which they stand.
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
