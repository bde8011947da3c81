package orgs_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/audit"
	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/fault"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/mail/mailtest"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/orgs"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
)

const publicURL = "https://ostler.test"

var tokenOfLink = regexp.MustCompile(regexp.QuoteMeta(publicURL) + `/reset\?token=([A-Za-z0-9_-]+)`)

// mailed is a world whose mail goes to a server of the test.
type mailed struct {
	*world

	server *mailtest.Server
	log    *lockedBuffer
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func eachMailed(t *testing.T, test func(t *testing.T, w *mailed)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := &mailed{server: mailtest.Start(t, mailtest.Config{}), log: &lockedBuffer{}}
		sender, err := mail.New(mail.Config{URL: "smtp://" + w.server.Addr, From: "ostler@ostler.test"})
		if err != nil {
			t.Fatal(err)
		}
		w.world = newNode(t, db, clock.NewManual(start), func(c *orgs.Config) {
			c.Resets = orgs.Resets{PublicURL: publicURL, Mail: sender, Logger: slog.New(slog.NewTextHandler(w.log, nil))}
		})
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		test(t, w)
	})
}

func (w *mailed) request(email string) {
	w.t.Helper()
	if err := w.RequestPasswordReset(w.ctx(), email); err != nil {
		w.t.Fatal(err)
	}
	w.Wait()
}

// link asks for a link and returns the token that was mailed.
func (w *mailed) link(email string) string {
	w.t.Helper()
	w.request(email)
	m := w.server.Next(w.t)
	found := tokenOfLink.FindStringSubmatch(m.Text)
	if found == nil || len(m.To) != 1 {
		w.t.Fatalf("the mail is %+v", m)
	}
	return found[1]
}

func TestAForgottenPasswordIsReplaced(t *testing.T) {
	eachMailed(t, func(t *testing.T, w *mailed) {
		before := []*orgs.SignedIn{w.owner(), w.owner()}
		elsewhere := w.createOrg(before[0], "Elsewhere")
		w.addUser("other@example.com", "other-password", before[0].Org.ID)
		other := w.signIn("other@example.com", "other-password")
		for _, in := range before {
			if _, err := w.Authenticate(w.ctx(), in.Access); err != nil {
				t.Fatal(err)
			}
		}
		token := w.link(strings.ToUpper(ownerEmail))
		raw, err := base64.RawURLEncoding.DecodeString(token)
		if err != nil || len(raw) != 32 {
			t.Fatalf("the token is %q", token)
		}
		var row models.PasswordReset
		if err := w.db.ReadAcross(t.Context()).Take(&row).Error; err != nil || len(row.Hash) != 32 || bytes.Equal(row.Hash, raw) {
			t.Errorf("stored is %x, %v", row.Hash, err)
		}
		if err := w.ResetPassword(w.ctx(), token, "a-new-password"); err != nil {
			t.Fatal(err)
		}
		for i, in := range before {
			if _, err := w.Authenticate(w.ctx(), in.Access); err == nil {
				t.Errorf("access token %d still works", i)
			}
			_, err := w.Refresh(w.ctx(), in.Refresh)
			wantFault(t, "a refresh token of before", err, fault.InvalidCredentials)
		}
		if _, err := w.Authenticate(w.ctx(), other.Access); err != nil {
			t.Errorf("somebody else is out: %v", err)
		}
		_, err = w.SignIn(w.ctx(), orgs.Credentials{Email: ownerEmail, Password: ownerPassword, Transport: auth.TransportBody})
		wantFault(t, "the old password", err, fault.InvalidCredentials)
		w.signIn(ownerEmail, "a-new-password")
		wantFault(t, "the same link again", w.ResetPassword(w.ctx(), token, "another-password"), fault.InvalidCredentials, "token")
		w.signIn(ownerEmail, "a-new-password")
		user := before[0].User.ID.String()
		for _, org := range []models.OrgID{before[0].Org.ID, elsewhere.ID} {
			if a, b := w.auditedCount(org, "password.reset_requested", user), w.auditedCount(org, "password.reset", user); a != 1 || b != 1 {
				t.Errorf("%s has %d and %d entries", org, a, b)
			}
		}
		if n := w.count(&models.AuditEntry{}, "details LIKE ? OR details LIKE ?", "%"+token+"%", "%password%"); n != 0 {
			t.Error("an entry holds a secret")
		}
		if strings.Contains(w.log.String(), token) {
			t.Error("the log holds the token although it was mailed")
		}
	})
}

