#!/usr/bin/env bash
# Prints the path of a Chromium for the tests of pages, which it installs where there is none: setup-chromium.sh
# A browser that is named in PAGE_BROWSER or on the path is taken as it is. Else Debian's package is installed, by root alone. It is
# pinned as far as Debian pins it, to the release; the version that was found is said.
set -euo pipefail

found() {
    local name
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        if command -v "$name"; then return 0; fi
    done
    return 1
}

fail() {
    {
        echo "set-up: no Chromium, which opens the pages of traces in the tests: $1"
        echo "  install: apt-get install chromium, or name any Chromium or Chrome in PAGE_BROWSER; then run the same command again"
    } >&2
    exit 1
}

if [[ -n ${PAGE_BROWSER:-} ]]; then
    browser=$(command -v "$PAGE_BROWSER") || fail "PAGE_BROWSER names $PAGE_BROWSER, which is no program"
elif ! browser=$(found); then
    command -v apt-get >/dev/null || fail "there is no apt-get here"
    [[ $(id -u) == 0 ]] || fail "only root may install it"
    echo "setup: Chromium, from Debian's packages (about 120 MB)" >&2
    log=$(mktemp)
    export DEBIAN_FRONTEND=noninteractive
    if ! { apt-get -o Acquire::Retries=5 update && apt-get -o Acquire::Retries=5 install -y --no-install-recommends chromium fonts-liberation fonts-dejavu-core; } >"$log" 2>&1 </dev/null; then
        tail -n 5 "$log" >&2
        rm -f "$log"
        fail "apt-get could not install it"
    fi
    rm -f "$log"
    browser=$(found) || fail "the package has no program of a known name"
fi
echo "setup: $("$browser" --version 2>/dev/null || echo "$browser, of unknown version")" >&2
echo "$browser"
