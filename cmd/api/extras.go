package main

import (
	"github.com/ostler-dev/ostler/internal/commit"
	"github.com/ostler-dev/ostler/internal/tools"
)

// extras are what a build with the tag chaos adds to the server, for the programs in bench/chaos: see chaos.go. Other builds
// add nothing.
type extras struct {
	capabilities []tools.Capability
	faults       commit.Faults
}
