// Package e2e holds tests of the built program: they start it as an operator would, talk to it as clients do, kill it,
// and look at what is left. What they use of the program's own packages prepares databases, forges tokens, or lists the
// schema; what is tested is the process.
package e2e
