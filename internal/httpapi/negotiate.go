package httpapi

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The media types of answers.
const (
	mediaJSON    = "application/json"
	mediaGraphQL = "application/graphql-response+json"
)

// acceptance is what a client takes for an answer.
type acceptance struct {
	// media is the type of answers in JSON that the client likes best; application/json when it takes none.
	media string
	json  bool
	// events reports that it takes an event stream, and eventsFirst that it likes that better.
	events, eventsFirst bool
}

// negotiate reads the header Accept. Without one, and for wildcards, the answer is application/json, as the specification
// of GraphQL over HTTP asks. An event stream must be asked for by its name.
func negotiate(h http.Header) acceptance {
	accept := h.Values("Accept")
	if len(accept) == 0 {
		return acceptance{media: mediaJSON, json: true}
	}
	json, graphQL, events := preference{}, preference{}, preference{}
	for _, line := range accept {
		for _, part := range strings.Split(line, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			q := quality(params["q"])
			json.consider(media, mediaJSON, q)
			graphQL.consider(media, mediaGraphQL, q)
			if media == mediaEvents {
				events.consider(media, mediaEvents, q)
			}
		}
	}
	best := max(json.q, graphQL.q)
	a := acceptance{media: mediaJSON, json: best > 0, events: events.q > 0, eventsFirst: events.q > best}
	if best > 0 && (graphQL.q > json.q || graphQL.q == json.q && graphQL.precision == exact) {
		a.media = mediaGraphQL
	}
	return a
}

const (
	wildcard = iota + 1 // */*
	family              // application/*
	exact
)

// preference is how much a client likes one media type; the most precise mention of it counts.
type preference struct {
	q         float64
	precision int
}

func (p *preference) consider(mentioned, media string, q float64) {
	precision := 0
	switch mentioned {
	case media:
		precision = exact
	case "application/*":
		precision = family
	case "*/*":
		precision = wildcard
	}
	if precision > p.precision {
		p.q, p.precision = q, precision
	}
}

func quality(s string) float64 {
	if s == "" {
		return 1
	}
	q, err := strconv.ParseFloat(s, 64)
	if err != nil || q < 0 || q > 1 {
		return 0
	}
	return q
}

// isJSONBody reports whether a body is what this server reads: JSON in UTF-8, not compressed. Forms are refused with
// the rest, since browsers send them across origins without asking.
func isJSONBody(h http.Header) bool {
	media, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != mediaJSON {
		return false
	}
	if charset, ok := params["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	encoding := h.Get("Content-Encoding")
	return encoding == "" || strings.EqualFold(encoding, "identity")
}
