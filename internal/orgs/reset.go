package orgs

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/store"
)

const (
	// ResetLifetime is how long a link that sets a new password is good for.
	ResetLifetime = time.Hour

	resetTokenBytes = 32
	// resetsAtOnce bounds what runs behind the answers; resetTimeout how long each of it may.
	resetsAtOnce = 32
	resetTimeout = time.Minute
	// resetGrace is what they have left when the server stops.
	resetGrace = 5 * time.Second
)

// Resets is how links that set a new password reach people.
type Resets struct {
	// PublicURL is what the links begin with.
	PublicURL string
	// Mail sends them. Without it they are written to the log.
	Mail   *mail.Sender
	Logger *slog.Logger
}

// resets is what runs behind the answers to RequestPasswordReset.
type resets struct {
	Resets

	throttle *throttle
	slots    chan struct{}
	running  sync.WaitGroup
	// ctx ends what runs.
	ctx context.Context
	end context.CancelFunc
}

func newResets(cfg Resets) (*resets, error) {
	throttle, err := newThrottle()
	if err != nil {
		return nil, err
	}
	// Each attempt ends the link of the one before, and sends a mail: nobody's mailbox, and nobody's link, may be at the mercy of
	// somebody who knows the address.
	throttle.freePerAccount, throttle.maxWaitPerAccount = freePerPair, maxWaitPerNetwork
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	r := &resets{Resets: cfg, throttle: throttle, slots: make(chan struct{}, resetsAtOnce)}
	r.ctx, r.end = context.WithCancel(context.Background())
	return r, nil
}

// RequestPasswordReset sends a link that sets a new password to the user with an e-mail, if there is one; the link takes the place of
// an earlier one. The answer comes before anything is looked up, so that neither it nor its time reports whether there is such a user.
// After too many attempts it is fault.RateLimited, whether there is one or not.
func (s *Service) RequestPasswordReset(ctx context.Context, email string) error {
	_, key, err := cleanEmail(email)
	if err != nil {
		return at(err, "email")
	}
	attempt, _, err := s.resets.throttle.begin(s.clock.Now(), key, source{address: auth.RequestFrom(ctx).Address})
	if err != nil {
		return err
	}
	select {
	case s.resets.slots <- struct{}{}:
	default:
		attempt.undo()
		f := fault.New(fault.RateLimited, "Too many password resets are being requested. Wait and try again.")
		f.RetryAfterSeconds = int(resetTimeout / time.Second)
		return f
	}
	// It goes on when the request has ended. If the process dies meanwhile nothing has happened, or a link nobody knows is stored:
	// the person asks again.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resetTimeout)
	stop := context.AfterFunc(s.resets.ctx, cancel)
	s.resets.running.Go(func() {
		defer func() { <-s.resets.slots }()
		defer cancel()
		defer stop()
		if err := s.sendReset(ctx, key); err != nil {
			s.resets.Logger.Error("a link for a new password could not be sent", "request_id", auth.RequestFrom(ctx).ID, "error", err)
		}
	})
	return nil
}

// Wait returns when nothing runs behind answers that were given.
func (s *Service) Wait() { s.resets.running.Wait() }

// Stop is Wait, but ends what takes longer than a few seconds. No request may come after it.
func (s *Service) Stop() {
	grace := time.AfterFunc(resetGrace, s.resets.end)
	s.Wait()
	grace.Stop()
	s.resets.end()
}

func (s *Service) sendReset(ctx context.Context, emailKey string) error {
	var user *models.User
	var token string
	err := s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		var err error
		if user, err = userByEmail(tx, emailKey); err != nil {
			return err
		}
		now := clock.Millis(s.clock)
		asked := audit.Entry{ActorKind: models.ActorSystem, Action: "password.reset_requested"}
		if user == nil {
			asked.Org, asked.Details = audit.Platform, map[string]any{"email": emailKey}
			return audit.Record(ctx, tx, now, asked)
		}
		asked.Target = user.ID.String()
		if user.PasswordHash == "" && s.issuer != nil {
			// Their issuer decides how they sign in, with what second factor, and until when: a mailbox must not be a way around it.
			asked.Details = map[string]any{"refused": "signs in with OpenID Connect"}
		} else if token, err = newReset(tx, user.ID, now); err != nil {
			return err
		}
		return recordOfUser(ctx, tx, now, user.ID, asked)
	})
	if err != nil || token == "" {
		return err
	}
	link := resetLink(s.resets.PublicURL, token)
	if s.resets.Mail == nil {
		s.resets.Logger.Warn("password reset for " + user.Email + ": " + link)
		return nil
	}
	return s.resets.Mail.Send(ctx, mail.Message{
		To: user.Email, Subject: "A new password for Ostler",
		Text: "Someone, hopefully you, requested a new password for " + user.Email + " at " + s.resets.PublicURL + ".\n\n" +
			"Set it here within an hour; the link works once:\n\n" + link + "\n\n" +
			"If it wasn't you, ignore this message: your password has not changed.\n",
	})
}

