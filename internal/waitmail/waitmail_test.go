package waitmail_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/catalog"
	"github.com/ostler-dev/ostler/internal/clock"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/jsonx"
	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/mail/mailtest"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/secrets"
	"github.com/ostler-dev/ostler/internal/sessions"
	"github.com/ostler-dev/ostler/internal/store"
	"github.com/ostler-dev/ostler/internal/store/storetest"
	"github.com/ostler-dev/ostler/internal/tools"
	"github.com/ostler-dev/ostler/internal/tools/budget"
	"github.com/ostler-dev/ostler/internal/tools/core"
	"github.com/ostler-dev/ostler/internal/tools/files"
	"github.com/ostler-dev/ostler/internal/waitmail"
)

// world is an organization with a person of each role, and another one.
type world struct {
	*testing.T

	db      *store.DB
	clock   *clock.Manual
	commit  *commit.Committer
	catalog *catalog.Service
	svc     *sessions.Service
	smtp    *mailtest.Server
	org     models.OrgID
	people  map[models.Role]*auth.Principal
	other   *auth.Principal // the owner of the other organization
}

func each(t *testing.T, test func(w *world)) {
	t.Helper()
	storetest.Each(t, func(t *testing.T, db *store.DB) {
		w := &world{
			T: t, db: db, clock: clock.NewManual(time.UnixMilli(1_800_000_000_000)), smtp: mailtest.Start(t, mailtest.Config{}),
			people: map[models.Role]*auth.Principal{},
		}
		keeper, err := secrets.NewKeeper(bytes.Repeat([]byte{7}, 32))
		w.must(err)
		registry, err := tools.NewRegistry(core.Capability(), files.Capability(), budget.Capability())
		w.must(err)
		w.catalog, err = catalog.New(catalog.Config{DB: db, Registry: registry, Keeper: keeper, Clock: w.clock})
		w.must(err)
		w.commit = commit.New(commit.Config{DB: db, Clock: w.clock})
		t.Cleanup(w.commit.Stop)
		w.svc = sessions.New(sessions.Config{DB: db, Committer: w.commit, Catalog: w.catalog, Clock: w.clock})
		w.org = w.newOrg("acme")
		for _, role := range []models.Role{models.RoleOwner, models.RoleAdmin, models.RoleMember, models.RoleViewer} {
			w.people[role] = w.join(w.org, role)
		}
		w.other = w.join(w.newOrg("other"), models.RoleOwner)
		test(w)
	})
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) newOrg(slug string) models.OrgID {
	w.Helper()
	id := models.NewID[models.OrgEntity]()
	w.must(w.db.WriteAcross(w.Context(), func(tx *gorm.DB) error {
		if err := tx.Create(&models.Org{ID: id, Name: strings.ToUpper(slug), Slug: slug, CreatedAt: 1}).Error; err != nil {
			return err
		}
		harness, model, err := w.catalog.SeedOrg(w.Context(), tx, id, 1)
		if err != nil {
			return err
		}
		return tx.Model(&models.Org{}).Where("id = ?", id).Updates(models.Org{DefaultHarnessID: &harness, DefaultModelID: &model}).Error
	}))
	return id
}

func (w *world) join(org models.OrgID, role models.Role) *auth.Principal {
	w.Helper()
	user := models.NewID[models.UserEntity]()
	email := fmt.Sprintf("%s@%s.example.com", strings.ToLower(string(role)), org.String()[4:])
	w.must(w.db.WriteAcross(w.Context(), func(tx *gorm.DB) error {
		person := models.User{ID: user, Email: email, EmailKey: email, Name: "The " + strings.ToLower(string(role)), CreatedAt: 1}
		if err := tx.Create(&person).Error; err != nil {
			return err
		}
		return tx.Create(&models.Membership{OrgID: org, ID: models.NewID[models.MembershipEntity](), UserID: user, Role: role, CreatedAt: 1}).Error
	}))
	return &auth.Principal{OrgID: org, UserID: user, Role: role, Permissions: auth.RolePermissions(role, false)}
}

// park begins the turn of a session and makes it wait.
type park struct {
	session models.SessionID
	org     models.OrgID
	wait    models.Wait
}

func (c *park) Needs() commit.Needs {
	return commit.Needs{Org: c.org, Session: c.session, Waits: true, Bytes: 1000}
}

func (c *park) Apply(tx *commit.Tx) error {
	tx.ClaimTurn(models.NewID[models.RunnerEntity]())
	tx.Turn.StartedAt = tx.Now.Ptr()
	tx.AddWait(c.wait)
	return nil
}

