# Development targets. `make help` lists them; each target installs its prerequisites or says what to install.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

NEED := ./tools/need.sh
IN_MEMORY := ./tools/in-memory.sh
DEBUG := target/debug/basalt
# CI sets the command that builds the tests: their build has the binaries, with other features of our crates.
BUILD_DEBUG ?= cargo build --package basalt --package flows --bin basalt --bin recordings
RELEASE := target/release/basalt
SHOP_INSTALLED := frontend/node_modules/.package-lock.json
SHOP := frontend/dist/index.html
CLIENTS_INSTALLED := packages/node_modules/.package-lock.json
SHOP_SOURCES := $(shell find frontend \( -name node_modules -o -name dist -o -name e2e -o -name test-results -o -name playwright-report \) -prune -o -type f -print 2>/dev/null)

.PHONY: help run test test-rust test-shop test-browser test-clients check check-rust check-shop check-clients check-dependencies check-scripts check-deploy fmt fuzz-data-api build package package-library package-platform package-deb bench bench-gateway bench-rest bench-storage bench-test bench-rolling bench-shop bench-size bench-users bench-cluster conformance storage-suites timing hardening mixed-versions replay soak soak-concurrency soak-orders clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(SHOP) ## Build everything, start a private database and serve; prints URL and keys
	@$(NEED) cargo postgres
	@cargo build --package basalt
	@exec $(DEBUG) serve

test: test-rust test-shop test-browser test-clients ## All tests: Rust, shop, both together in Chromium, test packages

test-rust: $(SHOP) ## Tests of the crates, with PostgreSQL, PgBouncer, Redis and HAProxy
	@$(NEED) cargo postgres pgbouncer redis haproxy faketime
	@$(IN_MEMORY) cargo test --workspace

test-shop: $(SHOP_INSTALLED) ## Unit tests of the shop
	@npm --prefix frontend run test

test-browser: $(SHOP_INSTALLED) $(SHOP) ## Chromium and supabase-js against the binary
	@$(NEED) cargo postgres headless-shell chromium
	@$(BUILD_DEBUG)
	@CHROMIUM_WITH_VIEWER="$$($(NEED) --path chromium)" CHROMIUM_BIN="$$($(NEED) --path headless-shell)" BASALT_BIN="$(CURDIR)/$(DEBUG)" \
		$(IN_MEMORY) npm --prefix frontend run test:e2e

test-clients: $(CLIENTS_INSTALLED) $(SHOP) ## Packages for test suites, and the examples of docs/testing
	@$(NEED) cargo postgres headless-shell
	@$(BUILD_DEBUG)
	@CHROMIUM_BIN="$$($(NEED) --path headless-shell)" BASALT_BIN="$(CURDIR)/$(DEBUG)" $(IN_MEMORY) packages/test.sh $(if $(IF_REACHABLE),--if-reachable)

package: package-library package-platform ## npm and Python packages for test suites in target/packages: make package [BINARY=path/to/basalt]
	@packages/python/package.sh target/packages $$(if [ -d target/pages ]; then echo target/pages; fi)

package-library: $(CLIENTS_INSTALLED) ## npm package @basalt/test, which has the packages of all platforms as optional dependencies
	@$(NEED) node
	@npm --prefix packages run --silent build
	@node packages/packaging/package.mjs target/packages library

package-platform: ## npm package with the binary of a platform: make package-platform [PLATFORM=linux-arm64 BINARY=path/to/basalt]
	@$(NEED) node
	@pages=; if packages/packaging/pages.sh target/pages $(BINARY) $(wildcard $(RELEASE) $(DEBUG)); then pages=pages=target/pages; fi; \
	node packages/packaging/package.mjs target/packages $$pages "$(or $(PLATFORM),$$(node -p 'process.platform + "-" + process.arch'))=$(firstword $(BINARY) $(wildcard $(RELEASE) $(DEBUG)) $(DEBUG))"

package-deb: ## Debian package in target/packages: make package-deb [BINARY=path/to/basalt]
	@deploy/debian/build.sh "$(firstword $(BINARY) $(wildcard $(RELEASE) $(DEBUG)) $(DEBUG))" target/packages

