// Package payments lets tools pay. People write policies: which tools may pay whom, and how much. A tool asks by tools.Call.Pay, which comes
// here (authority.go): a policy is found and its limits are checked under its lock (ask.go), a person is asked where the policy wants that (approval.go), the amount is held on the budgets that bind the
// session by a command (commands.go), the rail is asked (rail.go), and a second command settles what was held or gives it back. A payment
// whose answer nobody knows is asked for again (sweep.go), with the same key, until the rail says what became of it.
package payments

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/tools"
)

const (
	// MaxPolicies is how many policies an organization may have.
	MaxPolicies = 50
	// rotationGrace is how long an earlier secret still signs.
	rotationGrace = 24 * time.Hour
)

// Committer commits commands; commit.Committer does.
type Committer interface {
	Submit(ctx context.Context, cmd commit.Command) error
}

// Addresses decides which addresses may be used; egress.Client does.
type Addresses interface {
	// CheckURL returns an error for an address that it would not connect to. Its text is shown to users.
	CheckURL(u *url.URL) error
}

// Config is what a Service works with. All fields but Timeout are required.
type Config struct {
	DB        *store.DB
	Committer Committer
	Keeper    *secrets.Keeper
	// Capabilities knows which capabilities there are.
	Capabilities *tools.Registry
	// Addresses decides which addresses rails may have, and Client asks them; both are those of egress.
	Addresses Addresses
	Client    *http.Client
	Clock     clock.Clock
	Logger    *slog.Logger
	// Timeout bounds how long a rail is waited for. Defaults to 20 s.
	Timeout time.Duration
}

// Service is the one place where payments are allowed and made. It is safe for concurrent use.
type Service struct{ cfg Config }

var _ tools.PaymentAuthority = (*Service)(nil)

// NewService fails when the configuration is incomplete.
func NewService(cfg Config) (*Service, error) {
	if cfg.DB == nil || cfg.Committer == nil || cfg.Keeper == nil || cfg.Capabilities == nil || cfg.Addresses == nil || cfg.Client == nil || cfg.Clock == nil || cfg.Logger == nil {
		return nil, errors.New("the service of payments needs a database, a committer, a keeper of secrets, the capabilities, an HTTP client, a clock and a logger")
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = defaultTimeout
	}
	return &Service{cfg}, nil
}

// NewPolicy is what a policy is made of. Amounts are in 10^-9 usd.
type NewPolicy struct {
	Name                        string
	Capabilities, Hosts         []string
	URL, Secret                 string
	MaxRequest, MaxTurn, MaxDay models.Amount
	ApprovalAbove               *models.Amount
}

// Create makes a policy of the caller's organization, which is in force at once.
func (s *Service) Create(ctx context.Context, by *auth.Principal, in NewPolicy) (*models.PaymentPolicy, error) {
	now := clock.Millis(s.cfg.Clock)
	row := models.PaymentPolicy{
		OrgID: by.OrgID, ID: models.NewID[models.PaymentPolicyEntity](), Name: in.Name, Capabilities: in.Capabilities, Hosts: in.Hosts,
		Rail: models.RailWebhook, URL: in.URL, MaxRequest: in.MaxRequest, MaxTurn: in.MaxTurn, MaxDay: in.MaxDay, ApprovalAbove: in.ApprovalAbove,
		Enabled: true, CreatedAt: now, UpdatedAt: now,
	}
	err := s.check(&row)
	if err == nil {
		err = checkSecret(in.Secret)
	}
	if err != nil {
		return nil, err
	}
	if row.Secret, err = s.cfg.Keeper.Seal([]byte(in.Secret), secretPlace(&row)); err != nil {
		return nil, err
	}
	err = s.cfg.DB.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		// Of those who create one at once, each sees what those before it have made.
		if err := store.LockOrg(tx, by.OrgID); err != nil {
			return err
		}
		var n int64
		if err := live(tx.Model(&models.PaymentPolicy{}), by.OrgID).Count(&n).Error; err != nil {
			return fmt.Errorf("count the payment policies of %s: %w", by.OrgID, err)
		}
		if n >= MaxPolicies {
			return fault.New(fault.LimitReached, "The organization has reached the limit of %d payment policies. Delete one that is no longer needed.", MaxPolicies)
		}
		if err := tx.Create(&row).Error; err != nil {
			return fmt.Errorf("store a payment policy: %w", err)
		}
		return audit.RecordBy(ctx, tx, now, by, "payment_policy.created", row.ID.String(), map[string]any{"after": describe(&row)})
	})
	if err != nil {
		return nil, err
	}
	return &row, nil
}

// Change is what to change of a policy. What is nil stays.
type Change struct {
	Name                        *string
	Capabilities, Hosts         []string
	URL                         *string
	Secret                      *string
	MaxRequest, MaxTurn, MaxDay *models.Amount
	// ApprovalAbove is nil to leave it, and points to nil to take it away.
	ApprovalAbove **models.Amount
	Enabled       *bool
}

func (in *Change) apply(row *models.PaymentPolicy) {
	set(&row.Name, in.Name)
	set(&row.URL, in.URL)
	set(&row.MaxRequest, in.MaxRequest)
	set(&row.MaxTurn, in.MaxTurn)
	set(&row.MaxDay, in.MaxDay)
	set(&row.ApprovalAbove, in.ApprovalAbove)
	set(&row.Enabled, in.Enabled)
	if in.Capabilities != nil {
		row.Capabilities = in.Capabilities
	}
	if in.Hosts != nil {
		row.Hosts = in.Hosts
	}
}

