package hold

import (
	"fmt"

	"github.com/ostler-dev/ostler/internal/budget"
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/models"
)

// Fact is something that was used, with what it takes of budgets.
type Fact struct {
	models.JournalEntry

	// BeginsTurn is true when it is the turn's first model call.
	BeginsTurn bool
	// Costs returns what it took of a currency; 0 for nothing.
	Costs func(currency string) models.Amount
	// Share returns how much of what is held in a currency was held for it.
	Share func(currency string, held models.Amount) models.Amount
	// Description is what its postings say; nil for nothing.
	Description *string
}

// ModelCall makes the fact of a model call. number counts those of the turn from 1.
func ModelCall(turn models.TurnID, number int, e models.JournalEntry) Fact {
	e.ID, e.Kind, e.TurnID = CallID(turn, number), models.JournalModelCall, &turn
	usage := e.Usage
	costs := func(currency string) models.Amount {
		cost, _ := budget.CostOf(currency, usage)
		return cost
	}
	return Fact{
		JournalEntry: e, BeginsTurn: number == 1, Costs: costs, Share: func(currency string, _ models.Amount) models.Amount { return costs(currency) },
	}
}

// CallID returns the id of the fact of a model call, which follows from what it is about: whoever brings it again brings the same.
func CallID(turn models.TurnID, number int) models.JournalID {
	return models.DerivedID[models.JournalEntity](turn, fmt.Appendf(nil, "journal/model/%d", number))
}

// Meter adds a fact to the journal and settles it. Its error must be returned by the command.
func Meter(tx *commit.Tx, f Fact) error {
	tx.Meter(f.JournalEntry, f.BeginsTurn)
	return Settle(tx, f)
}