timing: $(SHOP) ## Compare durations for known and unknown addresses, on an idle machine: make timing [BINARY=…]
	@$(NEED) cargo postgres
	@$(if $(BINARY),BASALT_BINARY="$(abspath $(BINARY))" )cargo test --package basalt --test serve -- --ignored --exact --nocapture timing::timing_does_not_tell_who_has_an_account

hardening: ## Check that the tests of each hardened switch fail with the switch off; some minutes
	@$(NEED) cargo postgres
	@cargo test --package gotrue-rs --test http -- --ignored --exact structure::hardening::every_named_test_fails_without_its_switch

mixed-versions: $(SHOP) ## Run the previous version and this one on one database; builds both: make mixed-versions [MIXED="--revision v0.1.0"]
	@$(NEED) cargo postgres
	@$(BUILD_DEBUG)
	@python3 tools/mixed-versions.py --new $(DEBUG) $(MIXED)

conformance: $(SHOP) ## Test the OAuth server with authlib; openid-client is part of test-browser
	@$(NEED) cargo postgres
	@$(BUILD_DEBUG)
	@tools/conformance/run.sh $(DEBUG) $(if $(IF_REACHABLE),--if-reachable)

check: check-rust check-shop check-clients check-dependencies check-scripts ## Source checks of CI: formatting, lints, types, dead code, dependencies

check-rust: $(SHOP)
	@$(NEED) cargo
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets -- --deny warnings
	@RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --document-private-items

check-shop: $(SHOP_INSTALLED)
	@npm --prefix frontend run check

check-clients: $(CLIENTS_INSTALLED)
	@npm --prefix packages run --silent build
	@npm --prefix packages run check

check-dependencies:
	@$(NEED) cargo cargo-deny cargo-machete
	@tools/check-dependencies.sh

check-scripts:
	@python3 -m unittest discover --start-directory tools/cluster

check-deploy: ## Validate image, compose file, Helm chart, systemd unit and Debian package: make check-deploy [IF_REACHABLE=yes]
	@deploy/check.sh $(if $(IF_REACHABLE),--if-reachable) $(firstword $(BINARY) $(wildcard $(RELEASE) $(DEBUG)))

fmt: $(SHOP_INSTALLED) $(CLIENTS_INSTALLED) ## Format all source
	@cargo fmt --all
	@npm --prefix frontend run format
	@npm --prefix packages run format

build: $(SHOP) ## The release binary: target/release/basalt
	@$(NEED) cargo
	@cargo build --release --package basalt
	@ls -l $(RELEASE)

bench: ## Compare with the reference: make bench REF=/path/to/gotrue [BENCH="--only W1,W2"]
	@test -n "$(REF)" || { echo "REF is missing: the binary of the reference, built from its source (go build). Also needed: PostgreSQL 15 with pg_config, Python 3.11."; exit 1; }
	@$(MAKE) build
	@CARGO_TARGET_DIR="$(CURDIR)/target/bench" tools/bench/bench.py \
		--a "$(REF) serve" --b "$(CURDIR)/$(RELEASE) gotrue" --migrate "$(REF) migrate" $(or $(BENCH),--quick)

bench-test: build $(CLIENTS_INSTALLED) ## Measure the targets of test servers: make bench-test [BENCH="--quick --only start,worlds"]
	@$(NEED) postgres
	@npm --prefix packages run --silent build
	@node packages/bench/bench.mjs $(RELEASE) $(BENCH)

bench-gateway: build ## Time that the gateway adds to a request; fails over 0.15 ms
	@tools/bench-gateway.py $(RELEASE)

bench-rest: build ## Data API beside pgbench with the same statements: make bench-rest [BENCH="--seconds 5 --only single,rpc"]
	@$(NEED) postgres
	@tools/bench-rest.py $(CURDIR)/$(RELEASE) $(BENCH)

bench-storage: build ## Storage API, beside nginx and another server of it: make bench-storage [BENCH="--seconds 5 --only upload-1k,list --other URL --other-key KEY"]
	@$(NEED) postgres
	@tools/bench-storage.py $(CURDIR)/$(RELEASE) $(BENCH)

storage-suites: $(SHOP) ## Suites of others against the storage API: make storage-suites [SUITES="--only aws,tus --reference FOLDER"]
	@$(NEED) cargo node postgres
	@cargo build --package basalt
	@python3 tools/storage-suites $(CURDIR)/$(DEBUG) $(SUITES)