// wait makes a session of the owner that waits for something, and returns what can be resolved.
func (w *world) wait(title string, kind models.WaitKind, r models.WaitRequest) models.WaitID {
	w.Helper()
	return w.waitOf(w.people[models.RoleOwner], title, kind, r)
}

func (w *world) waitOf(owner *auth.Principal, title string, kind models.WaitKind, r models.WaitRequest) models.WaitID {
	w.Helper()
	s, err := w.svc.Create(w.Context(), owner, sessions.NewSession{Title: &title})
	w.must(err)
	text := "Do it."
	_, _, err = w.svc.Send(w.Context(), owner, sessions.NewMessage{SessionID: s.ID, Content: []sessions.NewPart{{Text: &text}}})
	w.must(err)
	id, tool, call := models.NewID[models.WaitEntity](), "write_file", "call_1"
	r.Arguments = models.JSON(`{"content":"the secret of the barn"}`)
	w.must(w.commit.Submit(w.Context(), &park{org: owner.OrgID, session: s.ID, wait: models.Wait{
		ID: id, Kind: kind, Identity: id.String(), ToolName: &tool, ToolCallID: &call, Request: jsonx.MustEncode(r),
	}}))
	return id
}

// mailer is that of a process, which sends by a mail server.
func (w *world) mailer(smtp *mailtest.Server) *waitmail.Mailer {
	w.Helper()
	sender, err := mail.New(mail.Config{URL: "smtp://" + smtp.Addr, From: "ostler@example.com"})
	w.must(err)
	return w.mailerBy(sender, 5*time.Minute)
}

func (w *world) mailerBy(sender waitmail.Sender, after time.Duration) *waitmail.Mailer {
	return waitmail.New(waitmail.Config{
		DB: w.db, Clock: w.clock, Sessions: w.svc, Catalog: w.catalog, Mail: sender, PublicURL: "https://ostler.example.com", After: after,
	})
}

// interrupted is a sender while whose first mail something else happens.
type interrupted struct {
	waitmail.Sender

	by func()
}

func (i *interrupted) Send(ctx context.Context, m mail.Message) error {
	if by := i.by; by != nil {
		i.by = nil
		by()
	}
	return i.Sender.Send(ctx, m) //nolint:wrapcheck // a sender's own
}

func (w *world) interrupted(by func()) *interrupted {
	w.Helper()
	sender, err := mail.New(mail.Config{URL: "smtp://" + w.smtp.Addr, From: "ostler@example.com"})
	w.must(err)
	return &interrupted{sender, by}
}

// told sends what is due, and returns who got a mail about what.
func (w *world) told(m *waitmail.Mailer) []string {
	w.Helper()
	w.must(m.Send(w.Context()))
	return w.arrived()
}

// arrived returns what has come since it was last asked.
func (w *world) arrived() []string {
	w.Helper()
	var list []string
	for range w.smtp.Waiting() {
		got := w.smtp.Next(w.T)
		role, _, _ := strings.Cut(got.To[0], "@")
		list = append(list, fmt.Sprintf("%s: %d", role, strings.Count(got.Text, "\n- ")))
	}
	slices.Sort(list)
	return list
}

func (w *world) want(what string, got []string, want ...string) {
	w.Helper()
	if !slices.Equal(got, want) {
		w.Errorf("%s: mail went to %v, want %v", what, got, want)
	}
}

func TestMailGoesToThoseWhoMayResolve(t *testing.T) {
	for name, test := range map[string]struct {
		kind    models.WaitKind
		request models.WaitRequest
		want    []string
	}{
		"an approval of others than the author": {models.WaitApproval, models.WaitRequest{Quorum: 1}, []string{"admin: 1", "member: 1"}},
		"an approval of the author, too":        {models.WaitApproval, models.WaitRequest{Quorum: 1, AllowSelf: true}, []string{"admin: 1", "member: 1", "owner: 1"}},
		"an approval of administrators":         {models.WaitApproval, models.WaitRequest{Quorum: 1, Role: models.RoleAdmin}, []string{"admin: 1"}},
		"a question":                            {models.WaitQuestion, models.WaitRequest{Question: "Which barn?"}, []string{"admin: 1", "member: 1", "owner: 1"}},
		"a budget that has paused the session":  {models.WaitBudget, models.WaitRequest{Budget: &models.BudgetWait{Paused: true}}, []string{"admin: 1", "owner: 1"}},
		"a budget that others hold":             {models.WaitBudget, models.WaitRequest{Budget: &models.BudgetWait{}}, nil},
		"a program":                             {models.WaitClientTool, models.WaitRequest{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				w.wait("Barn", test.kind, test.request)
				w.clock.Advance(6 * time.Minute)
				w.want(name, w.told(w.mailer(w.smtp)), test.want...)
			})
		})
	}
}

