package resolvers

import (
	"github.com/ostler-dev/ostler/graph/model"
	"github.com/ostler-dev/ostler/internal/fault"
)

// userErrors turns what a service answered into the userErrors of a mutation's payload. No error gives an empty
// list. A *fault.Error, wrapped or not, gives a list of one. All other errors are the server's own and are given
// back as they are: the error presenter hides their cause.
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

// answered completes the payload of a mutation, whose userErrors are list: by done when err is nil, else by the error. Errors that
// userErrors returns are returned.
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
