package main

import (
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/llm"
	"github.com/ostler-dev/ostler/internal/llm/anthropic"
	"github.com/ostler-dev/ostler/internal/llm/gemini"
	"github.com/ostler-dev/ostler/internal/llm/openai"
	"github.com/ostler-dev/ostler/internal/llm/simulated"
	"github.com/ostler-dev/ostler/internal/models"
)

// providerDriver speaks to the providers of one kind.
type providerDriver interface {
	llm.Driver
	llm.Lister
}

// providers is the way to all model providers.
type providers struct {
	egress  *egress.Client
	drivers map[models.ProviderKind]llm.Driver
	listers map[models.ProviderKind]llm.Lister
}

func newProviders(cfg config) providers {
	p := providers{
		egress:  egress.New(egress.Config{AllowLoopback: cfg.egressLoopback, Allow: cfg.egressAllow, Rules: cfg.egressRules}),
		drivers: map[models.ProviderKind]llm.Driver{}, listers: map[models.ProviderKind]llm.Lister{},
	}
	client := p.egress.HTTP()
	for kind, d := range map[models.ProviderKind]providerDriver{
		models.ProviderAnthropic:        anthropic.New(anthropic.Options{HTTP: client}),
		models.ProviderOpenAI:           openai.NewResponses(openai.Options{HTTP: client}),
		models.ProviderOpenAICompatible: openai.NewChat(openai.Options{HTTP: client}),
		models.ProviderGemini:           gemini.New(gemini.Options{HTTP: client}),
		models.ProviderSimulated:        simulated.New(simulated.Options{}),
	} {
		p.drivers[kind], p.listers[kind] = d, d
	}
	return p
}