func TestEachWaitIsMailedOnceAndGatheredMeanwhile(t *testing.T) {
	each(t, func(w *world) {
		m, other := w.mailer(w.smtp), w.mailer(w.smtp)
		ask := models.WaitRequest{Quorum: 1, Role: models.RoleAdmin}
		w.wait("First", models.WaitApproval, ask)
		w.clock.Advance(4 * time.Minute)
		w.want("too early", w.told(m))
		w.clock.Advance(2 * time.Minute)
		w.want("in time", w.told(m), "admin: 1")
		w.want("again", w.told(m))
		w.want("by another process", w.told(other))
		w.want("after a restart", w.told(w.mailer(w.smtp)))

		w.wait("Second", models.WaitApproval, ask)
		w.wait("Third", models.WaitApproval, ask)
		over := w.wait("Over by then", models.WaitApproval, ask)
		w.clock.Advance(6 * time.Minute)
		w.want("so soon after the last one", w.told(m))
		_, err := w.db.Exec(w.Context(), w.org, "UPDATE waits SET state = 'OK' WHERE org_id = ? AND id = ?", w.org[:], over[:])
		w.must(err)
		w.clock.Advance(5 * time.Minute)
		w.want("gathered", w.told(other), "admin: 2")
		w.want("gathered, again", w.told(m))
	})
}

func TestWhatBecomesOfAMailThatFailed(t *testing.T) {
	for name, test := range map[string]struct {
		server mailtest.Config
		gone   bool // there is no server
		// then is who gets mail from a server that works again, at once and after the gap; unless they have got it now.
		now, then, later []string
	}{
		"a recipient that is refused is told, as far as that can be": {
			mailtest.Config{Refuse: refuse("admin@", "550 no such user")}, false, []string{"member: 1"}, nil, nil,
		},
		"a recipient that is put off is told later": {
			mailtest.Config{Refuse: refuse("admin@", "450 try later")}, false, []string{"member: 1"}, nil, []string{"admin: 1"},
		},
		"nothing is lost while there is no server":                      {mailtest.Config{}, true, nil, []string{"admin: 1", "member: 1"}, nil},
		"a mail that may have left is not sent again, and the run ends": {mailtest.Config{Answer: "-"}, false, nil, []string{"member: 1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				w.wait("Barn", models.WaitApproval, models.WaitRequest{Quorum: 1})
				w.clock.Advance(6 * time.Minute)
				bad := mailtest.Start(w.T, test.server)
				if test.gone {
					bad.Addr = "127.0.0.1:1"
				}
				m := w.mailer(bad)
				if err := m.Send(w.Context()); err == nil {
					w.Error("nobody hears of mail that can't be sent")
				}
				good := w.smtp
				w.smtp = bad
				w.want("from the bad server", w.arrived(), test.now...)
				w.smtp = good
				w.want("by another process", w.told(w.mailer(w.smtp)), test.then...)
				w.clock.Advance(11 * time.Minute)
				w.want("later", w.told(w.mailer(w.smtp)), test.later...)
			})
		})
	}
}

// refuse refuses addresses that begin with something.
func refuse(prefix, answer string) func(string) string {
	return func(to string) string {
		if strings.HasPrefix(to, prefix) {
			return answer
		}
		return ""
	}
}

func TestAFailureOfOneOrganizationIsNotThatOfAnother(t *testing.T) {
	each(t, func(w *world) {
		w.wait("Barn", models.WaitQuestion, models.WaitRequest{Question: "Which?"})
		w.clock.Advance(time.Second)
		w.waitOf(w.other, "Stable", models.WaitQuestion, models.WaitRequest{Question: "Which?"})
		w.clock.Advance(6 * time.Minute)
		w.smtp = mailtest.Start(w.T, mailtest.Config{Refuse: func(to string) string {
			if strings.Contains(to, w.org.String()[4:]) {
				return "550 no such user"
			}
			return ""
		}})
		if err := w.mailer(w.smtp).Send(w.Context()); err == nil || strings.Count(err.Error(), "no such user") != 3 {
			w.Errorf("got %v, want a failure for each of three people", err)
		}
		w.want("behind the failures", w.arrived(), "owner: 1")
	})
}

