package main

import (
	"log/slog"

	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/events"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/webhooks"
)

// outgoing tells webhooks what happens in their organizations.
type outgoing struct {
	service *webhooks.Service
	// dispatcher sends; nil in an API node.
	dispatcher *webhooks.Dispatcher
}

func openWebhooks(cfg config, db *store.DB, keeper *secrets.Keeper, clk clock.Clock, bus events.Bus, feed *events.Log, client *egress.Client, log *slog.Logger) (*outgoing, error) {
	out := &outgoing{}
	var err error
	if out.service, err = webhooks.NewService(webhooks.Config{DB: db, Keeper: keeper, Clock: clk, Addresses: client}); err != nil {
		return nil, err
	}
	if cfg.role != roleAPI {
		out.dispatcher, err = webhooks.NewDispatcher(webhooks.DispatcherConfig{
			DB: db, Feed: feed, Keeper: keeper, Client: client.HTTP(), Clock: clk, Logger: log, Bus: bus,
		})
	}
	return out, err
}

// publish tells those who follow along of what was committed here.
func (o *outgoing) publish(hub *events.Hub) func(models.OrgID, models.SessionID, []models.Event) {
	if o.dispatcher == nil {
		return hub.Publish
	}
	return func(org models.OrgID, session models.SessionID, list []models.Event) {
		hub.Publish(org, session, list)
		o.dispatcher.Notice(org, list)
	}
}
