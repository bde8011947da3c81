# The commands of this repository. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO_FILES = $(shell git ls-files --cached --others --exclude-standard --deduplicate '*.go' | while read -r f; do [[ -e $$f ]] && echo "$$f"; done)
WEB_SOURCES = $(shell find web/src web/public web/scripts web/*.html web/*.json web/*.ts graph/schema -type f 2>/dev/null)

# The figures that `make bench` takes, e.g. `make bench BENCH="-figures P1 -databases sqlite"`.
BENCH ?=

.PHONY: help
help: ## List these commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.PHONY: run
run: web/dist/index.html ## Set everything up and run the server: API, runner and dashboard on one SQLite file
	go run -ldflags "-X main.version=$(VERSION)" ./cmd/api serve

.PHONY: build
build: bin/ostler ## Build bin/ostler with the dashboard inside

.PHONY: bin/ostler
bin/ostler: web/dist/index.html
	CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/api

web/dist/index.html: web/node_modules/.package-lock.json $(WEB_SOURCES)
	cd web && npm run build
	@touch $@ web/dist/.keep # the build empties the directory, and git has .keep in it

# npm writes this file at the end of an installation.
web/node_modules/.package-lock.json: web/package-lock.json web/package.json
	cd web && npm ci --no-audit --no-fund
	@touch $@

.PHONY: generate
generate: web/node_modules/.package-lock.json ## Generate code from the GraphQL schema, for the server and the dashboard
	go tool gqlgen generate
	cd web && npm run codegen

# What a change must pass, quick checks first. The Go tests come last, so that their result is at the end.
.PHONY: test
test: check-format check-generated check-schema lint vet fuzz-briefly web-test e2e go-test ## Run everything that a change must pass: both databases, race detector, dashboard, browser

.PHONY: check-format
check-format: ## Check that gofmt has nothing to change
	@files=$$(gofmt -l $(GO_FILES)); if [[ -n $$files ]]; then echo "run gofmt -w on:"; echo "$$files"; exit 1; fi

.PHONY: check-generated
check-generated: web/node_modules/.package-lock.json ## Check that the generated code is that of the schema
	scripts/check-generated
	cd web && npm run codegen:check

.PHONY: check-schema
check-schema: web/node_modules/.package-lock.json ## Check that no change of the schema breaks clients of the last release
	cd web && npm run schema:check

.PHONY: release-contract
release-contract: web/node_modules/.package-lock.json ## Keep what a release promises to its clients; VERSION=1.4.0, see docs/api.md
	cd web && npm run trusted:release -- $(VERSION) && npm run schema:release

.PHONY: lint
lint: bin/golangci-lint ## Run golangci-lint
	bin/golangci-lint run ./...
	bin/golangci-lint run --build-tags chaos ./cmd/api

bin/golangci-lint: tools/go.mod tools/go.sum
	go build -C tools -trimpath -ldflags "-s -w" -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/testsum: tools/testsum/main.go
	go build -C tools -o ../$@ ./testsum

.PHONY: vet
vet: ## Run go vet
	go vet ./...
	go vet -tags chaos ./cmd/api

# The clients that the Go tests in e2e run.
e2e/clients/node_modules/.package-lock.json: e2e/clients/package-lock.json e2e/clients/package.json
	cd e2e/clients && npm ci --no-audit --no-fund
	@touch $@

.PHONY: go-test
go-test: bin/testsum e2e/clients/node_modules/.package-lock.json ## Run the Go tests with the race detector, on SQLite and on a PostgreSQL server of their own
	@scripts/ensure gcc >/dev/null
	scripts/with-postgres go test -race -timeout 25m -json ./... | bin/testsum
	go test -race -tags chaos -json -run 'Failpoints|Extras' ./cmd/api | bin/testsum

# How many operations each of three tests of histories makes on each of two databases: more than a million together.
HISTORY ?= 180000

.PHONY: histories
histories: ## Make a million operations that race and look for an order that explains what each was told: docs/reliability.md
	OSTLER_HISTORY_OPERATIONS=$(HISTORY) scripts/with-postgres go test -count=1 -timeout 1h -v -run Histor ./internal/commit ./internal/sessions

# How long each fuzz target gets.
FUZZ ?= 5s

.PHONY: fuzz
fuzz: ## Give every fuzz target FUZZ of time, e.g. `make fuzz FUZZ=10m`; their seeds run with every `go test`
	scripts/fuzz $(FUZZ)

.PHONY: fuzz-briefly
fuzz-briefly:
	scripts/fuzz 2s

# What the long run of the clients does; the seed decides where connections are cut.
FOLLOW ?= {"turns":100,"disconnects":1000,"restarts":3,"seed":1}

.PHONY: follow
follow: e2e/clients/node_modules/.package-lock.json ## Follow 100 turns with each client through 1 000 disconnects and 3 restarts
	OSTLER_E2E_FOLLOW='$(FOLLOW)' go test -count=1 -timeout 30m -v -run TestClientsFollowThroughDisconnects ./e2e

.PHONY: web-test
web-test: web/node_modules/.package-lock.json ## Check the dashboard: lint, types, tests, size
	cd web && npm run lint && npm run typecheck && npm run test
	@$(MAKE) web/dist/index.html
	cd web && npm run size

.PHONY: e2e
e2e: bin/ostler ## Drive the dashboard in Chromium against the real binary
	scripts/ensure chromium >/dev/null
	cd web && OSTLER_E2E_BIN=$(CURDIR)/bin/ostler OSTLER_CHROMIUM=$$(../scripts/ensure chromium) npm run e2e

.PHONY: bench
bench: bin/ostler ## Take the figures of docs/benchmarks.md on both databases; BENCH="-quick" for a first look
	mkdir -p bin/bench
	go build -o bin/bench/ ./bench/load ./bench/floor ./bench/fakemodel ./bench/fanout ./cmd/natsd
	scripts/with-postgres --durable bin/bench/load $(BENCH)

# What the fault programs do, e.g. `make chaos CHAOS="-programs R1 -databases sqlite"`.
CHAOS ?=

.PHONY: chaos
chaos: ## Break the product while it works and check what comes of it: docs/reliability.md; CHAOS="-short" for a first look
	mkdir -p bin/chaos
	go build -tags chaos -ldflags "-X main.version=$(VERSION)" -o bin/chaos/ostler ./cmd/api
	go build -o bin/chaos/ ./bench/chaos
	scripts/with-postgres --durable bin/chaos/chaos $(CHAOS)