func TestTwoMailersAtOnceSendOneMail(t *testing.T) {
	each(t, func(w *world) {
		w.wait("Barn", models.WaitApproval, models.WaitRequest{Quorum: 1})
		w.clock.Advance(6 * time.Minute)
		other := w.mailer(w.smtp)
		m := w.mailerBy(w.interrupted(func() { w.must(other.Send(w.Context())) }), 5*time.Minute)
		w.want("by both", w.told(m), "admin: 1", "member: 1")
	})
}

// Sending takes time. Whoever is next is told of what is still so.
func TestWhatEndsMeanwhileIsNotMailed(t *testing.T) {
	for name, ends := range map[string]func(w *world, id models.WaitID) error{
		"the wait": func(w *world, id models.WaitID) error {
			_, err := storetest.Exec(w.Context(), w.db, "UPDATE waits SET state = 'RESOLVED' WHERE id = ?", id[:])
			return err
		},
		"the membership": func(w *world, _ models.WaitID) error {
			_, err := storetest.Exec(w.Context(), w.db, "DELETE FROM memberships")
			return err
		},
		"the role": func(w *world, _ models.WaitID) error {
			_, err := storetest.Exec(w.Context(), w.db, "UPDATE memberships SET role = 'VIEWER'")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				id := w.wait("Barn", models.WaitQuestion, models.WaitRequest{Question: "Which?"})
				w.clock.Advance(6 * time.Minute)
				m := w.mailerBy(w.interrupted(func() { w.must(ends(w, id)) }), 5*time.Minute)
				if got := w.told(m); len(got) != 1 {
					w.Errorf("after the first mail others went to %v", got)
				}
			})
		})
	}
}

func TestWhatAnotherProcessDidNotKnowOfIsMailedLater(t *testing.T) {
	each(t, func(w *world) {
		w.wait("Old", models.WaitApproval, models.WaitRequest{Quorum: 1})
		w.clock.Advance(5 * time.Minute)
		w.wait("New", models.WaitApproval, models.WaitRequest{Quorum: 1})
		w.clock.Advance(6 * time.Minute)
		behind := w.mailerBy(w.interrupted(nil), 10*time.Minute)
		m := w.mailerBy(w.interrupted(func() { w.must(behind.Send(w.Context())) }), 5*time.Minute)
		w.want("by both", w.told(m), "admin: 2", "member: 1")
		w.want("in the gap", w.told(m))
		w.clock.Advance(11 * time.Minute)
		w.want("the rest", w.told(m), "member: 1")
	})
}

func TestNothingIsHiddenByWhatComesBefore(t *testing.T) {
	each(t, func(w *world) {
		admins := models.WaitRequest{Quorum: 1, Role: models.RoleAdmin}
		for range 3 {
			w.wait("Mailed", models.WaitApproval, admins)
		}
		w.clock.Advance(6 * time.Minute)
		w.want("at first", w.told(w.mailer(w.smtp)), "admin: 3")
		for range 3 {
			w.wait("Goes on by itself", models.WaitBudget, models.WaitRequest{Budget: &models.BudgetWait{}})
		}
		for range 5 {
			w.wait("Behind", models.WaitApproval, admins)
		}
		w.wait("Behind it all", models.WaitApproval, models.WaitRequest{Quorum: 1})
		w.clock.Advance(11 * time.Minute)
		m := w.mailer(w.smtp)
		m.Bound(2, 10)
		w.want("page by page", w.told(m), "admin: 6", "member: 1")
	})
}

func TestAMailListsTheFirst(t *testing.T) {
	each(t, func(w *world) {
		for i := range 22 {
			w.wait(fmt.Sprintf("Barn %d", i), models.WaitApproval, models.WaitRequest{Quorum: 1, Role: models.RoleAdmin})
			w.clock.Advance(time.Second)
		}
		w.clock.Advance(6 * time.Minute)
		w.must(w.mailer(w.smtp).Send(w.Context()))
		got := w.smtp.Next(w.T)
		if strings.Count(got.Text, "\n- ") != 20 || !strings.Contains(got.Text, "Barn 19") || strings.Contains(got.Text, "Barn 20") ||
			!strings.Contains(got.Text, "\nand 2 more.\n") || !strings.Contains(got.Data, "22 things are waiting") {
			w.Errorf("the mail says:\n%s", got.Text)
		}
	})
}

