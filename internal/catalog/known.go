package catalog

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

// priceTable is the table of well-known models as it ships. It says when and from where its figures were taken.
//
//go:embed prices.json
var priceTable []byte

// Known is what the server knows of a well-known model, or what a provider told of one. What is not known is nil.
type Known struct {
	// Name is what the provider calls the model.
	Name, DisplayName                    string
	ContextWindowTokens, MaxOutputTokens *int
	Prices                               *Prices
}

// knownModels is the table in the form in which it is asked.
type knownModels struct {
	// kinds are the models of each kind, in the order of the table.
	kinds map[models.ProviderKind][]Known
	// names leads from a name or an alias to the place in kinds.
	names map[models.ProviderKind]map[string]int
	// version matches what stands behind a name for one state of the model.
	version *regexp.Regexp
}

// knownRow is a line of prices.json. Prices are decimals in dollars per million tokens.
type knownRow struct {
	Kind                models.ProviderKind `json:"kind"`
	Name                string              `json:"name"`
	Aliases             []string            `json:"aliases"`
	DisplayName         string              `json:"displayName"`
	ContextWindowTokens *int                `json:"contextWindowTokens"`
	MaxOutputTokens     *int                `json:"maxOutputTokens"`
	Input               string              `json:"input"`
	Output              string              `json:"output"`
	CacheRead           *string             `json:"cacheRead"`
	CacheWrite          *string             `json:"cacheWrite"`
}

// readKnown reads the table. An error means that the program was built with a broken one.
func readKnown(table []byte) (*knownModels, error) {
	var doc struct {
		Date   string     `json:"date"`
		Source string     `json:"source"`
		Models []knownRow `json:"models"`
	}
	dec := json.NewDecoder(bytes.NewReader(table))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&doc); err != nil {
		return nil, fmt.Errorf("read the table of prices: %w", err)
	}
	if doc.Date == "" || doc.Source == "" {
		return nil, errors.New("read the table of prices: it must say its date and its source")
	}
	k := &knownModels{
		kinds: map[models.ProviderKind][]Known{}, names: map[models.ProviderKind]map[string]int{}, version: regexp.MustCompile(versionPattern),
	}
	for _, row := range doc.Models {
		known, err := row.known()
		if err != nil {
			return nil, fmt.Errorf("read the table of prices: the model %q: %w", row.Name, err)
		}
		if err := k.add(row.Kind, known, row.Aliases...); err != nil {
			return nil, fmt.Errorf("read the table of prices: %w", err)
		}
	}
	for _, m := range simulated.Models() {
		err := k.add(models.ProviderSimulated, Known{
			Name: m.Name, DisplayName: m.DisplayName, ContextWindowTokens: &m.ContextWindowTokens, MaxOutputTokens: &m.MaxOutputTokens,
			Prices: &Prices{Input: m.PriceInput, Output: m.PriceOutput, CacheRead: &m.PriceCacheRead, CacheWrite: &m.PriceCacheWrite},
		})
		if err != nil {
			return nil, err
		}
	}
	return k, nil
}

func (k *knownModels) add(kind models.ProviderKind, m Known, aliases ...string) error {
	if k.names[kind] == nil {
		k.names[kind] = map[string]int{}
	}
	for _, name := range append([]string{m.Name}, aliases...) {
		if _, taken := k.names[kind][name]; taken || name == "" {
			return fmt.Errorf("the name %q of %s stands there twice, or is empty", name, kind)
		}
		k.names[kind][name] = len(k.kinds[kind])
	}
	k.kinds[kind] = append(k.kinds[kind], m)
	return nil
}

func (r *knownRow) known() (Known, error) {
	m := Known{Name: r.Name, DisplayName: r.DisplayName, ContextWindowTokens: r.ContextWindowTokens, MaxOutputTokens: r.MaxOutputTokens, Prices: &Prices{}}
	var err error
	if m.Prices.Input, err = parseDollars(r.Input); err != nil {
		return m, err
	}
	if m.Prices.Output, err = parseDollars(r.Output); err != nil {
		return m, err
	}
	if m.Prices.CacheRead, err = parseOptionalDollars(r.CacheRead); err != nil {
		return m, err
	}
	m.Prices.CacheWrite, err = parseOptionalDollars(r.CacheWrite)
	return m, err
}

func parseOptionalDollars(s *string) (*models.Nanos, error) {
	if s == nil {
		return nil, nil
	}
	n, err := parseDollars(*s)
	return &n, err
}

// parseDollars reads a decimal exactly: digits, and up to nine more behind a point.
func parseDollars(s string) (models.Nanos, error) {
	const places = 9
	whole, fraction, pointed := strings.Cut(s, ".")
	if whole == "" || (pointed && fraction == "") || len(fraction) > places || strings.Trim(whole+fraction, "0123456789") != "" {
		return 0, fmt.Errorf("%q is not a decimal with up to %d decimal places", s, places)
	}
	n, err := strconv.ParseInt(whole+fraction+strings.Repeat("0", places-len(fraction)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("the decimal %q: %w", s, err)
	}
	return models.Nanos(n), nil
}

// versionPattern matches what providers append to the name of a model for one state of it: a date, a number or "latest".
const versionPattern = `-(\d{8}|\d{4}-\d{2}-\d{2}|\d{3}|latest)$`

// find looks a model up by its name, by an alias, or by one of both with a version behind it; nil when it is not known.
func (k *knownModels) find(kind models.ProviderKind, name string) *Known {
	place, ok := k.names[kind][name]
	if !ok && kind != models.ProviderSimulated {
		place, ok = k.names[kind][k.version.ReplaceAllString(name, "")]
	}
	if ok {
		return &k.kinds[kind][place]
	}
	if kind == models.ProviderSimulated && simulated.Valid(name) == nil {
		// Any number of them can be named, like sim-lorem:2000, and all cost the same.
		m := k.kinds[kind][0]
		m.Name, m.DisplayName = name, name
		return &m
	}
	return nil
}

// KnownModels returns the well-known models of a kind, from the table that ships with the program.
func (s *Service) KnownModels(kind models.ProviderKind) []Known { return s.known.kinds[kind] }

// fill takes over what a new model was not given.
func (m *Known) fill(in *ModelChange) {
	if !in.DisplayName.Given {
		in.DisplayName = Give(&m.DisplayName)
	}
	if !in.ContextWindowTokens.Given {
		in.ContextWindowTokens = Give(m.ContextWindowTokens)
	}
	if !in.MaxOutputTokens.Given {
		in.MaxOutputTokens = Give(m.MaxOutputTokens)
	}
	if !in.Prices.Given {
		in.Prices = Give(m.Prices)
	}
}
