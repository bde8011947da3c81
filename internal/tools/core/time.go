package core

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	// Time zones must be known on hosts without a zone database, too.
	_ "time/tzdata"

	"github.com/ostler-dev/ostler/internal/tools"
)

type timeArgs struct {
	Timezone string `json:"timezone,omitempty"`
}

type timeResult struct {
	// Time is RFC 3339, in the zone.
	Time     string `json:"time"`
	Timezone string `json:"timezone"`
	// Unix is in seconds.
	Unix int64 `json:"unix"`
}

func currentTime() tools.Tool {
	return tools.Define(tools.Spec[timeArgs]{
		Manifest: tools.Manifest{
			ID: "core.get_current_time", Name: "get_current_time", DisplayName: "Current time",
			Description: "Returns the current date and time, in UTC or in a time zone.",
			Hints:       tools.Hints{ReadOnly: true, Idempotent: true},
			InputSchema: json.RawMessage(`{
				"type": "object",
				"properties": {
					"timezone": {"type": "string", "maxLength": 64, "description": "IANA name of a time zone, e.g. Europe/Berlin. Default: UTC."}
				},
				"additionalProperties": false
			}`),
		},
		Execute: func(_ context.Context, call *tools.Call, args timeArgs) tools.Result {
			zone, err := loadZone(args.Timezone)
			if err != nil {
				return tools.Fail(fmt.Sprintf("invalid_timezone: %q is not the IANA name of a time zone. "+
					"Use a name like Europe/Berlin, America/New_York or UTC.", tools.Shorten(args.Timezone, 64)))
			}
			now := call.Now().In(zone)
			return tools.Success(timeResult{Time: now.Format(time.RFC3339), Timezone: zone.String(), Unix: now.Unix()})
		},
		Narrate: func(_ timeArgs, done bool, _ string) string {
			if done {
				return "Checked the time"
			}
			return "Checking the time"
		},
	})
}

// loadZone is time.LoadLocation without the host's own zone, which is nobody's business.
func loadZone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") {
		return nil, fmt.Errorf("zone %q is that of the host", name)
	}
	return time.LoadLocation(name)
}
