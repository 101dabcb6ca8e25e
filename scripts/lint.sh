#!/usr/bin/env bash
# Runs every static check and names all that fail, so that one run shows the whole list.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

failed=()
check() { # check NAME COMMAND...
    local name=$1
    shift
    echo "lint: $name"
    "$@" || failed+=("$name")
}

sources() { git ls-files --cached --others --exclude-standard "$@"; }
formatted() {
    local files
    files=$(sources -z '*.go' | xargs -0 gofmt -l)
    [[ -z $files ]] || { printf 'not formatted, run ./dev fmt:\n%s\n' "$files" && return 1; }
}
tidy() { (cd "$1" && go mod tidy -diff) || { echo "not tidy, run go mod tidy in $1" && return 1; }; }
staticcheck() { go tool -modfile=tools/go.mod staticcheck "$@"; }

check "gofmt" formatted
check "go vet" go vet ./...
check "go vet, tag tokenizers" go vet -tags tokenizers ./...
check "staticcheck" staticcheck ./...
check "staticcheck, tag tokenizers" staticcheck -tags tokenizers ./...
for manifest in $(sources '*go.mod'); do
    module=$(dirname "$manifest")
    check "go mod tidy, $module" tidy "$module"
done
check "generated code of plugins is fresh" plugins/proto/check.sh
check "generated code of openinference is fresh" runtimes/openinference/inference/check.sh

if ((${#failed[@]})); then
    printf 'lint: FAILED: %s\n' "${failed[@]}"
    exit 1
fi
