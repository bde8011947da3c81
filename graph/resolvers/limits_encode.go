package resolvers

import (
	"github.com/ostler-dev/ostler/internal/catalog"
)

// permission writes yes and no as limits do, 1 and 0.
func permission(in catalog.Opt[*bool]) catalog.Opt[*int] {
	out := catalog.Opt[*int]{Given: in.Given}
	if in.Value != nil {
		out.Value = new(0)
		if *in.Value {
			*out.Value = 1
		}
	}
	return out
}

func bytesLimit(in catalog.Opt[*int64]) catalog.Opt[*int] {
	out := catalog.Opt[*int]{Given: in.Given}
	if in.Value != nil {
		out.Value = new(int(*in.Value))
	}
	return out
}
