package models

// Wait is something that a turn waits for, or has waited for.
type Wait struct {
	OrgID     OrgID  `gorm:"primaryKey"`
	ID        WaitID `gorm:"primaryKey"`
	SessionID SessionID
	TurnID    TurnID
	Kind      WaitKind
	// Identity names what is waited for within the turn; the same thing is waited for once.
	Identity   string
	State      WaitState
	ToolCallID *string
	ToolName   *string
	// Request is what those who resolve it must know; see WaitRequest.
	Request JSON
	// Deadline is when it ends by itself; nil for never.
	Deadline *Millis
	// Resolution is a WaitResolution; nil as long as the wait is open.
	Resolution JSON
	// Approvals counts the people who have approved.
	Approvals  int
	CreatedAt  Millis `gorm:"autoCreateTime:false"`
	ResolvedAt *Millis
}

// WaitRequest is what a wait asks for. Which fields are set follows from the kind.
type WaitRequest struct {
	DisplayName string `json:"displayName,omitempty"`
	// Arguments are those of the call.
	Arguments JSON `json:"arguments,omitempty"`
	// Question and Options of a question.
	Question string   `json:"question,omitempty"`
	Options  []string `json:"options,omitempty"`
	// Quorum is how many approvals it takes, Role the least role of who may give one; empty for all who may decide.
	Quorum int  `json:"quorum,omitempty"`
	Role   Role `json:"role,omitempty"`
	// AllowSelf lets the authors of the turn decide.
	AllowSelf bool `json:"allowSelf,omitempty"`
	// Reason is why the policy asks, in words for those who decide.
	Reason string `json:"reason,omitempty"`
	// FailTurn is true when the turn fails when the deadline passes; else the model is told.
	FailTurn bool `json:"failTurn,omitempty"`
	// Parked is true when the call waits already; a wait that was only announced may be resolved before.
	Parked bool `json:"parked,omitempty"`
	// Budget is what a turn waits for that needs money.
	Budget *BudgetWait `json:"budget,omitempty"`
	// Payment is what an approval is about when it isn't the call itself, but a payment that the call asks for.
	Payment *PaymentTerms `json:"payment,omitempty"`
}

// PaymentTerms are what people are asked to approve of a payment: it is made by these, or not at all.
type PaymentTerms struct {
	// Key is the idempotency key of the payment.
	Key  string `json:"key"`
	Tool string `json:"tool"`
	Host string `json:"host"`
	// Amount is in 10^-9 usd.
	Amount  Amount `json:"amount"`
	Purpose string `json:"purpose"`
}

// BudgetWait is what a turn waits for that needs money.
type BudgetWait struct {
	Budget BudgetID `json:"budget"`
	// Paused is true when the budget is over its soft limit, so that somebody has to let the session go on. Else other turns hold what it
	// needs, and it goes on when they have settled.
	Paused bool `json:"paused,omitempty"`
	// Calls is true when it is the calls of an answer that wait, in the journal; else a model is to be asked.
	Calls bool `json:"calls,omitempty"`
	// Need is the least amount that it can go on with.
	Need Amount `json:"need"`
	// Needs are the least amounts of all budgets that it draws on, of Budget, too; none when somebody has to let it go on.
	Needs []BudgetNeed `json:"needs,omitempty"`
}

// BudgetNeed is the least amount of a budget that a step can begin with.
type BudgetNeed struct {
	Budget BudgetID `json:"budget"`
	Amount Amount   `json:"amount"`
}

// WaitResolution is what became of a wait.
type WaitResolution struct {
	Value        JSON   `json:"value,omitempty"`
	ErrorCode    string `json:"errorCode,omitempty"`
	ErrorMessage string `json:"errorMessage,omitempty"`
	// Arguments are those that an approval has put in the place of the call's.
	Arguments JSON      `json:"arguments,omitempty"`
	ByKind    ActorKind `json:"byKind,omitempty"`
	ByID      ActorRef  `json:"byId,omitempty"`
}

// WaitKind tells what is waited for.
type WaitKind string

// The kinds of waits.
const (
	WaitClientTool WaitKind = "CLIENT_TOOL"
	WaitApproval   WaitKind = "APPROVAL"
	WaitQuestion   WaitKind = "QUESTION"
	WaitCompletion WaitKind = "COMPLETION"
	WaitCustom     WaitKind = "CUSTOM"
	WaitBudget     WaitKind = "BUDGET"
)

// WaitState tells how a wait stands. The first resolution wins.
type WaitState string

// The states of a wait.
const (
	WaitOpen      WaitState = "OPEN"
	WaitOK        WaitState = "OK"
	WaitError     WaitState = "ERROR"
	WaitTimeout   WaitState = "TIMEOUT"
	WaitCancelled WaitState = "CANCELLED"
)

// ApprovalDecision is what one person decided about an approval.
type ApprovalDecision struct {
	OrgID     OrgID   `gorm:"primaryKey"`
	WaitID    WaitID  `gorm:"primaryKey"`
	ActorID   ActorID `gorm:"primaryKey"`
	ActorKind ActorKind
	Approve   bool
	// Arguments are those that the call shall have; nil for its own.
	Arguments JSON
	Note      *string
	CreatedAt Millis `gorm:"autoCreateTime:false"`
	// Voter is what is known of who decided; set where a command reads the decision.
	Voter Voter `gorm:"-"`
}

// Voter is what somebody who has decided about an approval is when the decisions are counted: they may have been removed since.
type Voter struct {
	// Role is that of a member; empty for a key, and for somebody who is no longer a member.
	Role Role
	// Key is true for a key that isn't revoked; it expires at KeyExpiresAt, or never.
	Key          bool
	KeyExpiresAt *Millis
	// Maker is the person who made the key; zero for a member and where nobody knows.
	Maker UserID
}

// Actor returns who decided.
func (d ApprovalDecision) Actor() Actor {
	return Actor{Kind: d.ActorKind, ID: d.ActorID, Maker: d.Voter.Maker}
}

// WaitMail is what a member of an organization was mailed of what waits for them. Who never was, and never switched it off, has none.
type WaitMail struct {
	OrgID  OrgID  `gorm:"primaryKey"`
	UserID UserID `gorm:"primaryKey"`
	// ToldThrough is the time up to which they were told of the waits that were made until then.
	ToldThrough Millis
	// MailedAt is when the last mail was claimed; 0 for never.
	MailedAt Millis
	// OffSince is since when they want none; nil for those who do.
	OffSince *Millis
}

// HookJob is a run of hooks that comes after what it is about was committed.
type HookJob struct {
	OrgID     OrgID     `gorm:"primaryKey"`
	ID        HookJobID `gorm:"primaryKey"`
	SessionID SessionID
	TurnID    *TurnID
	Event     string
	Payload   JSON
	// Attempt counts the runs that were begun.
	Attempt int
	// DueAt is when the next run may begin; a run under way has it in the future.
	DueAt Millis
}
