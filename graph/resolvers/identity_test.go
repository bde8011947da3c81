package resolvers

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
)

func TestFaultsBecomeUserErrors(t *testing.T) {
	if list, err := userErrors(nil); err != nil || list == nil || len(list) != 0 {
		t.Errorf("no error: got %v, %v; want an empty list", list, err)
	}
	own := errors.New("the disk is full")
	if list, err := userErrors(own); !errors.Is(err, own) || list != nil {
		t.Errorf("the server's own error: got %v, %v", list, err)
	}
	list, err := userErrors(fmt.Errorf("create: %w", fault.New(fault.Taken, "in use").At("input", "slug")))
	if err != nil || len(list) != 1 || list[0].Code != model.UserErrorCodeTaken || list[0].Message != "in use" ||
		fmt.Sprint(list[0].Path) != "[input slug]" || list[0].RetryAfterSeconds != nil {
		t.Errorf("got %+v, %v", list, err)
	}
	list, err = userErrors(&fault.Error{Code: fault.RateLimited, Message: "wait", RetryAfterSeconds: 7})
	if err != nil || len(list) != 1 || list[0].Path == nil || list[0].RetryAfterSeconds == nil || *list[0].RetryAfterSeconds != 7 {
		t.Errorf("got %+v, %v", list, err)
	}
}

func TestEveryFaultHasAUserErrorCode(t *testing.T) {
	for _, code := range []fault.Code{
		fault.Invalid, fault.NotFound, fault.Conflict, fault.Taken, fault.Forbidden, fault.LimitReached, fault.RateLimited,
		fault.Dependency, fault.IdempotencyMismatch, fault.InvalidCredentials, fault.Expired,
	} {
		if !model.UserErrorCode(code).IsValid() {
			t.Errorf("%s is not in the schema", code)
		}
	}
}

func signedIn(transport string) *orgs.SignedIn {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	return &orgs.SignedIn{
		Access: "the-access", Refresh: "the-refresh", AccessExpires: now, RefreshExpires: now.Add(time.Hour), Transport: transport,
		Org: models.Org{Name: "Default"}, User: models.User{Email: "a@b"},
	}
}

func TestTokensTravelOneWayOnly(t *testing.T) {
	var cookies []auth.TokenCookies
	ctx := auth.WithRequest(t.Context(), &auth.RequestInfo{SetCookies: func(c auth.TokenCookies) bool {
		cookies = append(cookies, c)
		return true
	}})
	body, err := authPayload(ctx, signedIn(auth.TransportBody), nil)
	if err != nil || len(cookies) != 0 || *body.Tokens.AccessToken != "the-access" || *body.Tokens.RefreshToken != "the-refresh" {
		t.Errorf("BODY: got %+v, %v, cookies %v", body, err, cookies)
	}
	cookie, err := authPayload(ctx, signedIn(auth.TransportCookie), nil)
	if err != nil || cookie.Tokens.AccessToken != nil || cookie.Tokens.RefreshToken != nil || cookie.Tokens.Org.Name != "Default" {
		t.Errorf("COOKIE: got %+v, %v", cookie, err)
	}
	if len(cookies) != 1 || cookies[0].Access != "the-access" || cookies[0].Refresh != "the-refresh" || cookies[0].RefreshExpires.IsZero() {
		t.Errorf("COOKIE: got cookies %+v", cookies)
	}
	// Where no cookie can be set the tokens must not fall back into the answer.
	if lost, err := authPayload(t.Context(), signedIn(auth.TransportCookie), nil); err == nil || lost != nil {
		t.Errorf("COOKIE without cookies: got %+v, %v", lost, err)
	}
	refused, err := authPayload(ctx, nil, fault.New(fault.InvalidCredentials, "no"))
	if err != nil || refused.Tokens != nil || len(refused.UserErrors) != 1 {
		t.Errorf("refused: got %+v, %v", refused, err)
	}
}

func TestCredentialsAreDecoded(t *testing.T) {
	cookie := model.TokenTransportCookie
	id, bad := models.NewID[models.OrgEntity](), "agent_x"
	text := id.String()
	if c := decodeCredentials(model.SignInInput{Email: "a@b", Password: "p"}); c.Transport != auth.TransportBody || c.OrgID != nil {
		t.Errorf("got %+v", c)
	}
	if c := decodeCredentials(model.SignInInput{OrgID: &text, Transport: &cookie}); c.Transport != auth.TransportCookie || *c.OrgID != id {
		t.Errorf("got %+v", c)
	}
	if c := decodeCredentials(model.SignInInput{OrgID: &bad}); c.OrgID == nil || !c.OrgID.IsZero() {
		t.Errorf("what is no id must name an organization that nobody belongs to: got %+v", c)
	}
}

func TestActors(t *testing.T) {
	id := models.NewID[models.ActorEntity]()
	if a := encodeActor(models.ActorUser, &id, "Ada"); a.Name != "Ada" || *a.ID != models.UserID(id).String() || a.Kind != model.ActorKindUser {
		t.Errorf("got %+v", a)
	}
	if a := encodeActor(models.ActorAPIKey, &id, "CI"); a.Name != "CI" || *a.ID != models.APIKeyID(id).String() || a.Kind != model.ActorKindAPIKey {
		t.Errorf("got %+v", a)
	}
	if a := encodeActor(models.ActorSystem, nil, ""); a.Name == "" || a.ID != nil || a.Kind != model.ActorKindSystem {
		t.Errorf("got %+v", a)
	}
}
