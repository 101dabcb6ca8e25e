#!/usr/bin/env bash
# Writes the go.mod and go.sum of Go projects anew, and the go.mod of their kit: the modules that the kit imports, in the versions of the
# repository's own go.mod. To be called when those versions or the kit's imports change.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$PWD/../..
project=$PWD/template/go/project
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

go run "$root/framework/cmd/mdmhost" plugin new all --dir "$work/all" >/dev/null
for kind in sampler trainer; do # one module for the imports of all kinds
    mkdir "$work/all/$kind"
    cp template/go/$kind/*.go "$work/all/$kind"
done
cp "$root/go.mod" "$work/all/kit/go.mod" # tidy takes out what the kit does not import
(cd "$work/all/kit" && go mod tidy)
cp "$work/all/kit/go.mod" "$project/kit/go.mod.tmpl"
(cd "$work/all" && go mod edit -fmt && go mod tidy)
sed 's,^module .*,module example.org/[[.Name]],' "$work/all/go.mod" >"$project/go.mod.tmpl"
cp "$work/all/go.sum" "$project/go.sum"
