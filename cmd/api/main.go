// Command api is Ostler: the API, the runner and the dashboard in one program.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

// version is set by the build.
var version = "dev"

const usage = `usage: ostler <command>

  serve [--role=all|api|runner]   run the server (the default)
  migrate                         bring the database's schema up to date
  admin …                         manage users, limits and keys; "ostler admin" lists the commands
  rotate-keys                     seal all secrets with OSTLER_MASTER_KEY instead of OSTLER_MASTER_KEY_PREVIOUS
  config                          print the configuration, without secrets
  version                         print the version

Ostler is configured by environment variables; see docs/configuration.md`

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "ostler: "+err.Error())
		os.Exit(1)
	}
}

var errUsage = errors.New("unknown command or flag\n" + usage)

func run(args []string) error {
	command := "serve"
	if len(args) > 0 && !strings.HasPrefix(args[0], "--role") {
		command, args = args[0], args[1:]
	}
	getenv := os.Getenv
	if command == "serve" && len(args) == 1 {
		role, ok := strings.CutPrefix(args[0], "--role=")
		if !ok {
			return errUsage
		}
		args = nil
		getenv = func(name string) string {
			if name == "OSTLER_ROLE" {
				return role
			}
			return os.Getenv(name)
		}
	}
	if len(args) > 0 && command != "admin" {
		return errUsage
	}
	switch command {
	case "help", "-h", "--help":
		fmt.Println(usage)
		return nil
	case "version":
		fmt.Println(version)
		return nil
	case "config":
		printConfig(os.Stdout, getenv)
		_, err := readConfig(getenv)
		return err
	}
	tuneCollector(getenv, os.DirFS("/"))
	cfg, err := readConfig(getenv)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.logLevel}))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	switch command {
	case "serve":
		return serve(ctx, cfg, log, os.Stdout)
	case "migrate":
		return migrate(ctx, cfg)
	case "admin":
		return admin(ctx, cfg, log, os.Stdout, args)
	case "rotate-keys":
		return atPlace(ctx, cfg, log, os.Stdout, rotateKeys, args)
	}
	return errUsage
}
