# Everything a developer does here. `make help` lists it; each target installs what it needs or says what to install.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

NEED := ./scripts/need.sh
DEBUG := target/debug/basalt
RELEASE := target/release/basalt
SHOP_INSTALLED := frontend/node_modules/.package-lock.json
SHOP := frontend/dist/index.html
SHOP_SOURCES := $(shell find frontend \( -name node_modules -o -name dist -o -name e2e \) -prune -o -type f -print 2>/dev/null)

.PHONY: help run test test-rust test-shop test-browser check check-rust check-shop check-licenses fmt build bench bench-size bench-users conformance timing replay soak soak-concurrency clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(SHOP) ## Build everything, start a database of its own and serve: prints a URL and the keys
	@$(NEED) cargo postgres
	@cargo build --package server
	@exec $(DEBUG) serve

test: test-rust test-shop test-browser ## All tests: Rust, shop, and both together in a real browser

test-rust: $(SHOP) ## The tests of the crates, with a real PostgreSQL
	@$(NEED) cargo postgres
	@cargo test --workspace

test-shop: $(SHOP_INSTALLED) ## The shop's unit tests
	@npm --prefix frontend run test

test-browser: $(SHOP_INSTALLED) $(SHOP) ## Chromium and supabase-js against the real binary
	@$(NEED) cargo postgres chromium
	@cargo build --package server
	@CHROMIUM_BIN="$$($(NEED) --path chromium)" BASALT_BIN="$(CURDIR)/$(DEBUG)" npm --prefix frontend run test:e2e

timing: $(SHOP) ## Whether the duration of a request tells who has an account: slow, on a machine that does nothing else
	@$(NEED) cargo postgres
	@cargo test --package server --test serve -- --ignored --exact --nocapture timing::timing_does_not_tell_who_has_an_account

conformance: $(SHOP) ## authlib of PyPI against the OAuth server; openid-client of npm is part of test-browser
	@$(NEED) cargo postgres
	@cargo build --package server
	@scripts/conformance/run.sh $(DEBUG) $(if $(IF_REACHABLE),--if-reachable)

check: check-rust check-shop check-licenses ## What CI asks of the source: formatting, lints, types, dead code, licences

check-rust: $(SHOP)
	@$(NEED) cargo
	@cargo fmt --all --check
	@cargo clippy --workspace --all-targets -- --deny warnings

check-shop: $(SHOP_INSTALLED)
	@npm --prefix frontend run check

check-licenses:
	@$(NEED) cargo cargo-deny
	@cargo deny --log-level error check licenses bans sources

fmt: $(SHOP_INSTALLED) ## Format all source
	@cargo fmt --all
	@npm --prefix frontend run format

build: $(SHOP) ## The release binary: target/release/basalt
	@$(NEED) cargo
	@cargo build --release --package server
	@ls -l $(RELEASE)

bench: ## Measure beside the reference: make bench REF=/path/to/gotrue [BENCH="--only W1,W2"]
	@test -x ../shared/bench/bench.py || { echo "../shared/bench is missing: it holds the benchmark and lies beside the repository."; exit 1; }
	@test -n "$(REF)" || { echo "REF is missing: the reference's binary, built from its source (go build). Also needed: PostgreSQL 15 with pg_config, Python 3.11."; exit 1; }
	@$(MAKE) build
	@CARGO_TARGET_DIR="$(CURDIR)/target/bench" ../shared/bench/bench.py \
		--a "$(REF) serve" --b "$(CURDIR)/$(RELEASE) gotrue" --migrate "$(REF) migrate" $(or $(BENCH),--quick)

bench-users: build ## Whether a million accounts are as fast as ten thousand: make bench-users [REF=/path/to/gotrue]
	@scripts/bench-users.py --command "$(CURDIR)/$(RELEASE) gotrue serve" $(if $(REF),--reference "$(REF) serve")

bench-size: build ## Size of the release binary by part, memory idle and with 10,000 connections; fails over the limits
	@scripts/bench-size.py

replay: ## Compare with what the reference was recorded to answer: make replay [REPLAY="--all"]
	@test -d ../shared/replay || { echo "../shared/replay is missing: it holds the recordings and lies beside the repository."; exit 1; }
	@$(MAKE) $(SHOP)
	@$(NEED) cargo
	@cargo build --package server
	@python3 replay/check.py $(REPLAY)

soak-concurrency: ## Races in long: pairs and storms of refreshes, every interleaving, everything at once; about an hour
	@$(NEED) cargo postgres
	@BASALT_STRESS=1 cargo test --package gotrue-rs --test http -- refresh_races interleavings newcomers quotas contention --test-threads 2

soak: $(SHOP) ## Faults and hostile clients for ten minutes a mode: make soak [SOAK="--minutes 10 --mode both --seed 7"]
	@$(NEED) cargo faketime
	@cargo build --package server
	@python3 scripts/soak $(SOAK)

clean: ## Remove what was built and installed here; data in .basalt stays
	@rm -rf target frontend/dist frontend/node_modules server/postgres/node_modules

# Not `npm ci`: it wants an entry for every platform of every optional package, and a registry mirror may not hold them all.
# This installs what the lock file pins, checks it by the same hashes, and never writes the lock file.
$(SHOP_INSTALLED): frontend/package-lock.json
	@$(NEED) node
	@npm install --prefix frontend --no-save --no-audit --no-fund --loglevel=error </dev/null
	@touch $@

# Cargo alone leaves a page there that says that the shop is not built; it is newer than the sources and no shop.
ifneq ($(shell grep -ls "The shop is not built" $(SHOP)),)
.PHONY: $(SHOP)
endif
$(SHOP): $(SHOP_INSTALLED) $(SHOP_SOURCES)
	@npm --prefix frontend run build --silent
	@touch $@
