package waitmail

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/ostler-dev/ostler/internal/mail"
	"github.com/ostler-dev/ostler/internal/models"
)

const (
	// maxListed is how much one mail lists.
	maxListed = 20
	// maxName bounds a name in it, in characters.
	maxName = 80
)

// message says what waits and where. What the calls are about stays on the server: mail is read by others, too.
func message(publicURL string, p *member) mail.Message {
	var b strings.Builder
	fmt.Fprintf(&b, "Hello %s,\n\nthis is waiting for you in %s:\n", name(p.name), name(p.org))
	for i := range p.list {
		a := &p.list[i]
		fmt.Fprintf(&b, "\n- %s\n  %s\n  %s/sessions/%s\n", a.what(), a.where(), publicURL, a.wait.SessionID)
	}
	if more := p.count - len(p.list); more > 0 {
		fmt.Fprintf(&b, "\nand %d more.\n", more)
	}
	fmt.Fprintf(&b, "\nEverything that is waiting: %s/approvals\nTo get no more of these mails: %s/organization/profile\n", publicURL, publicURL)
	return mail.Message{To: p.email, Subject: subject(p), Text: b.String()}
}

func subject(p *member) string {
	if p.count > 1 {
		return fmt.Sprintf("%d things are waiting for you in %s", p.count, name(p.org))
	}
	return p.list[0].what() + " in " + p.list[0].session()
}

func (a *ask) what() string {
	switch a.wait.Kind {
	case models.WaitApproval:
		return "Approval needed: " + name(models.Value(a.wait.ToolName))
	case models.WaitBudget:
		return "Paused by a budget"
	}
	return "A question to answer"
}

func (a *ask) where() string {
	if a.agent == "" {
		return "Session: " + a.session()
	}
	return "Agent: " + name(a.agent) + ", session: " + a.session()
}

func (a *ask) session() string {
	if a.title == "" {
		return "an untitled session"
	}
	return "“" + name(a.title) + "”"
}

// name puts what people have called something into one line.
func name(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	short := []rune(strings.Join(strings.Fields(text), " "))
	if len(short) > maxName {
		short = append(short[:maxName-1], '…')
	}
	return string(short)
}