func TestLinksThatGiveNoAccess(t *testing.T) {
	eachMailed(t, func(t *testing.T, w *mailed) {
		forged := base64.RawURLEncoding.EncodeToString(make([]byte, 32))
		replaced := w.link(ownerEmail)
		good := w.link(ownerEmail)
		if n := w.count(&models.PasswordReset{}, "1 = 1"); n != 1 {
			t.Errorf("%d links are kept", n)
		}
		for name, token := range map[string]string{
			"forged": forged, "replaced": replaced, "empty": "", "no token": "x", "longer": good + "A", "shorter": good[:42], "padded": good + "=", "text": "\x00\xff",
		} {
			wantFault(t, name, w.ResetPassword(w.ctx(), token, "a-new-password"), fault.InvalidCredentials, "token")
		}
		for name, password := range map[string]string{"short": "short", "no text": "12345678\x00", "long": strings.Repeat("x", 1001)} {
			wantFault(t, name, w.ResetPassword(w.ctx(), good, password), fault.Invalid, "password")
		}
		w.clock.Advance(orgs.ResetLifetime)
		wantFault(t, "too old", w.ResetPassword(w.ctx(), good, "a-new-password"), fault.Expired, "token")
		w.owner() // nothing of all that changed the password
		last := w.link(ownerEmail)
		w.clock.Advance(orgs.ResetLifetime - time.Millisecond)
		if err := w.ResetPassword(w.ctx(), last, "a-new-password"); err != nil {
			t.Errorf("at the end of its time: %v", err)
		}
	})
}

func TestAChangedPasswordEndsOpenLinks(t *testing.T) {
	eachMailed(t, func(t *testing.T, w *mailed) {
		token := w.link(ownerEmail)
		if err := w.ChangePassword(w.ctx(), w.owner().Principal, ownerPassword, "a-changed-password"); err != nil {
			t.Fatal(err)
		}
		wantFault(t, "the link", w.ResetPassword(w.ctx(), token, "a-new-password"), fault.InvalidCredentials, "token")
		w.signIn(ownerEmail, "a-changed-password")
	})
}

// The answer is given before anything is looked up, and is the same.
func TestRequestsTellNothing(t *testing.T) {
	eachMailed(t, func(t *testing.T, w *mailed) {
		w.request("nobody@example.com")
		w.server.None(t)
		if n := w.count(&models.PasswordReset{}, "1 = 1"); n != 0 {
			t.Errorf("%d links were made", n)
		}
		if n := w.auditedCount(audit.Platform, "password.reset_requested", ""); n != 1 {
			t.Errorf("the platform has %d entries", n)
		}
		wantFault(t, "no e-mail", w.RequestPasswordReset(w.ctx(), "nobody"), fault.Invalid, "email")
		// Known and unknown ones are slowed down in the same way.
		answers := map[string][]string{}
		for _, email := range []string{ownerEmail, "nobody@example.org"} {
			for range 12 {
				err := w.RequestPasswordReset(w.ctx(), email)
				if err == nil {
					w.Wait()
				}
				wait := 0
				if f := fault.As(err); f != nil {
					wait = f.RetryAfterSeconds
				}
				answers[email] = append(answers[email], fmt.Sprint(err, wait))
				w.clock.Advance(time.Second)
			}
			w.clock.Advance(2 * time.Hour)
		}
		if a, b := fmt.Sprint(answers[ownerEmail]), fmt.Sprint(answers["nobody@example.org"]); a != b || !strings.Contains(a, "RATE_LIMITED") {
			t.Errorf("known: %s\nunknown: %s", a, b)
		}
	})
}

