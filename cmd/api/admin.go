package main

import (
	"context"
	"io"
)

// admin runs the commands of operators.
func admin(ctx context.Context, cfg config, args []string, out io.Writer) error {
	if len(args) > 0 && args[0] == "verify-audit" {
		return verifyAudit(ctx, cfg, args[1:], out)
	}
	return errUsage
}
