package models

// The entities of budgets that have ids.
type (
	BudgetEntity  struct{}
	JournalEntity struct{}
	LedgerEntity  struct{}
	SubjectEntity struct{}
)

// Prefix implements Entity.
func (BudgetEntity) Prefix() string { return "bdgt" }

// Prefix implements Entity.
func (JournalEntity) Prefix() string { return "jrnl" }

// Prefix implements Entity.
func (LedgerEntity) Prefix() string { return "ldgr" }

// Prefix implements Entity. A subject's id is shown with the prefix of what it is.
func (SubjectEntity) Prefix() string { return "subject" }

// Typed ids of budgets. A SubjectID is the id of an organization, a user, an agent or a session.
type (
	BudgetID  = ID[BudgetEntity]
	JournalID = ID[JournalEntity]
	LedgerID  = ID[LedgerEntity]
	SubjectID = ID[SubjectEntity]
)

// Amount is a sum of a currency in its smallest unit: whole numbers of tokens and tool calls, and 10^-9 of everything else. Money is
// never a float.
type Amount int64

// BudgetSubject tells what a budget binds.
type BudgetSubject string

// The kinds of subjects.
const (
	SubjectOrg      BudgetSubject = "ORG"
	SubjectUser     BudgetSubject = "USER"
	SubjectAgent    BudgetSubject = "AGENT"
	SubjectSession  BudgetSubject = "SESSION"
	SubjectCustomer BudgetSubject = "CUSTOMER"
)

// The currencies that the server itself measures. Every other one is a unit of the organization's own.
const (
	CurrencyUSD       = "usd"
	CurrencyTokens    = "tokens"
	CurrencyCredits   = "credits"
	CurrencyToolCalls = "tool_calls"
)

// PeriodKind tells how a budget's periods follow each other.
type PeriodKind string

// The kinds of periods.
const (
	PeriodCalendar PeriodKind = "CALENDAR"
	PeriodRolling  PeriodKind = "ROLLING"
	PeriodFixed    PeriodKind = "FIXED"
)

// CalendarUnit is the length of a calendar period.
type CalendarUnit string

// The units of calendar periods. Weeks begin on Monday.
const (
	UnitHour  CalendarUnit = "HOUR"
	UnitDay   CalendarUnit = "DAY"
	UnitWeek  CalendarUnit = "WEEK"
	UnitMonth CalendarUnit = "MONTH"
	UnitYear  CalendarUnit = "YEAR"
)

// Budget bounds what a subject may take of a currency. The columns from PeriodStartedAt on stand as of the last write: a period that is
// over since then is begun by package budget before anything is read from them.
type Budget struct {
	OrgID   OrgID    `gorm:"primaryKey"`
	ID      BudgetID `gorm:"primaryKey"`
	Subject BudgetSubject
	// SubjectID is what the budget binds; nil for a customer, who has a key.
	SubjectID   *SubjectID
	CustomerKey *string
	Currency    string
	LimitAmount Amount
	SoftLimit   *Amount
	// PeriodKind is nil for a budget that lasts.
	PeriodKind *PeriodKind
	PeriodUnit *CalendarUnit
	// PeriodSeconds is the length of a fixed period, and the window of a rolling one.
	PeriodSeconds *int64
	Timezone      *string
	CreatedAt     Millis `gorm:"autoCreateTime:false"`
	DisabledAt    *Millis

	// PeriodStartedAt is the start of the present period; the creation of a budget without periods, and of a rolling one.
	PeriodStartedAt Millis
	// PeriodEndsAt is when the next one begins; nil for never.
	PeriodEndsAt *Millis
	// Spent and Credits are the sums of the period's debits and credits, Reserved is what was granted in it and is held still.
	Spent    Amount
	Credits  Amount
	Reserved Amount
	// WarnedAt, SoftPassedAt and ExhaustedAt are when that came about in the present period; nil when it has not.
	WarnedAt     *Millis
	SoftPassedAt *Millis
	ExhaustedAt  *Millis
	// Contended is true when turns may be parked that wait for this budget.
	Contended bool
	// Kept is what turns that came later leave free for the one whose wait is KeptFor, until KeptUntil; 0 for nothing.
	Kept      Amount
	KeptFor   *WaitID
	KeptUntil *Millis
	UpdatedAt Millis `gorm:"autoUpdateTime:false"`
	// Slots are what a rolling budget has spent in its window, oldest first. They are rows of their own; nil before they were read.
	Slots []BudgetSlot `gorm:"-"`
	// AllowUnpriced is true when models without a price may run under it. It is not a column: the committer tells it, of the organization.
	AllowUnpriced bool `gorm:"-"`
}

// BudgetSlot is what a rolling budget has spent in one part of its window; see package budget. It is written under the lock of the budget's row.
type BudgetSlot struct {
	OrgID    OrgID    `gorm:"primaryKey"`
	BudgetID BudgetID `gorm:"primaryKey"`
	// Slot numbers the parts of the window since 1970.
	Slot int64 `gorm:"primaryKey;autoIncrement:false"`
	// Newest is the time of the newest posting in it.
	Newest Millis
	Spent  Amount
}

