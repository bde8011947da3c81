package hooks

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/tools"
)

// The headers of a webhook's request.
const (
	// SignatureHeader has the time and the signature: "t=<unix seconds>,v1=<hex HMAC-SHA256 of '<t>.<body>'>".
	SignatureHeader = "Ostler-Signature"
	// DeliveryHeader has an id that is the same when the same delivery is made again.
	DeliveryHeader = "Ostler-Delivery"
)

// Sign returns the value of SignatureHeader for a body that is sent at a time. Earlier secrets that still count sign it, too: each has a
// v1 of its own, after that of the current one.
func Sign(secret, body []byte, at time.Time, earlier ...[]byte) string {
	t := strconv.FormatInt(at.Unix(), 10)
	header := "t=" + t
	for _, s := range append([][]byte{secret}, earlier...) {
		mac := hmac.New(sha256.New, s)
		mac.Write([]byte(t))
		mac.Write([]byte("."))
		mac.Write(body)
		header += ",v1=" + hex.EncodeToString(mac.Sum(nil))
	}
	return header
}

// deliver asks a webhook.
func (r *Runner) deliver(ctx context.Context, event Event, spec tools.HookSpec, delivery string) (*answer, *failure) {
	limited, cancel := context.WithTimeout(ctx, spec.Timeout)
	defer cancel()
	now := r.cfg.Clock.Now()
	body, err := event.envelope(spec.ID, now)
	if err != nil {
		return nil, failed(err, "the event can't be written as JSON")
	}
	secret, err := r.cfg.Secrets.HookSecret(limited, event.OrgID)
	if err != nil {
		return nil, failed(err, "the request can't be signed now")
	}
	req, err := http.NewRequestWithContext(limited, http.MethodPost, spec.Webhook.URL, bytes.NewReader(body))
	if err != nil {
		return nil, failed(egress.WithoutAddress(err), "its address can't be used")
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Ostler-Hooks/1")
	req.Header.Set(SignatureHeader, Sign(secret, body, now))
	req.Header.Set(DeliveryHeader, delivery)
	resp, err := r.cfg.Client.Do(req)
	if err != nil {
		return nil, unreachable(limited, spec, err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return nil, failed(nil, "the webhook answered with the status %d", resp.StatusCode)
	}
	// One byte more shows that there is more.
	output, err := io.ReadAll(io.LimitReader(resp.Body, MaxOutputBytes+1))
	if err != nil {
		return nil, unreachable(limited, spec, err)
	}
	a, problem := readAnswer(output)
	if problem != nil {
		return nil, problem
	}
	return &a, nil
}

// unreachable says why there is no answer, without what only the operator may know of the network.
func unreachable(limited context.Context, spec tools.HookSpec, err error) *failure {
	err = egress.WithoutAddress(err)
	if blocked, ok := errors.AsType[*egress.BlockedError](err); ok {
		return failed(err, "%v", blocked)
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return failed(err, "the webhook did not answer within %d ms", spec.Timeout.Milliseconds())
	}
	return failed(err, "the webhook could not be reached")
}
