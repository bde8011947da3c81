package payments

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopspring/decimal"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/egress"
	"github.com/ostler-dev/ostler/internal/hooks"
	"github.com/ostler-dev/ostler/internal/models"
	texts "github.com/ostler-dev/ostler/internal/text"
	"github.com/ostler-dev/ostler/internal/tools"
)

const (
	// KeyHeader has the payment's id, which is the same however often the rail is asked for it.
	KeyHeader = "Idempotency-Key"

	defaultTimeout = 20 * time.Second
	// maxAnswer is how much of an answer is read; maxReference and maxReason are in bytes.
	maxAnswer    = 64 << 10
	maxReference = 200
	maxReason    = 300
)

// outcome is what a rail says of a payment.
type outcome int

const (
	// unknown: there was no answer that could be understood. The payment may have been made.
	unknown outcome = iota
	paid
	refused
)

// answer is a rail's.
type answer struct {
	outcome   outcome
	amount    models.Amount
	reference string
	// problem says why it was refused, or why there is no answer.
	problem string
}

// order is what a rail is asked, in the order of the documentation. All of it is of the payment's row, so that it is the same each time.
type order struct {
	ID         string    `json:"id"`
	OrgID      string    `json:"orgId"`
	SessionID  string    `json:"sessionId"`
	TurnID     string    `json:"turnId"`
	Capability string    `json:"capability"`
	Tool       string    `json:"tool"`
	Host       string    `json:"host"`
	Purpose    string    `json:"purpose"`
	Amount     string    `json:"amount"`
	Currency   string    `json:"currency"`
	CreatedAt  time.Time `json:"createdAt"`
}

// askRail makes one request. first reports that the rail can't have heard of the payment before: then whatever says that the request was not
// taken reports that nothing was paid. Later only a rail that says so refuses it, for an earlier request may have been paid.
func (s *Service) askRail(ctx context.Context, p *models.Payment, first bool) answer {
	policy, err := policyByID(s.cfg.DB.Read(ctx, p.OrgID), p.OrgID, p.PolicyID)
	if err != nil {
		return s.own(ctx, p, err)
	}
	signing, err := s.secretsOf(&policy)
	if err != nil {
		return s.own(ctx, p, err)
	}
	body, err := json.Marshal(order{
		ID: p.ID.String(), OrgID: p.OrgID.String(), SessionID: p.SessionID.String(), TurnID: p.TurnID.String(), Capability: p.Capability, Tool: p.Tool,
		Host: p.Host, Purpose: p.Purpose, Amount: usd(p.Amount), Currency: models.CurrencyUSD, CreatedAt: p.CreatedAt.Time(),
	})
	if err != nil {
		return s.own(ctx, p, err)
	}
	limited, cancel := context.WithTimeout(ctx, s.cfg.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(limited, http.MethodPost, policy.URL, bytes.NewReader(body))
	if err != nil {
		return s.own(ctx, p, egress.WithoutAddress(err))
	}
	// Without it net/http can't send the request once more by itself, so that the answer to the first one is that to the first one.
	req.GetBody = nil
	req.Header.Set(KeyHeader, p.ID.String())
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "Ostler-Payments/1")
	req.Header.Set(hooks.SignatureHeader, hooks.Sign(signing[0], body, s.cfg.Clock.Now(), signing[1:]...))
	resp, err := s.cfg.Client.Do(req)
	if resp != nil && err != nil {
		// It was taken, and answered by a redirect, which isn't followed.
		return answer{problem: fmt.Sprintf("the rail answered with the status %d", resp.StatusCode)}
	}
	if err != nil {
		return s.unreachable(ctx, limited, p, err, first)
	}
	defer func() { _ = resp.Body.Close() }()
	// One byte more shows that there is more.
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	if err != nil || len(text) > maxAnswer {
		return answer{problem: "the rail's answer could not be read, or is too long"}
	}
	return read(resp.StatusCode, text, p, first)
}

// own is for what this server could not do. Nothing can be said of the payment then.
func (s *Service) own(ctx context.Context, p *models.Payment, err error) answer {
	if ctx.Err() == nil {
		s.cfg.Logger.ErrorContext(ctx, "the request to a payment rail can't be made", "org", p.OrgID, "payment", p.ID, "error", err)
	}
	return answer{problem: "the request to the rail could not be made"}
}

