#!/bin/sh
# Writes the secrets of Basalt from deploy/.env into deploy/secrets, a file each, which Compose mounts below /run/secrets:
#   deploy/compose/write-secrets.sh [ENV [FOLDER]]
# Run it again after a change. Only the owner may enter the folder; the files themselves must be readable by the user of
# the container, because Compose mounts them as they are.
set -eu
umask 077
export LC_ALL=C
here=$(cd "$(dirname "$0")/.." && pwd)
variables=${1:-$here/.env}
folder=${2:-$here/secrets}

fail() {
    echo "write-secrets: $1" >&2
    exit 1
}

# Sets `value` to that of a variable, the last one as in Compose; empty if there is none.
read_value() {
    value=$(sed -n "s/^$1=//p" "$variables" | tail -n 1)
    case $value in
    *[!!-~]* | *[\"\'\\\$\#\`]*) fail "$variables: $1 has a space, a quote or one of \\ \$ # \`, which Compose changes: choose another value" ;;
    esac
}

write() {
    printf '%s' "$2" >"$folder/.new"
    chmod 0444 "$folder/.new"
    mv -f "$folder/.new" "$folder/$1"
}

[ -f "$variables" ] || fail "$variables does not exist: copy $here/compose/example.env and change every value"
for name in POSTGRES_PASSWORD JWT_SECRET SERVICE_ROLE_KEY SECRET_KEY; do
    read_value "$name"
    [ -n "$value" ] || fail "$variables lacks $name"
done
read_value POSTGRES_PASSWORD
case $value in
*[!A-Za-z0-9._~-]*) fail "$variables: POSTGRES_PASSWORD is a part of URLs: use letters and digits (openssl rand -hex 24)" ;;
esac
mkdir -p "$folder"
chmod 0700 "$folder"
write DATABASE_URL "postgres://supabase_auth_admin:$value@db:5432/postgres"
for name in JWT_SECRET SERVICE_ROLE_KEY SECRET_KEY SMTP_PASSWORD; do
    read_value "$name"
    write "$name" "$value"
done
echo "Wrote the secrets to $folder."
