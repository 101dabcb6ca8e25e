#!/usr/bin/env bash
# Builds third_party/lib/libtokenizers.a, which the build tag `tokenizers` links. Does nothing when it is there already;
# with --check it only says by its exit status whether it is.
#
# The Rust source comes out of the Go module github.com/daulet/tokenizers, at the version go.mod names (go.sum checks
# it); the crates come from scripts/tokenizers/Cargo.lock, which pins each by checksum.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec >&2

module=github.com/daulet/tokenizers
version=$(awk -v m="$module" '$1 == m { print $2; exit } $2 == m { print $3; exit }' go.mod)
stamp="$module $version $(uname -m) $(cat scripts/tokenizers/Cargo.{toml,lock} | sha256sum)"
target=third_party/lib
if [[ -e $target/libtokenizers.a && "$(cat $target/.tokenizers.stamp 2>/dev/null)" == "$stamp" ]]; then exit 0; fi
if [[ ${1:-} == --check ]]; then exit 1; fi

echo "setup: tokenizers $version, a Rust library (one to three minutes, once)"
mkdir -p "$target"
work=$(mktemp -d "$PWD/third_party/.tokenizers.XXXXXX")
trap 'rm -rf "$work"' EXIT
go mod download "$module@$version"
cp -r "$(go env GOMODCACHE)/$module@$version/src" scripts/tokenizers/Cargo.{toml,lock} "$work/"
chmod -R u+w "$work"
cargo build --release --locked --manifest-path "$work/Cargo.toml" --target-dir "$work/target"
mv "$work/target/release/libtokenizers.a" "$target/libtokenizers.a"
echo "$stamp" >"$target/.tokenizers.stamp"