// The database is held by somebody else, so that nothing can be looked up or written: the answer comes nevertheless.
func TestTheAnswerWaitsForNothing(t *testing.T) {
	eachMailed(t, func(t *testing.T, w *mailed) {
		holding, letGo := make(chan struct{}), make(chan struct{})
		var holder sync.WaitGroup
		holder.Go(func() {
			err := w.db.WriteAcross(t.Context(), func(tx *gorm.DB) error {
				err := store.LockTable(tx, "password_resets")
				close(holding)
				<-letGo
				return err
			})
			if err != nil {
				t.Error(err)
			}
		})
		<-holding
		for _, email := range []string{ownerEmail, "nobody@example.com"} {
			if err := w.RequestPasswordReset(w.ctx(), email); err != nil {
				t.Error(err)
			}
		}
		w.server.None(t)
		close(letGo)
		holder.Wait()
		w.Wait()
		if m := w.server.Next(t); m.To[0] != ownerEmail {
			t.Errorf("got %+v", m)
		}
		w.server.None(t)
	})
}

func TestOneOfTwoWhoUseALinkAtOnceWins(t *testing.T) {
	eachMailed(t, func(t *testing.T, w *mailed) {
		token := w.link(ownerEmail)
		var wg sync.WaitGroup
		errs := make([]error, 4)
		for i := range errs {
			wg.Go(func() { errs[i] = w.ResetPassword(w.ctx(), token, fmt.Sprintf("password-number-%d", i)) })
		}
		wg.Wait()
		won := -1
		for i, err := range errs {
			if err == nil {
				if won >= 0 {
					t.Error("two won")
				}
				won = i
				continue
			}
			wantFault(t, "a loser", err, fault.InvalidCredentials, "token")
		}
		if won < 0 {
			t.Fatal("nobody won")
		}
		w.signIn(ownerEmail, fmt.Sprintf("password-number-%d", won))
	})
}

func TestWithoutMailTheLinkIsLogged(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		log := &lockedBuffer{}
		w := newNode(t, db, clock.NewManual(start), func(c *orgs.Config) {
			c.Resets = orgs.Resets{PublicURL: publicURL, Logger: slog.New(slog.NewTextHandler(log, nil))}
		})
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, email := range []string{"nobody@example.com", ownerEmail} {
			if err := w.RequestPasswordReset(w.ctx(), email); err != nil {
				t.Fatal(err)
			}
			w.Wait()
		}
		w.Stop()
		found := tokenOfLink.FindAllStringSubmatch(log.String(), -1)
		if len(found) != 1 || !strings.Contains(log.String(), "level=WARN msg=\"password reset for "+ownerEmail+": "+publicURL) {
			t.Fatalf("the log is %s", log)
		}
		if err := w.ResetPassword(w.ctx(), found[0][1], "a-new-password"); err != nil {
			t.Error(err)
		}
	})
}

func TestMailThatIsRefusedIsLogged(t *testing.T) {
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		server, log := mailtest.Start(t, mailtest.Config{Refuse: func(string) string { return "550 mailbox full" }}), &lockedBuffer{}
		sender, err := mail.New(mail.Config{URL: "smtp://" + server.Addr, From: "ostler@ostler.test"})
		if err != nil {
			t.Fatal(err)
		}
		w := newNode(t, db, clock.NewManual(start), func(c *orgs.Config) {
			c.Resets = orgs.Resets{PublicURL: publicURL, Mail: sender, Logger: slog.New(slog.NewTextHandler(log, nil))}
		})
		if _, err := w.FirstStart(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.RequestPasswordReset(w.ctx(), ownerEmail); err != nil {
			t.Fatal(err)
		}
		w.Wait()
		if text := log.String(); !strings.Contains(text, "mailbox full") || tokenOfLink.MatchString(text) {
			t.Errorf("the log is %s", text)
		}
	})
}

func TestAnAdministratorsLink(t *testing.T) {
	each(t, func(t *testing.T, w *world) {
		admin := orgs.NewAdmin(w.db, w.clock, publicURL)
		link, err := admin.ResetLink(t.Context(), ownerEmail)
		found := tokenOfLink.FindStringSubmatch(link)
		if err != nil || found == nil {
			t.Fatalf("got %q, %v", link, err)
		}
		if err := w.ResetPassword(w.ctx(), found[1], "a-new-password"); err != nil {
			t.Fatal(err)
		}
		w.signIn(ownerEmail, "a-new-password")
		_, err = admin.ResetLink(t.Context(), "nobody@example.com")
		wantFault(t, "an unknown user", err, fault.NotFound)
	})
}
