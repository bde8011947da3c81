package httpapi

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"github.com/99designs/gqlgen/graphql"
	"github.com/vektah/gqlparser/v2/gqlerror"

	"github.com/ostler-dev/ostler/internal/auth"
	"github.com/ostler-dev/ostler/internal/models"
	"github.com/ostler-dev/ostler/internal/shares"
	"github.com/ostler-dev/ostler/internal/store"
)

// shortText is what a value may have in bytes without being counted: the cost of an operation bounds how many of them there are.
const shortText = 64

// counted has the long values of an operation counted before its answer is written.
func counted(around graphql.FieldMiddleware) graphql.FieldMiddleware {
	return func(ctx context.Context, next graphql.Resolver) (any, error) {
		v, err := around(ctx, next)
		if err != nil {
			return v, err
		}
		if n := written(v); n > shortText {
			err = store.ChargeAnswer(ctx, n)
		}
		return v, err
	}
}

// written returns how many bytes a value takes in an answer; 0 for values that are short by their kind.
func written(v any) int {
	switch v := v.(type) {
	case string:
		return quoted(v)
	case *string:
		if v != nil {
			return quoted(*v)
		}
	case models.JSON:
		return len(v)
	}
	return 0
}

func quoted(s string) int {
	n := len(s)
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ':
			n += len(`\u0000`) - 1
		case c == '"' || c == '\\':
			n++
		}
	}
	return n
}

// rooted returns the buffer of an answer its size at once, since it is known when the root fields are written: a buffer that grows needs up
// to three times as much. Of an answer that is refused nothing is written.
func rooted(answer *store.Bytes) graphql.RootFieldMiddleware {
	return func(ctx context.Context, next graphql.RootResolver) graphql.Marshaler {
		m := next(ctx)
		if m == graphql.Null {
			return m
		}
		return graphql.WriterFunc(func(w io.Writer) {
			if answer.Err() != nil {
				m = graphql.Null
			}
			if buf, ok := w.(*bytes.Buffer); ok && buf.Len()+answer.Written() > buf.Cap() && answer.Written() > maxPooled {
				buf.Grow(answer.Written() + answer.Written()/16)
			}
			m.MarshalGQL(w)
		})
	}
}

func (e *engine) tooManyBytes() *gqlerror.Error {
	most := e.limits.AnswerBytes
	err := coded(codeTooComplex, "The answer, and what must be read for it, exceeds the limit of "+strconv.FormatInt(most, 10)+
		" bytes. Request less at once, e.g. smaller pages. The effects of a mutation remain.")
	return overLimit(err, "BYTES", most)
}
