#!/usr/bin/env bash
# Checks the dependencies: licences, sources, duplicate versions, advisories, unused ones, test support outside tests.
set -euo pipefail
cd "$(dirname "$0")/.."
export GIT_TERMINAL_PROMPT=0

readonly DATABASE_SECONDS=60 CHECK_SECONDS=300

# Runs a command in a process group of its own, and ends the group after that many seconds.
run_limited() {
    local seconds=$1 child elapsed
    shift
    set -m
    "$@" </dev/null &
    child=$!
    set +m
    for ((elapsed = 0; elapsed < seconds; elapsed++)); do
        kill -0 "$child" 2>/dev/null || break
        sleep 1
    done
    if kill -0 "$child" 2>/dev/null; then
        kill -- "-$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
        echo "Ended after $seconds seconds: $*" >&2
        return 124
    fi
    wait "$child"
}

check_with_cargo_deny() {
    local checks=(licenses bans sources)
    if run_limited "$DATABASE_SECONDS" cargo deny --log-level off fetch db >/dev/null 2>&1; then
        checks+=(advisories)
    else
        echo "Advisories are not checked: their database, github.com/RustSec/advisory-db, is unreachable." >&2
    fi
    # An exception in deny.toml that no longer applies is an error, too.
    run_limited "$CHECK_SECONDS" cargo deny --log-level error check \
        --deny unmatched-skip --deny unnecessary-skip --deny unused-wrapper --deny advisory-not-detected "${checks[@]}"
}

# The feature `testing` contains fake clocks and known keys. `--edges normal,build` omits what only tests enable.
check_test_support() {
    local features
    features=$(cargo tree --locked --package basalt --edges normal,build,features --invert gotrue-rs --prefix none)
    grep --quiet '^gotrue-rs feature "default"' <<<"$features" || {
        echo "cargo tree lists no features of gotrue-rs: $features" >&2
        return 1
    }
    if grep 'feature "testing"' <<<"$features"; then
        echo "The binary contains the test support of gotrue-rs: enable its feature in [dev-dependencies] only." >&2
        return 1
    fi
}

check_for_unused() {
    local report
    report=$(cargo machete --skip-target-dir 2>&1) || {
        echo "$report" >&2
        return 1
    }
}

check_with_cargo_deny
check_for_unused
check_test_support
