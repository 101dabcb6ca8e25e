#!/usr/bin/env bash
# Vets, tests and builds every example plugin. Each is a module of its own, as a stranger's plugin would be.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for manifest in plugins/examples/*/go.mod; do
    module=$(dirname "$manifest")
    echo "example: $module"
    (cd "$module" && go vet ./... && go test -timeout 40m ./... && go build -o /dev/null ./...)
done
