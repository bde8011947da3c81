package simulated

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/ostler-dev/ostler/internal/models"
)

type behaviour int

const (
	behaviourDefault behaviour = iota
	behaviourEcho
	behaviourLorem
	behaviourLatency
	behaviourScript
)

const (
	// The pace of sim-default is that of a quick real model, so that streaming can be seen.
	defaultFirst    = 300 * time.Millisecond
	defaultPerToken = 20 * time.Millisecond

	maxLoremTokens = 100_000
	// maxMillis bounds every wait that a name or a script may ask for: ten minutes, well beyond the idle timeout
	// of a stream.
	maxMillis = 600_000

	knownNames = "sim-default, sim-echo, sim-lorem:TOKENS (1 to 100000), " +
		"sim-latency:TTFT_MS:MS_PER_TOKEN (0 to 600000 each), sim-script"
)

// What tokens cost, in US dollars per million: little enough to play with, enough for budgets to show.
const (
	priceInput      models.Nanos = 100_000_000
	priceOutput     models.Nanos = 400_000_000
	priceCacheRead  models.Nanos = 10_000_000
	priceCacheWrite models.Nanos = 125_000_000

	contextWindow = 200_000
	maxOutput     = 32_000
)

// ModelInfo describes a model that every organization has from the start.
type ModelInfo struct {
	// Name is what the provider calls the model.
	Name        string
	DisplayName string
	// ContextWindowTokens and MaxOutputTokens are what the model is said to take; the driver enforces neither.
	ContextWindowTokens int
	MaxOutputTokens     int
	// Prices are US dollars per million tokens in 10^-9 dollars.
	PriceInput, PriceOutput, PriceCacheRead, PriceCacheWrite models.Nanos
}

// Models lists the models that every organization has from the start. The first is the one to begin with. Other
// parameters of sim-lorem and sim-latency are models too; see Valid.
func Models() []ModelInfo {
	list := []ModelInfo{
		{Name: "sim-default", DisplayName: "Simulated: default"},
		{Name: "sim-echo", DisplayName: "Simulated: echo"},
		{Name: "sim-lorem:100", DisplayName: "Simulated: 100 tokens of lorem ipsum"},
		{Name: "sim-latency:300:20", DisplayName: "Simulated: echo, 300 ms, then 20 ms per token"},
		{Name: "sim-script", DisplayName: "Simulated: script"},
	}
	for i := range list {
		m := &list[i]
		m.ContextWindowTokens, m.MaxOutputTokens = contextWindow, maxOutput
		m.PriceInput, m.PriceOutput = priceInput, priceOutput
		m.PriceCacheRead, m.PriceCacheWrite = priceCacheRead, priceCacheWrite
	}
	return list
}

// Valid reports whether name is that of a simulated model. The error is for the user: it says what is wrong and
// lists the names.
func Valid(name string) error {
	_, err := parseName(name)
	return err
}

// variant is what a model's name asks for.
type variant struct {
	behaviour       behaviour
	tokens          int
	first, perToken time.Duration
}

func parseName(name string) (variant, error) {
	base, params, parameterized := strings.Cut(name, ":")
	switch {
	case name == "sim-default":
		return variant{behaviour: behaviourDefault, first: defaultFirst, perToken: defaultPerToken}, nil
	case name == "sim-echo":
		return variant{behaviour: behaviourEcho}, nil
	case name == "sim-script":
		return variant{behaviour: behaviourScript}, nil
	case base == "sim-lorem":
		if n, ok := number(params, maxLoremTokens); ok && n > 0 {
			return variant{behaviour: behaviourLorem, tokens: n}, nil
		}
	case base == "sim-latency":
		first, per, _ := strings.Cut(params, ":")
		f, ok1 := number(first, maxMillis)
		p, ok2 := number(per, maxMillis)
		if ok1 && ok2 {
			return variant{behaviour: behaviourLatency, first: millis(f), perToken: millis(p)}, nil
		}
	default:
		return variant{}, fmt.Errorf("no simulated model is called %q; there are %s", name, knownNames)
	}
	if !parameterized {
		return variant{}, fmt.Errorf("the simulated model %q needs parameters; there are %s", name, knownNames)
	}
	return variant{}, fmt.Errorf("the parameters of the simulated model %q are not valid; there are %s", name, knownNames)
}

// number reads digits alone, so that a model has one name and not also "sim-lorem:+5".
func number(s string, limit int) (int, bool) {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
	}
	n, err := strconv.Atoi(s)
	return n, err == nil && n <= limit
}

func millis(n int) time.Duration { return time.Duration(n) * time.Millisecond }
