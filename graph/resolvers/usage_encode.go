package resolvers

import (
	"encoding/binary"
	"time"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/spending"
	"github.com/ostler-dev/ostler/internal/text"
)

const (
	usageKind = "usage:"
	// maxUsageCursor has room for the longest customer key and the longest name of a tool, beside two ids.
	maxUsageCursor = 4096
	secondsOfDay   = 24 * 60 * 60
	// maxUsageDay is beyond any day that has a date of four digits.
	maxUsageDay = 4_000_000
)

// usageCursor returns the cursor of a group: which groups usage is divided by, and where this one stands among them.
func usageCursor(groups []spending.UsageGroup, k *spending.UsageKey) string {
	var key []byte
	write := func(s string) {
		key = binary.AppendUvarint(key, uint64(len(s)))
		key = append(key, s...)
	}
	for _, g := range groups {
		switch g {
		case spending.ByDay:
			key = binary.BigEndian.AppendUint64(key, uint64(k.Day)) //nolint:gosec // G115: the bits come back as they went
		case spending.ByModel:
			key = append(key, k.ModelID[:]...)
		case spending.ByAgent:
			key = append(key, k.AgentID[:]...)
		case spending.ByUser:
			key = append(key, k.UserID[:]...)
		case spending.BySession:
			key = append(key, k.SessionID[:]...)
		case spending.ByCustomer:
			write(k.CustomerKey)
		case spending.ByTool:
			write(k.Tool)
		}
	}
	return encodeCursor(usageCursorKind(groups), key)
}

func usageCursorKind(groups []spending.UsageGroup) string {
	kind := usageKind
	for _, g := range groups {
		kind += string(g[:2]) // enough to tell them apart
	}
	return kind
}

// decodeUsageCursor reads a cursor of usageCursor, of the same groups.
func decodeUsageCursor(groups []spending.UsageGroup, cursor string) (spending.UsageKey, *fault.Error) {
	var k spending.UsageKey
	key, bad := openCursor(usageCursorKind(groups), cursor, maxUsageCursor)
	if bad != nil {
		return k, bad
	}
	// What the key is too short for stays zero, and is found out below.
	take := func(n int) []byte {
		part := make([]byte, n)
		key = key[copy(part, key):]
		return part
	}
	read := func() string {
		n, width := binary.Uvarint(key)
		if width <= 0 || n > uint64(len(key)) {
			return ""
		}
		key = key[width:]
		return string(take(int(n))) //nolint:gosec // G115: it is no more than the key's length
	}
	for _, g := range groups {
		switch g {
		case spending.ByDay:
			k.Day = int64(binary.BigEndian.Uint64(take(8))) //nolint:gosec // G115: see usageCursor
		case spending.ByModel:
			k.ModelID = models.ModelID(take(16))
		case spending.ByAgent:
			k.AgentID = models.AgentID(take(16))
		case spending.ByUser:
			k.UserID = models.UserID(take(16))
		case spending.BySession:
			k.SessionID = models.SessionID(take(16))
		case spending.ByCustomer:
			k.CustomerKey = read()
		case spending.ByTool:
			k.Tool = read()
		}
	}
	// The database takes neither: no group is called so.
	if usageCursor(groups, &k) != cursor || max(k.Day, -k.Day) > maxUsageDay || !text.Storable(k.CustomerKey) || !text.Storable(k.Tool) {
		return spending.UsageKey{}, errForeignCursor()
	}
	return k, nil
}

func encodeUsageRow(groups []spending.UsageGroup, row *spending.UsageRow) *model.UsageRow {
	s := &row.UsageSums
	out := &model.UsageRow{
		Usage: encodeUsage(models.Usage{
			InputTokens: s.InputTokens, OutputTokens: s.OutputTokens, CacheReadTokens: s.CacheReadTokens, CacheWriteTokens: s.CacheWriteTokens,
			ReasoningTokens: s.ReasoningTokens, CostNanos: s.CostNanos, Unpriced: s.UnpricedCalls > 0,
		}),
		Turns: s.Turns, ModelCalls: s.ModelCalls, ToolCalls: s.ToolCalls,
		ModelID: row.ModelID.Ptr(), AgentID: row.AgentID.Ptr(), UserID: row.UserID.Ptr(), SessionID: row.SessionID.Ptr(),
		CustomerKey: nonEmpty(row.CustomerKey), Tool: nonEmpty(row.Tool),
	}
	for _, g := range groups {
		if g == spending.ByDay {
			out.Day = new(time.Unix(row.Day*secondsOfDay, 0).UTC().Format(time.DateOnly))
		}
	}
	return out
}
