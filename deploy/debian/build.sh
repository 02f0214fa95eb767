#!/usr/bin/env bash
# Builds the Debian package of a binary: deploy/debian/build.sh BINARY FOLDER
# Prints the path of the package. COMPRESSION has options of dpkg-deb, such as "-Zgzip -z1" for a check.
set -euo pipefail
[ $# = 2 ] || { echo "usage: deploy/debian/build.sh BINARY FOLDER" >&2; exit 2; }
binary=$(realpath "$1")
mkdir -p "$2"
folder=$(realpath "$2")
cd "$(dirname "$0")/../.."

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' Cargo.toml)
architecture=$(dpkg --print-architecture)
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
chmod 0755 "$root"

install -D -m 0755 "$binary" "$root/usr/bin/basalt"
install -D -m 0644 deploy/systemd/basalt.service "$root/usr/lib/systemd/system/basalt.service"
install -D -m 0644 deploy/debian/basalt.sysusers "$root/usr/lib/sysusers.d/basalt.conf"
install -D -m 0644 deploy/debian/config.toml "$root/etc/basalt/config.toml"
install -d -m 0700 "$root/etc/basalt/credentials"
# What buyers of the templates get; built with the site.
if [ -f frontend/products/products.json ]; then
    install -d -m 0755 "$root/usr/share/basalt/products"
    install -m 0644 frontend/products/* "$root/usr/share/basalt/products/"
else
    echo "frontend/products is missing: the package has no templates to deliver. Run: npm --prefix frontend run emails:ship" >&2
fi
install -d -m 0755 "$root/usr/share/man/man1"
"$binary" manual "$root/usr/share/man/man1"
gzip --best --no-name "$root"/usr/share/man/man1/*.1
for shell in bash:bash-completion/completions/basalt zsh:zsh/vendor-completions/_basalt fish:fish/vendor_completions.d/basalt.fish; do
    install -D -m 0644 /dev/null "$root/usr/share/${shell#*:}"
    "$binary" completions "${shell%%:*}" >"$root/usr/share/${shell#*:}"
done
install -D -m 0644 README.md "$root/usr/share/doc/basalt/README.md"
install -D -m 0644 config.toml "$root/usr/share/doc/basalt/examples/config.toml"
install -D -m 0644 sql/roles.sql "$root/usr/share/doc/basalt/examples/roles.sql"
install -D -m 0644 LICENSE "$root/usr/share/doc/basalt/copyright"

install -d -m 0755 "$root/DEBIAN"
sed -e "s/@VERSION@/$version/" -e "s/@ARCHITECTURE@/$architecture/" \
    -e "s/@SIZE@/$(du --summarize --block-size=1024 "$root" | cut -f1)/" deploy/debian/control >"$root/DEBIAN/control"
echo /etc/basalt/config.toml >"$root/DEBIAN/conffiles"
for script in postinst prerm postrm; do
    install -m 0755 "deploy/debian/$script" "$root/DEBIAN/$script"
done
(cd "$root" && find etc usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"

package="$folder/basalt_${version}_$architecture.deb"
# shellcheck disable=SC2086 # options, separated by spaces
dpkg-deb --root-owner-group ${COMPRESSION:-} --build "$root" "$package" >/dev/null
echo "$package"
