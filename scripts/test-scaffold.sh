#!/usr/bin/env bash
# Lives through what somebody does who has nothing but the binary: writes projects of plugins of each kind in each language, builds and
# tests them, and runs them. It needs bin/mdmhost, Go and Python, and the network for modules and packages that are in no cache yet.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

# Elsewhere, with a home of its own; what was downloaded once may stay.
GOMODCACHE=$(go env GOMODCACHE)
GOCACHE=$(go env GOCACHE)
PIP_CACHE_DIR=${PIP_CACHE_DIR:-$HOME/.cache/pip}
ONNXRUNTIME_SHARED_LIBRARY_PATH=${ONNXRUNTIME_SHARED_LIBRARY_PATH:-$root/third_party/ort}
export GOMODCACHE GOCACHE PIP_CACHE_DIR ONNXRUNTIME_SHARED_LIBRARY_PATH GOWORK=off HOME=$work/home
unset MDMHOST_PLUGIN_PATH MDMHOST_REATTACH MDMHOST_LOG PYTHONPATH
mkdir -p "$work/home" "$work/bin" "$work/new"
cp "$root/bin/mdmhost" "$work/bin"
export PATH=$work/bin:$PATH
cd "$work/new"

run() { # run COMMAND... : its words are shown when it fails
    "$@" >"$work/said" 2>&1 || {
        printf 'test-scaffold: %s: FAILED in %s\n' "$*" "$PWD"
        cat "$work/said"
        exit 1
    } >&2
}

try() { # try LANGUAGE KIND: in the folder of the project
    local language=$1 kind=$2 name=my-$2
    case $language in
    go)
        run go mod verify
        run go mod tidy -diff
        run go build
        ;;
    python) run ./setup ;;
    esac
    case $kind in
    planner) run mdmhost sample --planner "./$name" --num 2 --set planner.k=8 ;;
    sampler) run mdmhost sample --sampler "./$name" --num 2 --steps 8 --set sampler.power=2 ;;
    trainer)
        run mdmhost data make brackets --fill --out data --num 200 --valid 20 --test 20
        run mdmhost train --config train.yaml --trainer "./$name" --steps 20 --set trainer.power=2
        run mdmhost sample --model runs/try/model --num 2
        ;;
    esac
    run ./ci.sh
    run /usr/bin/env -i "$PWD/$name" describe
    run mdmhost plugin pack . --out "$name.tar.gz"
    if [[ $kind == planner ]]; then
        mkdir elsewhere
        (cd elsewhere && run mdmhost plugin install "../$name.tar.gz" && run mdmhost sample --planner "$name" --num 1)
    fi
}

for language in go python; do
    for kind in planner sampler trainer; do
        SECONDS=0
        run mdmhost plugin new "my-$kind" --kind "$kind" --lang "$language" --dir "$language/$kind"
        (cd "$language/$kind" && try "$language" "$kind")
        echo "scaffold: $language $kind, $SECONDS s"
    done
done
