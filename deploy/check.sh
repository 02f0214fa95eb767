#!/usr/bin/env bash
# Validates the files for deployment without starting anything: deploy/check.sh [--if-reachable] [BINARY]
# With --if-reachable a tool that is missing and cannot be installed is reported and skipped.
set -euo pipefail
is_optional=
if [ "${1:-}" = --if-reachable ]; then
    is_optional=yes
    shift
fi
cd "$(dirname "$0")/.."
binary=${1:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

have() { command -v "$1" >/dev/null 2>&1; }

# Reports a missing tool; the check fails unless missing tools are permitted.
skip() {
    echo "deploy: not checked: $1" >&2
    [ -n "$is_optional" ] || exit 1
}

# Builds a Go program once, into the folder of build output.
need_go_tool() {
    local name=$1 module=$2
    export PATH="$PWD/target/tools:$PATH"
    have "$name" && return 0
    have go || return 1
    echo "Installing $name, once …"
    GOBIN="$PWD/target/tools" timeout 900 go install "$module" >"$scratch/go.log" 2>&1 </dev/null
}

check_scripts() {
    local script
    for script in deploy/check.sh deploy/debian/build.sh; do bash -n "$script"; done
    for script in deploy/debian/{postinst,prerm,postrm} deploy/compose/write-secrets.sh; do sh -n "$script"; done
    deploy/check.py
}

check_compose() {
    if docker compose version >/dev/null 2>&1; then
        docker compose --env-file deploy/compose/example.env --file deploy/compose.yml config --quiet
    else
        skip "deploy/compose.yml in full (docker compose is missing)"
    fi
}

check_unit() {
    have systemd-analyze || { skip "the systemd unit (systemd-analyze is missing)"; return 0; }
    local exposure
    # The program of the unit is not installed here.
    sed -E 's#^(Exec[A-Za-z]*=)/usr/bin/basalt.*#\1/bin/true#' deploy/systemd/basalt.service >"$scratch/basalt.service"
    systemd-analyze verify --man=no "$scratch/basalt.service" 2>&1 | tee "$scratch/verify.log"
    ! grep --quiet "basalt.service" "$scratch/verify.log"
    if systemd-analyze security --offline=true --threshold=20 "$scratch/basalt.service" >"$scratch/security.log" 2>&1; then
        exposure=$(sed -n 's/.*Overall exposure level for [^:]*: //p' "$scratch/security.log")
        echo "deploy: exposure of the systemd unit: $exposure"
    else
        tail -3 "$scratch/security.log" >&2
        return 1
    fi
}

check_chart() {
    need_go_tool helm helm.sh/helm/v3/cmd/helm@v3.18.4 || { skip "the Helm chart (helm cannot be installed)"; return 0; }
    local values
    for values in values.yaml ci/everything-values.yaml; do
        helm lint --strict --quiet --kube-version 1.30.0 deploy/helm/basalt --values "deploy/helm/basalt/$values"
        helm template test deploy/helm/basalt --kube-version 1.30.0 --values "deploy/helm/basalt/$values" >"$scratch/${values//\//-}"
    done
    if ! helm template test deploy/helm/basalt --kube-version 1.30.0 --set existingSecret= >/dev/null 2>"$scratch/refused.log"; then
        grep --quiet existingSecret "$scratch/refused.log"
    else
        echo "deploy: the chart accepts values without a secret" >&2
        return 1
    fi
    check_manifests
}

check_manifests() {
    need_go_tool kubeconform github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0 ||
        { skip "the manifests of the chart (kubeconform cannot be installed)"; return 0; }
    local schemas="https://raw.githubusercontent.com/yannh/kubernetes-json-schema/master/v1.30.0-standalone-strict/service-v1.json"
    curl --silent --fail --max-time 10 --output /dev/null "$schemas" ||
        { skip "the manifests of the chart (the schemas of Kubernetes are not reachable)"; return 0; }
    kubeconform -strict -kubernetes-version 1.30.0 "$scratch"/*values.yaml
}

# Builds the package, and installs it into an empty root.
check_package() {
    have dpkg-deb || { skip "the Debian package (dpkg-deb is missing)"; return 0; }
    local program=$binary package root=$scratch/root
    if [ -z "$program" ]; then
        printf '#!/bin/sh\n[ "$1" != manual ] || echo .TH >"$2/basalt.1"\necho "basalt 0.0.0"\n' >"$scratch/basalt"
        chmod +x "$scratch/basalt"
        program=$scratch/basalt
    fi
    package=$(COMPRESSION="-Zgzip -z1" deploy/debian/build.sh "$program" "$scratch/packages")
    dpkg-deb --info "$package" >/dev/null
    mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/triggers"
    touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
    if [ "$(id -u)" = 0 ]; then
        dpkg --root="$root" --force-depends --force-script-chrootless --log=/dev/null --install "$package" >"$scratch/dpkg.log" 2>&1 ||
            { cat "$scratch/dpkg.log" >&2; return 1; }
        dpkg --root="$root" --verify basalt
    else
        dpkg-deb --extract "$package" "$root"
    fi
    local file
    for file in usr/bin/basalt usr/lib/systemd/system/basalt.service usr/lib/sysusers.d/basalt.conf etc/basalt/config.toml \
        usr/share/man/man1/basalt.1.gz usr/share/bash-completion/completions/basalt usr/share/zsh/vendor-completions/_basalt \
        usr/share/fish/vendor_completions.d/basalt.fish; do
        test -s "$root/$file" || { echo "deploy: the package lacks $file" >&2; return 1; }
    done
    if [ -f frontend/products/products.json ]; then
        diff -r frontend/products "$root/usr/share/basalt/products" >/dev/null ||
            { echo "deploy: the products of the package differ from frontend/products" >&2; return 1; }
    fi
    "$root/usr/bin/basalt" --version >/dev/null
    if [ -n "$binary" ]; then
        bash -n "$root/usr/share/bash-completion/completions/basalt"
        test -s "$root/usr/share/man/man1/basalt-users-import.1.gz" || { echo "deploy: the package lacks manual pages" >&2; return 1; }
    fi
    [ -z "$binary" ] || "$root/usr/bin/basalt" check --config "$root/etc/basalt/config.toml" >/dev/null
    check_products "$root"
    check_purchase "$root"
}

# Asks the installed program for the products: with the configuration of the package and a shop it finds all, and it looks for
# them in the package alone.
check_products() {
    [ -n "$binary" ] && [ -f frontend/products/products.json ] || return 0
    local root=$1 shop=$scratch/shop.toml
    {
        cat "$root/etc/basalt/config.toml"
        printf '\n[basalt.shop]\nowner = "owner@example.com"\n'
        printf '[basalt.shop.payment.stripe]\nwebhook_secret = "whsec_of_this_check"\n'
    } >"$shop"
    "$root/usr/bin/basalt" check --config "$shop" >"$scratch/sells.log" 2>&1 || { cat "$scratch/sells.log" >&2; return 1; }
    if grep --quiet 'for these templates' "$scratch/sells.log"; then
        cat "$scratch/sells.log" >&2
        return 1
    fi
    # An installed package would be found in place of this one.
    [ ! -e /usr/share/basalt/products ] || return 0
    mv "$root/usr/share/basalt/products" "$scratch/moved"
    "$root/usr/bin/basalt" check --config "$shop" >"$scratch/lacks.log" 2>&1 || true
    mv "$scratch/moved" "$root/usr/share/basalt/products"
    grep --quiet 'for these templates\|of these templates' "$scratch/lacks.log" ||
        { echo "deploy: the installed program does not miss the products of its package:" >&2; cat "$scratch/lacks.log" >&2; return 1; }
}

# Buys a template of the installed program with the configuration of the package and opens what it delivers; the files come
# from the package.
check_purchase() {
    [ -n "$binary" ] && [ -f frontend/products/products.json ] || return 0
    local root=$1
    { cat "$root/etc/basalt/config.toml" && printf '\n[basalt.shop]\nowner = "owner@example.com"\n'; } >"$scratch/installed.toml"
    [ -d frontend/node_modules/@playwright ] && have chromium || { skip "a purchase from the package (Chromium or Playwright is missing)"; return 0; }
    (cd frontend && BASALT_BIN=$root/usr/bin/basalt BASALT_CONFIG=$scratch/installed.toml npx playwright test --output "$scratch/results" first-purchase.spec.ts >"$scratch/purchase.log" 2>&1) ||
        { tail -40 "$scratch/purchase.log" >&2; return 1; }
}

check_configuration() {
    [ -n "$binary" ] || { skip "deploy/compose/config.toml (no binary is built)"; return 0; }
    mkdir -p "$scratch/empty"
    # The variables of the example, with the keys of a new project in place of the placeholders, and secrets as files.
    sed -E -e "s|^JWT_SECRET=.*|JWT_SECRET=$(head -c 48 /dev/urandom | base64 -w 0)|" \
        -e 's/^(PUBLISHABLE_KEY=sb_publishable_|SECRET_KEY=sb_secret_).*/\10123456789abcdefghijkl/' \
        -e 's/^# (SMTP_[A-Z]+=)/\1/' deploy/compose/example.env >"$scratch/variables.env"
    deploy/compose/write-secrets.sh "$scratch/variables.env" "$scratch/secrets" >/dev/null
    (
        set -a
        # shellcheck disable=SC1091
        . "$scratch/variables.env"
        unset ANON_KEY POSTGRES_PASSWORD JWT_SECRET SERVICE_ROLE_KEY SECRET_KEY SMTP_PASSWORD
        DATABASE_URL_FILE=$scratch/secrets/DATABASE_URL
        JWT_SECRET_FILE=$scratch/secrets/JWT_SECRET
        SECRET_KEY_FILE=$scratch/secrets/SECRET_KEY
        SMTP_PASSWORD_FILE=$scratch/secrets/SMTP_PASSWORD
        sed -E 's/^# (\[auth\.email\.smtp\]|[a-z_]+ = )/\1/' deploy/compose/config.toml |
            grep --invert-match --extended-regexp '^(anon_key|service_role_key)' >"$scratch/empty/config.toml"
        "$binary" check --config "$scratch/empty/config.toml" >/dev/null
    )
}

[ -z "$binary" ] || binary=$(realpath "$binary")
check_scripts
check_compose
check_unit
check_chart
check_package
check_configuration
echo "deploy: checked"
