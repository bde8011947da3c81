package models

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Millis is a point in time in milliseconds since 1970, UTC: the form of all times in the database.
type Millis int64

// MillisOf rounds down to the millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns the point in time in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Ptr returns the time as a nullable column holds it.
func (m Millis) Ptr() *Millis { return &m }

// JSON is a JSON document, as stored. Its bytes are kept as they were written.
type JSON []byte

// Value implements driver.Valuer.
func (j JSON) Value() (driver.Value, error) {
	if len(j) == 0 {
		return nil, nil
	}
	return string(j), nil
}

// Scan implements sql.Scanner.
func (j *JSON) Scan(src any) error {
	switch v := src.(type) {
	case nil:
		*j = nil
	case []byte:
		*j = append(JSON(nil), v...)
	case string:
		*j = JSON(v)
	default:
		return fmt.Errorf("scan %T into JSON: want text", src)
	}
	return nil
}

// GormDataType names the column type.
func (JSON) GormDataType() string { return "json" }

// MarshalJSON returns the document as it is; an empty one is null.
func (j JSON) MarshalJSON() ([]byte, error) {
	if len(j) == 0 {
		return []byte("null"), nil
	}
	return j, nil
}

// UnmarshalJSON keeps the document as it is.
func (j *JSON) UnmarshalJSON(b []byte) error {
	*j = append(JSON(nil), b...)
	return nil
}

// listValue is the value of a list that is stored as JSON.
func listValue[T any](list []T) (driver.Value, error) {
	if len(list) == 0 {
		return "[]", nil
	}
	b, err := json.Marshal(list)
	return string(b), err
}

func scanList[T any](list *[]T, src any) error {
	var j JSON
	if err := j.Scan(src); err != nil {
		return err
	}
	*list = nil
	if len(j) == 0 {
		return nil
	}
	return json.Unmarshal(j, list)
}

// ModelIDs is a list of models, stored as a JSON list.
type ModelIDs []ModelID

// Value implements driver.Valuer. No list is an empty one.
func (l ModelIDs) Value() (driver.Value, error) { return listValue(l) }

// Scan implements sql.Scanner.
func (l *ModelIDs) Scan(src any) error { return scanList((*[]ModelID)(l), src) }

// GormDataType names the column type.
func (ModelIDs) GormDataType() string { return "json" }

// Nanos is an amount of US dollars in 10^-9 dollars. Money is never a float.
type Nanos int64

// Usage counts what model calls took. CostNanos is the sum of what had a price; Unpriced reports that some part
// had none, so that the sum must not be shown as the whole. ProviderCost reports that CostNanos is what the provider has reported of this
// one call, which no price of ours replaces; sums never have it, and no row keeps it beside its usage but the journal's own column.
type Usage struct {
	InputTokens      int64 `json:"inputTokens"`
	OutputTokens     int64 `json:"outputTokens"`
	CacheReadTokens  int64 `json:"cacheReadTokens"`
	CacheWriteTokens int64 `json:"cacheWriteTokens"`
	ReasoningTokens  int64 `json:"reasoningTokens"`
	CostNanos        Nanos `json:"costNanos"`
	Unpriced         bool  `json:"unpriced,omitempty"`
	ProviderCost     bool  `json:"providerCost,omitempty" gorm:"-"`
}

// Add returns the sum of two usages. Providers tell what they like, so a sum that is too large stays at the largest number: it must not
// become a negative one.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:      sum(u.InputTokens, v.InputTokens),
		OutputTokens:     sum(u.OutputTokens, v.OutputTokens),
		CacheReadTokens:  sum(u.CacheReadTokens, v.CacheReadTokens),
		CacheWriteTokens: sum(u.CacheWriteTokens, v.CacheWriteTokens),
		ReasoningTokens:  sum(u.ReasoningTokens, v.ReasoningTokens),
		CostNanos:        sum(u.CostNanos, v.CostNanos),
		Unpriced:         u.Unpriced || v.Unpriced,
	}
}

func sum[T ~int64](a, b T) T {
	if b > 0 && a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Failure tells why something ended badly: a code of a closed list, a text for people, and fields for programs.
type Failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
	Fields  JSON   `json:"fields,omitempty"`
}

// PartType tells what a Part holds.
type PartType string

// The types of parts.
const (
	PartText       PartType = "text"
	PartImage      PartType = "image"
	PartThinking   PartType = "thinking"
	PartToolCall   PartType = "tool_call"
	PartToolResult PartType = "tool_result"
)

// Part is a piece of a message. Which fields are set follows from Type.
type Part struct {
	Type PartType `json:"type"`
	// Text of PartText and PartThinking.
	Text string `json:"text,omitempty"`
	// ImageID and MediaType of PartImage.
	ImageID   *ImageID `json:"imageId,omitempty"`
	MediaType string   `json:"mediaType,omitempty"`
	// ToolCallID, ToolName and Arguments of PartToolCall; the first two also of PartToolResult.
	ToolCallID string `json:"toolCallId,omitempty"`
	ToolName   string `json:"toolName,omitempty"`
	Arguments  JSON   `json:"arguments,omitempty"`
	// Success, and Result or Error, of PartToolResult.
	Success bool   `json:"success,omitempty"`
	Result  JSON   `json:"result,omitempty"`
	Error   string `json:"error,omitempty"`
	// ConnectionRequired of PartToolResult is the outside provider that the user must connect first.
	ConnectionRequired string `json:"connectionRequired,omitempty"`
	// Metadata is what the provider wants to see again, unchanged. It is never shown.
	Metadata JSON `json:"metadata,omitempty"`
	// Origin is the provider and the model that Metadata is for. No other is given it.
	Origin string `json:"origin,omitempty"`
}

// CapabilityRef attaches a capability, with its settings, to a harness, an agent or a session.
type CapabilityRef struct {
	ID     string `json:"id"`
	Config JSON   `json:"config,omitempty"`
}

// ClientTool is a tool that the caller's own program runs.
type ClientTool struct {
	Name        string `json:"name"`
	DisplayName string `json:"displayName"`
	Description string `json:"description"`
	// InputSchema is a JSON Schema whose root is an object.
	InputSchema JSON `json:"inputSchema"`
	// TimeoutSeconds is how long a turn waits for a result; nil for ever.
	TimeoutSeconds *int `json:"timeoutSeconds,omitempty"`
}

// ClientTools is a list of client tools, stored as a JSON list.
type ClientTools []ClientTool

// Value implements driver.Valuer. No list is an empty one.
func (l ClientTools) Value() (driver.Value, error) { return listValue(l) }

// Scan implements sql.Scanner.
func (l *ClientTools) Scan(src any) error { return scanList((*[]ClientTool)(l), src) }

// GormDataType names the column type.
func (ClientTools) GormDataType() string { return "json" }

// Todo is a line of the agent's plan. Status is PENDING, IN_PROGRESS or COMPLETED.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}
