package waitmail

// Bound lowers how many waits are read together, and how many mails an organization gets in one run.
func (m *Mailer) Bound(waits, mails int) { m.pageWaits, m.most = waits, mails }
