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

// rooted grows the buffer of an answer to its final size at once, since it is known when the root fields are written: a buffer that grows needs up
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

// orgMemory is an organization's share of the memory for operations.
type orgMemory struct {
	all *shares.Shares[models.OrgID]
	org models.OrgID
}

// newMemory bounds what all operations, and the answers that subscribers don't share, have read and not yet answered. An organization can always have one answer of the largest size.
func newMemory(l Limits) *shares.Shares[models.OrgID] {
	return &shares.Shares[models.OrgID]{
		Places: int(l.OperationsBytes / store.MemoryStep), Least: int(l.AnswerBytes / store.MemoryStep),
	}
}

// memoryOf returns the share of the caller's organization; callers without one have a share together.
func (e *engine) memoryOf(ctx context.Context) orgMemory {
	m := orgMemory{all: e.memory}
	if p := auth.FromContext(ctx); p != nil {
		m.org = p.OrgID
	}
	return m
}

// Take implements store.Memory.
func (m orgMemory) Take(n int) bool { return m.all.Try(m.org, n) }

// Leave implements store.Memory.
func (m orgMemory) Leave(n int) { m.all.Leave(m.org, n) }

// noBytes returns the error of an operation that reads or answers too many bytes: ErrTooManyBytes or ErrMemoryFull.
func (e *engine) noBytes(err error) *gqlerror.Error {
	if errors.Is(err, store.ErrMemoryFull) {
		e := tooMany("Too many large answers of your organization, or of this server, are being made or wait to be read. Read them, ask for less at once, "+
			"e.g. for smaller pages, or try again in a moment. What a mutation has done stays done.", 1)
		e.Extensions["limit"] = "MEMORY"
		return e
	}
	most := e.limits.AnswerBytes
	tooMuch := coded(codeTooComplex, "The answer, with what has to be read for it, is over the limit of "+strconv.FormatInt(most, 10)+
		" bytes. Ask for less at once, e.g. for smaller pages. What a mutation has done stays done.")
	return overLimit(tooMuch, "BYTES", most)
}