// Reservation is what a turn holds of budgets for the step that it is at. It is part of the turn's row, so that it goes where the turn
// goes: whoever ends the step, takes it over or ends the turn, settles it.
type Reservation struct {
	// ModelID is the model whose prices it was worked out with.
	ModelID ModelID `json:"model,omitzero"`
	// MaxTokens is the output limit that was reserved for a model call; 0 in an act.
	MaxTokens int `json:"maxTokens,omitempty"`
	// InputTokens is the bound of the prompt that was reserved.
	InputTokens int64 `json:"inputTokens,omitempty"`
	// Waited is the wait that the turn was let go on from, until the step has begun that it was for: should it have to wait again, it keeps its
	// place before those that came later.
	Waited WaitID `json:"waited,omitzero"`
	Lines  []Held `json:"lines"`
}

// Held is what is held of one budget.
type Held struct {
	Budget BudgetID `json:"budget"`
	Amount Amount   `json:"amount"`
	// Period is the start of the budget's period that it was granted in, and that what it is for is settled in: also when that is over by then.
	Period Millis `json:"period"`
}

// JournalKind tells what was metered.
type JournalKind string

// The kinds of journal entries.
const (
	JournalModelCall  JournalKind = "MODEL_CALL"
	JournalToolCall   JournalKind = "TOOL_CALL"
	JournalTopUp      JournalKind = "TOP_UP"
	JournalAdjustment JournalKind = "ADJUSTMENT"
	JournalPayment    JournalKind = "PAYMENT"
)

// JournalEntry is an immutable fact about something that was metered. Its id follows from what it is about, so that a fact that is
// brought twice counts once.
type JournalEntry struct {
	OrgID      OrgID     `gorm:"primaryKey"`
	ID         JournalID `gorm:"primaryKey"`
	Kind       JournalKind
	OccurredAt Millis
	// SessionID and TurnID are not foreign keys: facts outlive what they are about.
	SessionID   *SessionID
	TurnID      *TurnID
	UserID      *UserID
	AgentID     *AgentID
	HarnessID   *HarnessID
	CustomerKey *string
	ModelID     *ModelID
	// Model and Tool are names; empty where there is none.
	Model string
	Tool  string
	Usage Usage `gorm:"embedded"`
	// ProviderCost is true when the cost is what the provider has reported; else it was worked out from the prices.
	ProviderCost bool
	// Estimated is true when the provider had not told what the call took.
	Estimated  bool
	DurationMs int64
	// Measures are what custom meters have measured, by their currency, as JSON; and of other kinds whatever they tell.
	Measures JSON
}

// TableName tells GORM the table's name.
func (JournalEntry) TableName() string { return "usage_journal" }

// LedgerEntry is an append-only posting: a debit of a budget is positive, a credit negative. Its id is its PostingID.
type LedgerEntry struct {
	OrgID     OrgID    `gorm:"primaryKey"`
	ID        LedgerID `gorm:"primaryKey"`
	BudgetID  BudgetID
	JournalID JournalID
	// Source is the kind of the journal entry.
	Source JournalKind
	Amount Amount
	// Overrun is the part of a debit that had not been reserved.
	Overrun     Amount
	SessionID   *SessionID
	TurnID      *TurnID
	Description *string
	// PeriodStartedAt is the period of the budget that the posting counts in.
	PeriodStartedAt Millis
	CreatedAt       Millis `gorm:"autoCreateTime:false"`
}

// PostingID returns the id of the posting of a fact to a budget. It is the same for whoever posts it again, so that it is posted once.
func PostingID(fact JournalID, b BudgetID) LedgerID {
	// The time is that of the fact, so that postings which are made together lie together.
	return DerivedID[LedgerEntity](fact, b[:])
}

// UsageHour adds up what was metered within an hour (UTC). What there was none of is the zero id, or empty.
type UsageHour struct {
	OrgID       OrgID   `gorm:"primaryKey"`
	Hour        Millis  `gorm:"primaryKey"`
	ModelID     ModelID `gorm:"primaryKey"`
	AgentID     AgentID `gorm:"primaryKey"`
	UserID      UserID  `gorm:"primaryKey"`
	CustomerKey string  `gorm:"primaryKey"`
	Tool        string  `gorm:"primaryKey"`
	UsageSums   `gorm:"embedded"`
}

// SessionUsageHour is UsageHour for each session. Users and customers follow from the session, as long as there is one.
type SessionUsageHour struct {
	OrgID       OrgID     `gorm:"primaryKey"`
	Hour        Millis    `gorm:"primaryKey"`
	SessionID   SessionID `gorm:"primaryKey"`
	ModelID     ModelID   `gorm:"primaryKey"`
	AgentID     AgentID   `gorm:"primaryKey"`
	UserID      UserID    `gorm:"primaryKey"`
	CustomerKey string    `gorm:"primaryKey"`
	Tool        string    `gorm:"primaryKey"`
	UsageSums   `gorm:"embedded"`
}

// UsageSums are sums over journal entries. Turns counts those whose first model call is among them.
type UsageSums struct {
	InputTokens      int64
	OutputTokens     int64
	CacheReadTokens  int64
	CacheWriteTokens int64
	ReasoningTokens  int64
	CostNanos        Nanos
	// UnpricedCalls counts the model calls without a price, whose cost is not in the sum.
	UnpricedCalls int64
	ModelCalls    int64
	ToolCalls     int64
	Turns         int64
}
