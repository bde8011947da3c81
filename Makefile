# The commands of this repository. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# One set of flags for all that is built, so that nothing is compiled twice; without paths, clones share what the compiler made. Only the
# race detector needs C.
export GOFLAGS := $(filter-out -trimpath,$(GOFLAGS)) -trimpath
export CGO_ENABLED := 0

VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
GO_FILES = $(shell git ls-files --cached --others --exclude-standard --deduplicate '*.go' | while read -r f; do [[ -e $$f ]] && echo "$$f"; done)
WEB_SOURCES = $(shell find web/src web/public web/scripts web/*.html web/*.json web/*.ts graph/schema -type f 2>/dev/null)

# The figures that `make bench` takes, e.g. `make bench BENCH="-figures P1 -databases sqlite"`.
BENCH ?=

.PHONY: help
help: ## List these commands
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | awk -F':.*## ' '{printf "  make %-16s %s\n", $$1, $$2}'

.PHONY: run
run: ## Set everything up and run the server: API, runner and dashboard on one SQLite file
	@$(MAKE) -j2 bin/ostler
	@exec bin/ostler serve

.PHONY: build
build: ## Build bin/ostler with the dashboard inside
	@$(MAKE) -j2 bin/ostler

# The server is compiled while the dashboard is built; then it is linked again, with the dashboard inside.
.PHONY: bin/ostler server
bin/ostler: web/dist/index.html server
	go build -ldflags "-s -w -X main.version=$(VERSION)" -o $@ ./cmd/api

server:
	go build ./internal/... ./graph/...

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

# Two tiers. `make test` tries a seeded sample of what `make test-thorough` tries whole; scripts/go-test and internal/sampletest have the
# Go tests' share of it. The seed counts commits: one commit is always tested alike, and those after it try the other rows.
export OSTLER_SAMPLE_SEED ?= $(shell git rev-list --count HEAD 2>/dev/null || echo 1)

# Side by side on two processors, each with its output in one piece; the Go tests, which take longest, begin first and print as they go.
CHECKS := check-format check-generated check-schema lint web-test
SIDE_BY_SIDE = $(MAKE) 3>&1 --keep-going --jobs=2 --output-sync=target AT_ONCE='>&3'

ALONE = $(MAKE) --keep-going

# summarize: runs commands, then says what the Go tests said at their end and how long it all took.
define summarize
@rm -f bin/test-summary; status=0; { $(1); } || status=$$?; \
if [[ -e bin/test-summary ]]; then cat bin/test-summary; else status=1; fi; \
printf '%s in %d:%02d minutes, ' $@ $$((SECONDS / 60)) $$((SECONDS % 60)); \
if [[ $$status = 0 ]]; then echo passed; else echo "FAILED: see above"; fi; exit $$status
endef

.PHONY: check
check: ## Run what is worth running before each commit: formatting, types, linters on what has changed, unit tests on SQLite
	@$(SIDE_BY_SIDE) go-check check-format check-generated web-check lint-changed

.PHONY: test
test: ## Run what a change must pass: linters, both databases, dashboard, a sample of the long tests
	$(call summarize,$(SIDE_BY_SIDE) go-test $(CHECKS) e2e-smoke)

.PHONY: test-thorough
test-thorough: ## Run everything, within an hour: race detector, long tests whole, fuzzing, all browser tests
	$(call summarize,$(SIDE_BY_SIDE) go-test-thorough $(CHECKS) e2e && $(ALONE) simulations histories fuzz)

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

# It walks the whole tree, and fails where npm is just replacing directories.
.PHONY: lint
lint: bin/golangci-lint web/node_modules/.package-lock.json e2e/clients/node_modules/.package-lock.json ## Run golangci-lint
	bin/golangci-lint run ./...
	bin/golangci-lint run --build-tags chaos ./cmd/api
	cd bench && ../bin/golangci-lint run ./...

bin/golangci-lint: tools/go.mod tools/go.sum
	go build -C tools -trimpath -ldflags "-s -w" -o ../$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint

bin/testsum: tools/testsum/main.go
	go build -C tools -o ../$@ ./testsum

# Packages with files that differ from the branch that this one began on.
BASE ?= $(shell git merge-base HEAD main 2>/dev/null || echo HEAD)

.PHONY: lint-changed
lint-changed: bin/golangci-lint
	@packages=$$({ git diff --name-only --diff-filter=d $(BASE); git ls-files --others --exclude-standard; } | \
	  grep '\.go$$' | grep -v '^tools/' | xargs -r dirname | sort -u || true); \
	product=$$(sed -n '\#^bench/#!s#^.#./&#p' <<<"$$packages"); bench=$$(sed -n 's#^bench/#./#p' <<<"$$packages"); \
	if [[ -n $$product ]]; then bin/golangci-lint run $$product; fi; \
	if [[ -n $$bench ]]; then cd bench && ../bin/golangci-lint run $$bench; fi

# The clients that the Go tests in e2e run.
e2e/clients/node_modules/.package-lock.json: e2e/clients/package-lock.json e2e/clients/package.json
	cd e2e/clients && npm ci --no-audit --no-fund
	@touch $@

.PHONY: go-test go-test-thorough go-check
go-test: bin/testsum web/dist/index.html e2e/clients/node_modules/.package-lock.json ## Run the Go tests, on SQLite and on a PostgreSQL server of their own
	@scripts/ensure gcc >/dev/null
	@scripts/with-postgres scripts/go-test short | bin/testsum -summary bin/test-summary $(AT_ONCE)

go-test-thorough: bin/testsum web/dist/index.html e2e/clients/node_modules/.package-lock.json
	@scripts/ensure gcc >/dev/null
	@scripts/with-postgres scripts/go-test thorough | bin/testsum -summary bin/test-summary $(AT_ONCE)

go-check: bin/testsum
	@OSTLER_TEST_POSTGRES_URL=none scripts/go-test check | bin/testsum -allow-skips $(AT_ONCE)

# How many histories the simulation plays without the race detector.
SIMULATIONS ?= 10000

.PHONY: simulations
simulations: ## Play SIMULATIONS histories of several processes with the engine: docs/architecture.md
	OSTLER_SIM_SEEDS=$(SIMULATIONS) go test -count=1 -timeout 1h -v -run 'TestSimulation$$' ./internal/runtime

# How many operations each of three tests of histories makes on each of two databases: more than a million together.
HISTORY ?= 180000

.PHONY: histories
histories: ## Make a million operations that race and look for an order that explains what each was told: docs/reliability.md
	OSTLER_HISTORY_OPERATIONS=$(HISTORY) scripts/with-postgres go test -count=1 -timeout 1h -v -run Histor ./internal/commit ./internal/sessions

# How long each fuzz target gets.
FUZZ ?= 20s

.PHONY: fuzz
fuzz: ## Give every fuzz target FUZZ of time, e.g. `make fuzz FUZZ=10m`; their seeds run with every `go test`
	scripts/fuzz $(FUZZ)

# What the long run of the clients does; the seed decides where connections are cut.
FOLLOW ?= {"turns":100,"disconnects":1000,"restarts":3,"seed":1}

.PHONY: follow
follow: e2e/clients/node_modules/.package-lock.json ## Follow 100 turns with each client through 1 000 disconnects and 3 restarts
	OSTLER_E2E_FOLLOW='$(FOLLOW)' go test -count=1 -timeout 30m -v -run TestClientsFollowThroughDisconnects ./e2e

.PHONY: web-check
web-check: web/node_modules/.package-lock.json
	cd web && npm run lint && npm run typecheck

.PHONY: web-test
web-test: web-check web/dist/index.html ## Check the dashboard: lint, types, tests, size
	cd web && npm run test && npm run size

PLAYWRIGHT = cd web && OSTLER_E2E_BIN=$(CURDIR)/bin/ostler OSTLER_E2E_CHROMIUM=$$(../scripts/ensure chromium) npm run e2e --

.PHONY: e2e e2e-smoke
e2e: bin/ostler ## Drive the dashboard in Chromium against the real binary
	$(PLAYWRIGHT)

e2e-smoke: bin/ostler ## The tests of it that are marked @smoke
	$(PLAYWRIGHT) --grep @smoke

.PHONY: bench
bench: bin/ostler ## Take the figures of docs/benchmarks.md on both databases; BENCH="-quick" for a first look
	mkdir -p bin/bench
	go build -o bin/bench/ ./cmd/natsd
	go build -C bench -o ../bin/bench/ ./load ./floor ./fakemodel ./fanout
	scripts/with-postgres --durable bin/bench/load $(BENCH)

# What the fault programs do, e.g. `make chaos CHAOS="-programs R1 -databases sqlite"`.
CHAOS ?=

.PHONY: chaos
chaos: ## Break the product while it works and check what comes of it: docs/reliability.md; CHAOS="-short" for a first look
	mkdir -p bin/chaos
	go build -tags chaos -ldflags "-X main.version=$(VERSION)" -o bin/chaos/ostler ./cmd/api
	go build -C bench -o ../bin/chaos/ ./chaos
	scripts/with-postgres --durable bin/chaos/chaos $(CHAOS)
