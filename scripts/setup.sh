#!/usr/bin/env bash
# Fetches and builds what the build needs beside the Go modules, into third_party/. Returns at once when all is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if command -v go >/dev/null && command -v "${CC:-cc}" >/dev/null &&
    scripts/setup-ort.sh --check && scripts/setup-tokenizers.sh --check; then exit 0; fi
scripts/check-tools.sh build
mkdir -p third_party
exec 9>third_party/.lock
flock 9 # of two recipes started at once, the second waits and then finds everything done
scripts/setup-ort.sh
scripts/setup-tokenizers.sh
