package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ostler-dev/ostler/internal/apiclient"
)

// ProductSession is a session of the product.
type ProductSession struct {
	ID  string
	API *apiclient.Client

	socket             *Socket
	toolBody, textBody []byte // requests
}

func (s *ProductSession) subscribe(ctx context.Context, listener Listener) error {
	socket, err := Dial(ctx, s.API)
	if err != nil {
		return err
	}
	s.socket = socket
	live := &untilLive{Listener: listener, live: make(chan error, 1)}
	if err := socket.Subscribe(ctx, "1", SessionEvents, map[string]any{"id": s.ID, "after": 0}); err != nil {
		socket.Close()
		return err
	}
	go socket.Listen(map[string]Listener{"1": live})
	if err := <-live.live; err != nil {
		socket.Close()
		return fmt.Errorf("subscribe to %s: %w", s.ID, err)
	}
	return nil
}

// untilLive tells when the replay is over.
type untilLive struct {
	Listener

	live chan error // nil at CAUGHT_UP
	told bool
}

func (u *untilLive) Event(e Event) {
	u.Listener.Event(e)
	if !u.told && e.Kind == "CAUGHT_UP" {
		u.told = true
		u.live <- nil
	}
}

func (u *untilLive) Ended(err error) {
	if !u.told {
		u.told = true
		if err == nil {
			err = errors.New("closed")
		}
		u.live <- err
	}
	u.Listener.Ended(err)
}

// Delivery is how a message meets a session that is at work.
type Delivery string

// The deliveries that are measured.
const (
	// Steer joins the turn that is at work, and brings one where none is.
	Steer Delivery = "STEER"
	// Queue brings a turn of its own in any case.
	Queue Delivery = "QUEUE"
)

func sendBody(sessionID, text string, delivery Delivery) ([]byte, error) {
	input := map[string]any{"sessionId": sessionID, "content": []any{map[string]any{"text": text}}}
	if delivery != Steer { // it is the default
		input["delivery"] = delivery
	}
	return apiclient.Document(apiclient.SendMessage, map[string]any{"input": input})
}

// Send implements Session.
func (s *ProductSession) Send(ctx context.Context, kind TurnKind) error {
	body := s.toolBody
	if kind == TextTurn {
		body = s.textBody
	}
	_, err := s.send(ctx, body)
	return err
}

// Say sends any message and returns the id of the turn that carries it.
func (s *ProductSession) Say(ctx context.Context, text string, delivery Delivery) (turnID string, err error) {
	body, err := sendBody(s.ID, text, delivery)
	if err != nil {
		return "", err
	}
	return s.send(ctx, body)
}

func (s *ProductSession) send(ctx context.Context, body []byte) (turnID string, err error) {
	answer, err := s.API.Post(ctx, body)
	if err != nil {
		return "", fmt.Errorf("send a message: %w", err)
	}
	var out struct {
		Data struct {
			SendMessage struct {
				Turn       *struct{ ID string }
				UserErrors []apiclient.UserError
			}
		}
	}
	if err := json.Unmarshal(answer.Body, &out); err != nil || out.Data.SendMessage.Turn == nil || len(out.Data.SendMessage.UserErrors) > 0 {
		return "", fmt.Errorf("send a message: %d %.300s (%w)", answer.Status, answer.Body, err)
	}
	return out.Data.SendMessage.Turn.ID, nil
}

// Close implements Session.
func (s *ProductSession) Close() {
	if s.socket != nil {
		s.socket.Close()
	}
}