func TestABigOrganizationIsMailedInSeveralRuns(t *testing.T) {
	each(t, func(w *world) {
		w.wait("Barn", models.WaitQuestion, models.WaitRequest{Question: "Which?"})
		w.clock.Advance(6 * time.Minute)
		m := w.mailer(w.smtp)
		m.Bound(500, 2)
		var all []string
		for _, want := range []int{2, 1, 0} {
			got := w.told(m)
			if len(got) != want {
				w.Errorf("mail went to %v, want %d", got, want)
			}
			all = append(all, got...)
			w.clock.Advance(time.Second)
		}
		slices.Sort(all)
		w.want("in all", all, "admin: 1", "member: 1", "owner: 1")
	})
}

func TestWhatIsOlderThanADayIsNotMailed(t *testing.T) {
	each(t, func(w *world) {
		w.wait("Old", models.WaitApproval, models.WaitRequest{Quorum: 1, Role: models.RoleAdmin})
		w.clock.Advance(2 * time.Hour)
		w.wait("Young", models.WaitApproval, models.WaitRequest{Quorum: 1, Role: models.RoleAdmin})
		w.clock.Advance(23 * time.Hour)
		w.want("after a day", w.told(w.mailer(w.smtp)), "admin: 1")
	})
}

func TestTrialsAreNotMailed(t *testing.T) {
	each(t, func(w *world) {
		id := w.wait("Barn", models.WaitQuestion, models.WaitRequest{Question: "Which?"})
		_, err := w.db.Exec(w.Context(), w.org, "UPDATE sessions SET trial = ? WHERE org_id = ? AND id = (SELECT session_id FROM waits WHERE org_id = ? AND id = ?)",
			true, w.org[:], w.org[:], id[:])
		w.must(err)
		w.clock.Advance(6 * time.Minute)
		w.want("a trial", w.told(w.mailer(w.smtp)))
	})
}

func TestWhoHasSwitchedItOffGetsNone(t *testing.T) {
	each(t, func(w *world) {
		admin, choice := w.people[models.RoleAdmin], waitmail.NewSettings(w.db, w.clock, 5*time.Minute)
		w.must(choice.Set(w.Context(), admin, false))
		w.wait("Barn", models.WaitApproval, models.WaitRequest{Quorum: 1})
		w.clock.Advance(6 * time.Minute)
		w.want("off", w.told(w.mailer(w.smtp)), "member: 1")
		w.wait("Stable", models.WaitApproval, models.WaitRequest{Quorum: 1})
		w.must(choice.Set(w.Context(), admin, true))
		w.clock.Advance(11 * time.Minute)
		w.want("what had just begun when it was switched on", w.told(w.mailer(w.smtp)), "admin: 1", "member: 1")
	})
}

func TestWhoHasDecidedIsNotAsked(t *testing.T) {
	each(t, func(w *world) {
		id := w.wait("Barn", models.WaitApproval, models.WaitRequest{Quorum: 2})
		admin := w.people[models.RoleAdmin]
		w.must(w.db.Write(w.Context(), w.org, func(tx *gorm.DB) error {
			return tx.Create(&models.ApprovalDecision{OrgID: w.org, WaitID: id, ActorID: models.ActorID(admin.UserID), ActorKind: models.ActorUser, Approve: true}).Error
		}))
		w.clock.Advance(6 * time.Minute)
		w.want("decided", w.told(w.mailer(w.smtp)), "member: 1")
	})
}

func TestAMailSaysWhatWaitsWhere(t *testing.T) {
	each(t, func(w *world) {
		w.wait("A barn\nof its own", models.WaitApproval, models.WaitRequest{Quorum: 1, Role: models.RoleAdmin})
		w.clock.Advance(6 * time.Minute)
		w.must(w.mailer(w.smtp).Send(context.Background()))
		got := w.smtp.Next(w.T)
		for _, part := range []string{
			"Hello The admin,", "waiting for you in ACME:", "- Approval needed: write_file\n", "“A barn of its own”", "https://ostler.example.com/sessions/sess_",
			"https://ostler.example.com/approvals\n", "https://ostler.example.com/organization/profile\n",
		} {
			if !strings.Contains(got.Text, part) {
				w.Errorf("the mail lacks %q:\n%s", part, got.Text)
			}
		}
		if strings.Contains(got.Data+got.Text, "secret") {
			w.Errorf("the mail tells what the call is about:\n%s", got.Text)
		}
	})
}