// unreachable says why there is no answer, without what only the operator may know of the network.
func (s *Service) unreachable(ctx, limited context.Context, p *models.Payment, err error, first bool) answer {
	if blocked, ok := errors.AsType[*egress.BlockedError](err); ok {
		if first {
			return answer{outcome: refused, problem: refusal(tools.PaymentRefused, "This server may not connect to the rail. Nothing was paid; tell the user.").Error()}
		}
		return answer{problem: texts.Cut(blocked.Error(), maxReason)}
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return answer{problem: fmt.Sprintf("the rail did not answer within %d ms", s.cfg.Timeout.Milliseconds())}
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && first {
		return answer{outcome: refused, problem: refusal(tools.PaymentRefused, "The payment service can't be reached now. Nothing was paid; try again later.").Error()}
	}
	s.cfg.Logger.DebugContext(ctx, "a rail could not be reached", "payment", p.ID, "org", p.OrgID, "error", egress.WithoutAddress(err))
	return answer{problem: "the rail could not be reached"}
}

// mayComeBack are the statuses that say nothing of whether the request was taken.
var mayComeBack = []int{http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests}

// read understands an answer.
func read(status int, body []byte, p *models.Payment, first bool) answer {
	var said struct {
		Status    string           `json:"status"`
		Reference string           `json:"reference"`
		Amount    *decimal.Decimal `json:"amount"`
		Reason    string           `json:"reason"`
	}
	good, wrong := status >= 200 && status <= 299, status >= 400 && status <= 499
	understood := json.Unmarshal(body, &said) == nil
	switch {
	case understood && good && said.Status == "paid":
		return paidAnswer(said.Reference, said.Amount, p)
	case understood && (good || wrong) && said.Status == "refused":
		reason := "it gave no reason"
		if r := line(said.Reason); r != "" {
			reason = texts.Cut(r, maxReason)
		}
		return answer{outcome: refused, problem: refusal(tools.PaymentRefused, "The payment service refused the payment: %s. Nothing was paid.", strings.TrimSuffix(reason, ".")).Error()}
	case wrong && first && !slices.Contains(mayComeBack, status):
		return answer{outcome: refused, problem: refusal(tools.PaymentRefused, "The payment service did not accept the request (status %d). Nothing was paid; tell the user.", status).Error()}
	case understood && good && said.Status == "pending":
		return answer{problem: "the rail is still processing the payment"}
	case good:
		return answer{problem: "the rail's answer is not a documented one"}
	}
	return answer{problem: fmt.Sprintf("the rail answered with the status %d", status)}
}

// paidAnswer is what was paid: the amount that the rail names, or else what it was asked for.
func paidAnswer(reference string, amount *decimal.Decimal, p *models.Payment) answer {
	a := answer{outcome: paid, amount: p.Amount, reference: texts.Cut(line(reference), maxReference)}
	if amount != nil {
		var err error
		if a.amount, err = budget.Parse(models.CurrencyUSD, *amount); err != nil || a.amount < 0 {
			return answer{problem: "the rail reported an impossible amount"}
		}
	}
	return a
}

// line makes one line of printable characters of a text.
func line(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, ""), func(r rune) bool { return r <= ' ' || !printable(string(r)) }), " ")
}

// secretsOf returns the secrets that sign for a policy, the current one first.
func (s *Service) secretsOf(row *models.PaymentPolicy) ([][]byte, error) {
	current, err := s.cfg.Keeper.Open(row.Secret, secretPlace(row))
	if err != nil {
		return nil, fmt.Errorf("sign for payment policy %s: %w", row.ID, err)
	}
	if row.PreviousUntil == nil || *row.PreviousUntil <= clock.Millis(s.cfg.Clock) {
		return [][]byte{current}, nil
	}
	previous, err := s.cfg.Keeper.Open(row.PreviousSecret, previousPlace(row))
	if err != nil {
		return nil, fmt.Errorf("sign for payment policy %s: %w", row.ID, err)
	}
	return [][]byte{current, previous}, nil
}
