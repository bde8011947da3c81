package resolvers

import (
	"encoding/binary"
	"time"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/budget/books"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
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
func usageCursor(groups []books.UsageGroup, k *books.UsageKey) string {
	var key []byte
	write := func(s string) {
		key = binary.AppendUvarint(key, uint64(len(s)))
		key = append(key, s...)
	}
	for _, g := range groups {
		switch g {
		case books.ByDay:
			key = binary.BigEndian.AppendUint64(key, uint64(k.Day)) //nolint:gosec // G115: the bits come back as they went
		case books.ByModel:
			key = append(key, k.ModelID[:]...)
		case books.ByAgent:
			key = append(key, k.AgentID[:]...)
		case books.ByUser:
			key = append(key, k.UserID[:]...)
		case books.BySession:
			key = append(key, k.SessionID[:]...)
		case books.ByCustomer:
			write(k.CustomerKey)
		case books.ByTool:
			write(k.Tool)
		}
	}
	return encodeCursor(usageCursorKind(groups), key)
}

func usageCursorKind(groups []books.UsageGroup) string {
	kind := usageKind
	for _, g := range groups {
		kind += string(g[:2]) // enough to tell them apart
	}
	return kind
}

// decodeUsageCursor reads a cursor of usageCursor, of the same groups.
func decodeUsageCursor(groups []books.UsageGroup, cursor string) (books.UsageKey, *fault.Error) {
	var k books.UsageKey
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
		case books.ByDay:
			k.Day = int64(binary.BigEndian.Uint64(take(8))) //nolint:gosec // G115: see usageCursor
		case books.ByModel:
			k.ModelID = models.ModelID(take(16))
		case books.ByAgent:
			k.AgentID = models.AgentID(take(16))
		case books.ByUser:
			k.UserID = models.UserID(take(16))
		case books.BySession:
			k.SessionID = models.SessionID(take(16))
		case books.ByCustomer:
			k.CustomerKey = read()
		case books.ByTool:
			k.Tool = read()
		}
	}
	// The database takes neither: no group is called so.
	if usageCursor(groups, &k) != cursor || max(k.Day, -k.Day) > maxUsageDay || !text.Storable(k.CustomerKey) || !text.Storable(k.Tool) {
		return books.UsageKey{}, errForeignCursor()
	}
	return k, nil
}

func encodeUsageRow(groups []books.UsageGroup, row *books.UsageRow) *model.UsageRow {
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
		if g == books.ByDay {
			out.Day = new(time.Unix(row.Day*secondsOfDay, 0).UTC().Format(time.DateOnly))
		}
	}
	return out
}