// ResetPassword spends the token of a link, sets the password, and ends all sign-ins of the user. A token that was spent or replaced,
// or is none of ours, is fault.InvalidCredentials; one that is too old is fault.Expired.
func (s *Service) ResetPassword(ctx context.Context, token, password string) error {
	if err := auth.CheckPassword(password); err != nil {
		return at(err, "password")
	}
	hash, ok := hashResetToken(token)
	if !ok {
		return invalidReset()
	}
	// A look before the work: hashing passwords for whoever sends some token would be a gift to those who want us busy.
	reset, err := s.resetRow(s.db.ReadAcross(ctx), hash)
	if err != nil {
		return err
	}
	passwordHash, err := s.passwords.Hash(ctx, password)
	if err != nil {
		return err
	}
	err = s.db.WriteAcross(ctx, func(tx *gorm.DB) error {
		// The user goes before everything of theirs, as in ChangePassword. Who holds the row decides alone: read the token again.
		err := store.OneRow(tx.Model(&models.User{}).Where("id = ?", reset.UserID).Update("password_hash", passwordHash))
		if err != nil {
			return fmt.Errorf("set a new password: %w", err)
		}
		if _, err := s.resetRow(tx, hash); err != nil {
			return err
		}
		spent := tx.Where("user_id = ? AND hash = ?", reset.UserID, hash).Delete(&models.PasswordReset{})
		if spent.Error != nil {
			return fmt.Errorf("spend a link for a new password: %w", spent.Error)
		}
		if spent.RowsAffected == 0 {
			return invalidReset()
		}
		now := clock.Millis(s.clock)
		ended := tx.Model(&models.SignIn{}).Where("user_id = ? AND revoked_at IS NULL", reset.UserID).Update("revoked_at", now)
		if ended.Error != nil {
			return fmt.Errorf("end the sign-ins of a user: %w", ended.Error)
		}
		return recordOfUser(ctx, tx, now, reset.UserID, audit.Entry{
			ActorKind: models.ActorUser, Actor: models.ActorID(reset.UserID), Action: "password.reset", Target: reset.UserID.String(),
			Details: map[string]any{"signInsEnded": ended.RowsAffected},
		})
	})
	if err != nil {
		return err
	}
	s.forget(func(p *auth.Principal) bool { return p.UserID == reset.UserID })
	return nil
}

// resetRow finds the link of a token that is still good.
func (s *Service) resetRow(db *gorm.DB, hash []byte) (models.PasswordReset, error) {
	found, err := store.First[models.PasswordReset](db.Where("hash = ?", hash))
	if err != nil {
		return models.PasswordReset{}, fmt.Errorf("find a link for a new password: %w", err)
	}
	if found == nil {
		return models.PasswordReset{}, invalidReset()
	}
	if found.ExpiresAt <= clock.Millis(s.clock) {
		return models.PasswordReset{}, fault.New(fault.Expired, "This link has expired. Request a new one.").At("token")
	}
	return *found, nil
}

// newReset makes a link for a user, which takes the place of an earlier one, and returns its token.
func newReset(tx *gorm.DB, user models.UserID, now models.Millis) (string, error) {
	raw := make([]byte, resetTokenBytes)
	if _, err := rand.Read(raw); err != nil {
		return "", fmt.Errorf("make a link for a new password: %w", err)
	}
	hash := sha256.Sum256(raw)
	row := models.PasswordReset{
		UserID: user, Hash: hash[:], CreatedAt: now, ExpiresAt: models.MillisOf(now.Time().Add(ResetLifetime)),
	}
	err := tx.Clauses(clause.OnConflict{
		Columns:   []clause.Column{{Name: "user_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"hash", "created_at", "expires_at"}),
	}).Create(&row).Error
	if err != nil {
		return "", fmt.Errorf("store a link for a new password: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

func resetLink(publicURL, token string) string { return publicURL + "/reset?token=" + token }

func hashResetToken(token string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil || len(raw) != resetTokenBytes {
		return nil, false
	}
	sum := sha256.Sum256(raw)
	return sum[:], true
}

// invalidReset is the one answer for a token that is not ours, and for one that was spent or replaced.
func invalidReset() *fault.Error {
	return fault.New(fault.InvalidCredentials, "This link is invalid or was already used. Request a new one.").At("token")
}