func set[T any](to, value *T) {
	if value != nil {
		*to = *value
	}
}

// Update changes a policy. It holds for payments that are asked for from then on; those that are under way are asked for where, and with the
// secret that, the policy then names. A new secret signs beside the earlier one for a day. A change that changes nothing is recorded nowhere.
func (s *Service) Update(ctx context.Context, by *auth.Principal, id models.PaymentPolicyID, in Change) (*models.PaymentPolicy, error) {
	if in.Secret != nil {
		if err := checkSecret(*in.Secret); err != nil {
			return nil, err
		}
	}
	var row models.PaymentPolicy
	err := s.cfg.DB.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		var err error
		if row, err = lockPolicy(tx, by.OrgID, id); err != nil {
			return err
		}
		now, before := clock.Millis(s.cfg.Clock), row
		in.apply(&row)
		if err := s.check(&row); err != nil {
			return err
		}
		if in.Secret != nil {
			if err := s.rotate(&row, *in.Secret, now); err != nil {
				return err
			}
		} else if same(&before, &row) {
			return nil
		}
		row.UpdatedAt = now
		err = store.OneRow(store.Of(tx.Model(&models.PaymentPolicy{}), by.OrgID).Where("id = ?", id).
			Select("name", "capabilities", "hosts", "url", "secret", "previous_secret", "previous_until", "max_request", "max_turn", "max_day",
				"approval_above", "enabled", "updated_at").Updates(&row))
		if err != nil {
			return fmt.Errorf("change payment policy %s: %w", id, err)
		}
		details := map[string]any{"before": describe(&before), "after": describe(&row)}
		if in.Secret != nil {
			details["secretChanged"] = true
		}
		return audit.RecordBy(ctx, tx, now, by, "payment_policy.updated", id.String(), details)
	})
	if err != nil {
		return nil, err
	}
	return &row, nil
}

func same(a, b *models.PaymentPolicy) bool {
	above := func(p *models.PaymentPolicy) models.Amount {
		if p.ApprovalAbove == nil {
			return -1
		}
		return *p.ApprovalAbove
	}
	return a.Name == b.Name && a.URL == b.URL && a.MaxRequest == b.MaxRequest && a.MaxTurn == b.MaxTurn && a.MaxDay == b.MaxDay &&
		a.Enabled == b.Enabled && above(a) == above(b) && slices.Equal(a.Capabilities, b.Capabilities) && slices.Equal(a.Hosts, b.Hosts)
}

// rotate sets a new secret of a policy, and keeps the present one for a while.
func (s *Service) rotate(row *models.PaymentPolicy, secret string, now models.Millis) error {
	previous, err := s.cfg.Keeper.Open(row.Secret, secretPlace(row))
	if err != nil {
		return err
	}
	if row.PreviousSecret, err = s.cfg.Keeper.Seal(previous, previousPlace(row)); err != nil {
		return err
	}
	row.PreviousUntil = (now + models.Millis(rotationGrace.Milliseconds())).Ptr()
	row.Secret, err = s.cfg.Keeper.Seal([]byte(secret), secretPlace(row))
	return err
}

// Delete ends a policy. One with payments under way stays until they have ended: their rail has to be asked what became of them.
func (s *Service) Delete(ctx context.Context, by *auth.Principal, id models.PaymentPolicyID) error {
	return s.cfg.DB.Write(ctx, by.OrgID, func(tx *gorm.DB) error {
		row, err := lockPolicy(tx, by.OrgID, id)
		if err != nil {
			return err
		}
		var open []models.PaymentID
		err = store.Of(tx.Model(&models.Payment{}), by.OrgID).Where("policy_id = ? AND due_at IS NOT NULL", id).Limit(1).Pluck("id", &open).Error
		if err != nil {
			return fmt.Errorf("look for open payments of %s: %w", id, err)
		}
		if len(open) > 0 {
			return fault.New(fault.Conflict, "The payment %s of this policy is pending. Disable the policy, and delete it when its payments have ended; "+
				"settlePayment ends a payment whose rail doesn't answer.", open[0]).At("id")
		}
		now := clock.Millis(s.cfg.Clock)
		err = store.OneRow(store.Of(tx.Model(&models.PaymentPolicy{}), by.OrgID).Where("id = ?", id).Updates(map[string]any{
			"enabled": false, "deleted_at": now, "updated_at": now, "secret": []byte{}, "previous_secret": nil, "previous_until": nil,
		}))
		if err != nil {
			return fmt.Errorf("delete payment policy %s: %w", id, err)
		}
		return audit.RecordBy(ctx, tx, now, by, "payment_policy.deleted", id.String(), map[string]any{"before": describe(&row)})
	})
}

func secretPlace(row *models.PaymentPolicy) secrets.Place {
	return secrets.Place{Org: row.OrgID, Table: "payment_policies", Column: "secret", Row: row.ID.String()}
}

func previousPlace(row *models.PaymentPolicy) secrets.Place {
	return secrets.Place{Org: row.OrgID, Table: "payment_policies", Column: "previous_secret", Row: row.ID.String()}
}
