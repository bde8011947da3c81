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

// negotiate picks the media type that the client likes best; false when it takes neither. Without an Accept, and for
// wildcards, it is application/json, as the specification of GraphQL over HTTP asks.
func negotiate(h http.Header) (string, bool) {
	accept := h.Values("Accept")
	if len(accept) == 0 {
		return mediaJSON, true
	}
	json, graphQL := preference{}, preference{}
	for _, line := range accept {
		for _, part := range strings.Split(line, ",") {
			media, params, err := mime.ParseMediaType(part)
			if err != nil {
				continue
			}
			q := quality(params["q"])
			json.consider(media, mediaJSON, q)
			graphQL.consider(media, mediaGraphQL, q)
		}
	}
	switch {
	case json.q <= 0 && graphQL.q <= 0:
		return mediaJSON, false
	case graphQL.q > json.q, graphQL.q == json.q && graphQL.precision == exact:
		return mediaGraphQL, true
	}
	return mediaJSON, true
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