bench-users: build ## Compare one million users with ten thousand: make bench-users [REF=/path/to/gotrue]
	@tools/bench-users.py --command "$(CURDIR)/$(RELEASE) gotrue serve" $(if $(REF),--reference "$(REF) serve")

bench-rolling: build ## Restart four replicas behind HAProxy and nginx under load: make bench-rolling [REF=/path/to/gotrue] [BENCH="--restarts 20"]
	@$(NEED) postgres haproxy nginx
	@python3 tools/bench-rolling.py --command "$(CURDIR)/$(RELEASE)" $(if $(REF),--reference "$(REF)") $(BENCH)

bench-shop: build $(SHOP_INSTALLED) ## Lighthouse scores of the shop's pages, median of five; fails below 95 or above 200 ms of blocking: make bench-shop [BENCH="--page /submit"]
	@$(NEED) postgres chromium
	@CHROMIUM_BIN="$$($(NEED) --path chromium)" BASALT_BIN="$(CURDIR)/$(RELEASE)" node tools/bench-shop.mjs $(BENCH)

bench-size: build ## Binary size by part, memory idle and with 10,000 connections; fails over the limits
	@tools/bench-size.py

fuzz-data-api: ## Compare random requests to the data API with their statements: make fuzz-data-api [PROPTEST_CASES=2000]
	PROPTEST_CASES=$(or $(PROPTEST_CASES),500) cargo test -p postgrest-rs --test database -- differential::

replay: $(SHOP) ## Compare with the recorded responses of the references: make replay [REPLAY="--only 'user.*' --pgbouncer"]
	@$(NEED) cargo postgres $(if $(findstring --pgbouncer,$(REPLAY)),pgbouncer)
	@$(BUILD_DEBUG)
	@$(IN_MEMORY) $(dir $(DEBUG))recordings $(REPLAY)

soak-concurrency: ## Long concurrency tests: refresh races, all interleavings, contention; about an hour
	@$(NEED) cargo postgres
	@BASALT_STRESS=1 cargo test --package gotrue-rs --test http -- refresh_races interleavings concurrent_sign_ups quotas contention --test-threads 2

soak-orders: ## Fifty rounds of kill -9 between webhook, order, mail and download; takes minutes
	@$(NEED) cargo postgres
	@cargo test --package basalt --test serve -- --ignored orders_crash

soak: $(SHOP) ## Fault injection with hostile clients: make soak [SOAK="--minutes 10 --mode both --seed 7"]
	@$(NEED) cargo faketime
	@$(BUILD_DEBUG)
	@python3 tools/soak $(SOAK)

bench-cluster: build ## Faults of every part of a PostgreSQL cluster, with four replicas: make bench-cluster [CLUSTER="--rounds 2 --only switchover"]
	@$(NEED) postgres
	@python3 tools/cluster $(CLUSTER)

clean: ## Remove build output and installed packages; keeps the data in .basalt
	@rm -rf target tools/bench/load/target frontend/dist frontend/node_modules crates/basalt/postgres/node_modules packages/node_modules packages/js/dist

# Not `npm ci`: it needs lock entries for every platform of every optional package, and a registry mirror may lack some.
# This installs the pinned versions, checks the same hashes, and does not write the lock file.
$(SHOP_INSTALLED): frontend/package-lock.json
	@$(NEED) node
	@npm install --prefix frontend --no-save --no-audit --no-fund --loglevel=error </dev/null
	@touch $@

# The examples of docs/testing use the packages of the clients.
$(CLIENTS_INSTALLED): packages/package-lock.json packages/js/package.json
	@$(NEED) node
	@npm install --prefix packages --no-save --no-audit --no-fund --loglevel=error </dev/null
	@ln -sfn ../../packages/node_modules docs/testing/node_modules
	@touch $@

# A cargo build without the shop writes a placeholder page that is newer than the sources; it does not count as built.
ifneq ($(shell grep -ls "The shop is not built" $(SHOP)),)
.PHONY: $(SHOP)
endif
$(SHOP): $(SHOP_INSTALLED) $(SHOP_SOURCES)
	@npm --prefix frontend run build --silent
	@touch $@
