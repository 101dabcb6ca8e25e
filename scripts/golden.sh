#!/usr/bin/env bash
# Writes the golden files anew, each with the script beside it: golden.sh PYTHON
#
# The numpy references, models and data stand in ../shared beside the repository, or in $MDM_SHARED; they are no part of
# it. `git diff` then shows what changed; nothing should, unless a script did.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$1
shared=$(realpath "${MDM_SHARED:-../shared}")
if [[ ! -d $shared/reference ]]; then
    echo "golden: $shared holds no references; set MDM_SHARED to the folder with reference/, models/ and data/" >&2
    exit 1
fi
export MDM_REFERENCE=$shared/reference

golden() { # golden FILE ARGUMENTS... : the script is golden.py beside FILE
    (
        cd "$(dirname "$1")"
        file=$(basename "$1")
        echo "golden: $1"
        "$python" "${script:-golden.py}" "${@:2}" >"$file.part"
        if [[ $file == *.gz ]]; then
            gzip -9n <"$file.part" >"$file.gz.part" && mv "$file.gz.part" "$file.part"
        fi
        mv "$file.part" "$file"
    )
}

own() { # own SCRIPT ARGUMENTS... : the script writes its files itself, into its own folder
    echo "golden: $1"
    (cd "$(dirname "$1")" && "$python" "$(basename "$1")" "${@:2}")
}

golden plugins/sdk/count/testdata/counts.json "$MDM_REFERENCE"
golden planners/testdata/golden.json.gz "$MDM_REFERENCE"
script=distributions.py golden planners/testdata/distributions.json.gz "$MDM_REFERENCE"
golden planners/eb/testdata/golden.json "$MDM_REFERENCE"
for planner in dfm edit remdm; do
    golden planners/$planner/testdata/golden.json.gz "$MDM_REFERENCE"
done
golden planners/p2/testdata/golden.json.gz "$MDM_REFERENCE"
golden plugins/samplers/gillespie/testdata/golden.json.gz "$MDM_REFERENCE"
golden plugins/samplers/infogain/testdata/golden.json.gz
golden plugins/samplers/insertion/testdata/golden.json.gz "$MDM_REFERENCE"
golden framework/insertion/testdata/golden.json.gz "$MDM_REFERENCE"
golden planners/wino/testdata/golden.json.gz
script=stem.py golden runtimes/onnx/testdata/stem.json.gz "$MDM_REFERENCE"
script=guided.py golden framework/host/testdata/guided.json.gz "$MDM_REFERENCE"
golden framework/model/tokenizer/testdata/golden.json.gz \
    ../../embedded/rxnmapper-albert/tokenizer.json "$shared/data/mol/moses_test.csv.gz"
script=built.py golden framework/model/tokenizer/testdata/built.json.gz "$shared/data"
script=prompts.py golden framework/model/embedded/rxnmapper-albert/prompts.jsonl "$shared/data/mol/moses_test.csv.gz"
script=prompts.py golden framework/model/embedded/molecule/prompts.jsonl "$shared/data/mol/moses_valid.csv.gz"
script=prompts.py golden framework/model/embedded/sudoku/prompts.jsonl "$shared/data/puzzle/sudoku_valid.csv.gz"
script=prompts.py golden framework/model/embedded/text/prompts.jsonl
script=compute.py golden framework/sampling/testdata/compute.json
script=blocks.py golden framework/sampling/testdata/blocks.json.gz "$MDM_REFERENCE"
own framework/sampling/testdata/golden.py "$shared"
golden framework/diffusion/testdata/golden.json.gz "$MDM_REFERENCE"
script=exact.py golden framework/evaluate/testdata/exact.json.gz "$MDM_REFERENCE"
script=testdata/operators.py golden framework/graph/operators.txt
own plugins/trainers/genmd4/testdata/golden.py "$MDM_REFERENCE"
own plugins/trainers/md4/testdata/golden.py "$MDM_REFERENCE"
own plugins/trainers/papl/testdata/golden.py "$MDM_REFERENCE"

if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "golden: left out what needs PyTorch (autodiff, network, safetensors, training); ./dev peers adds it" >&2
    exit
fi
own framework/model/safetensors/testdata/golden.py
golden framework/network/testdata/golden.json.gz
script=alone.py golden framework/network/testdata/alone.json.gz
own framework/network/family/testdata/golden.py
own framework/network/family/testdata/defaults.py
own framework/importer/torchfile/testdata/golden.py
own framework/importer/testdata/wordpiece.py
own framework/importer/testdata/bin.py # of what family's golden.py wrote
script=knobs.py golden exporters/pytorch/testdata/knobs.json.gz
script=rows.py golden exporters/pytorch/testdata/rows.json.gz
golden framework/autodiff/testdata/golden.json.gz
script=network.py golden framework/autodiff/testdata/network.json.gz
script=foreign.py golden framework/autodiff/testdata/foreign.json.gz "$shared/models"
script=export.py golden framework/autodiff/testdata/export.json.gz export # and export/*.onnx
own framework/training/foreign/testdata/export.py

feeds=$(mktemp -d)
trap 'rm -rf "$feeds"' EXIT
go test ./framework/training -run '^TestCurve$' -count 1 -args -feeds "$feeds"
golden framework/training/testdata/golden.json "$feeds"

# ONNX Runtime's generator of training artifacts wants older versions than the rest: scripts/setup-peers.sh
generator=$(dirname "$(dirname "$python")")/ort-training
if [[ ! -d $generator ]]; then
    echo "golden: left out framework/training/ortartifact; ./dev peers adds its generator, up to Python 3.12" >&2
    exit
fi
export PYTHONPATH=$generator
own framework/training/ortartifact/testdata/operators.py
own framework/training/ortartifact/testdata/generate.py
