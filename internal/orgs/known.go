package orgs

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
)

// maxKnown is how many of a user's last sign-ins are looked through for a network.
const maxKnown = 100

// begin counts an attempt with the password of an account. A browser or a network that has signed in to it before doesn't wait because of the
// guesses of others, and its passwords are checked first: the returned context has a request that is Known.
func (s *Service) begin(ctx context.Context, emailKey string) (context.Context, *attempt, error) {
	request := *auth.RequestFrom(ctx)
	from := source{address: request.Address, browser: s.knowsBrowser(emailKey, request.Browser)}
	a, byAccount, err := s.throttle.begin(s.clock.Now(), emailKey, from)
	if byAccount || err == nil && !from.browser {
		known, failed := s.knowsNetwork(ctx, emailKey, request.Address)
		if failed != nil {
			a.undo()
			return ctx, nil, failed
		}
		if from.network = known; known && byAccount {
			a, _, err = s.throttle.begin(s.clock.Now(), emailKey, from)
		}
	}
	request.Known = from.browser || from.network
	return auth.WithRequest(ctx, &request), a, err
}

// browserProof is what a browser keeps that has signed in to an account. It grants nothing.
func (s *Service) browserProof(emailKey string) string { return browserProof(s.browsers[0], emailKey) }

func browserProof(secret []byte, emailKey string) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(emailKey))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func (s *Service) knowsBrowser(emailKey, proof string) bool {
	for _, secret := range s.browsers {
		if hmac.Equal([]byte(browserProof(secret, emailKey)), []byte(proof)) {
			return true
		}
	}
	return false
}

// knowsNetwork reports whether one of the last sign-ins to an account came from the network of an address.
func (s *Service) knowsNetwork(ctx context.Context, emailKey, address string) (bool, error) {
	var list []models.SignIn
	err := s.db.ReadAcross(ctx).Select("sign_ins.address").Joins("JOIN users u ON u.id = sign_ins.user_id").Where("u.email_key = ?", emailKey).
		Order("sign_ins.id DESC").Limit(maxKnown).Find(&list).Error
	if err != nil {
		return false, fmt.Errorf("look for sign-ins from a network: %w", err)
	}
	for _, in := range list {
		if in.Address != "" && auth.Network(in.Address) == auth.Network(address) {
			return true, nil
		}
	}
	return false, nil
}
