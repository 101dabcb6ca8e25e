#!/usr/bin/env bash
# Names every tool that is missing, what it is for and how to get it, all at once: check-tools.sh just|build|exports
# `just` checks what fetching just takes; `build` checks what building and the rest of the set-up take; `exports` what their tests take besides.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit

problems=()
missing() { problems+=("$(printf '%-10s %s\n           install: %s' "$1" "$2" "$3")"); }
have() { command -v "$1" >/dev/null; }

case $(uname -sm) in
"Linux x86_64" | "Linux aarch64") ;;
*) missing machine "is $(uname -sm); the pinned libraries are for Linux on x86_64 and aarch64" "use such a machine or a container" ;;
esac

if ! python3 -m pip --version >/dev/null 2>&1; then
    missing python3 "with pip, which downloads the pinned just and ONNX Runtime library" "apt-get install python3 python3-pip"
fi

if [[ $1 == build ]]; then
    if ! have go; then
        missing go "1.26 or newer, which builds mdmhost" "Go's release archive into /usr/local/go (Debian 12's golang-go is too old)"
    elif ! refusal=$(go list -m 2>&1); then
        missing go "1.26 or newer, which builds mdmhost; this one says: ${refusal##*go: }" "Go's release archive into /usr/local/go"
    fi
    have "${CC:-cc}" || missing cc "a C compiler, for the bindings to ONNX Runtime" "apt-get install build-essential"
    have "${CXX:-c++}" || missing c++ "a C++ compiler, for the tokenizer library" "apt-get install build-essential"
    minor=$(cargo --version 2>/dev/null | sed -n 's/^cargo 1\.\([0-9]*\)\..*/\1/p')
    if ((${minor:-0} < 78)); then
        missing cargo "1.78 or newer, which builds the tokenizer library" "apt-get install cargo-web (Debian 12's cargo is too old), or rustup"
    fi
fi

if [[ $1 == exports ]] && ! have npm && [[ -z ${PAGE_PACKAGES:-} ]]; then
    missing npm "which fetches what pages of \`mdmhost export --to web\` hold" "apt-get install npm, or name a folder with the archives in PAGE_PACKAGES"
fi

if ((${#problems[@]})); then
    echo "set-up: ${#problems[@]} missing; install and run the same command again" >&2
    printf '  %s\n' "${problems[@]}" >&2
    exit 1
fi
