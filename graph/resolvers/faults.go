package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/fault"
)

// userErrors turns the error of a service into the userErrors of a mutation's payload: an empty list for nil, and a list of one for a
// *fault.Error, wrapped or not. All other errors are the server's own and are returned as they are: the error presenter hides their cause.
func userErrors(err error) ([]*model.UserError, error) {
	if err == nil {
		return []*model.UserError{}, nil
	}
	f := fault.As(err)
	if f == nil {
		return nil, err
	}
	e := &model.UserError{Code: model.UserErrorCode(f.Code), Message: f.Message, Path: f.Path}
	if e.Path == nil {
		e.Path = []string{}
	}
	if f.RetryAfterSeconds > 0 {
		e.RetryAfterSeconds = &f.RetryAfterSeconds
	}
	return []*model.UserError{e}, nil
}

// answered completes the payload of a mutation. list points to its userErrors. When err is nil, done fills in the rest. A *fault.Error becomes
// a userError, and any other error is returned.
func answered[P any](payload *P, list *[]*model.UserError, err error, done func()) (*P, error) {
	var own error
	if *list, own = userErrors(err); own != nil {
		return nil, own
	}
	if err == nil {
		done()
	}
	return payload, nil
}
