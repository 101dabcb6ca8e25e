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

golden planners/count/testdata/counts.json "$MDM_REFERENCE"
golden planners/eb/testdata/golden.json "$MDM_REFERENCE"
golden planners/p2/testdata/golden.json "$MDM_REFERENCE"
golden framework/model/tokenizer/testdata/golden.json.gz \
    ../../embedded/rxnmapper-albert/tokenizer.json "$shared/data/mol/moses_test.csv.gz"
script=prompts.py golden framework/model/embedded/rxnmapper-albert/prompts.jsonl "$shared/data/mol/moses_test.csv.gz"
script=compute.py golden framework/sampling/testdata/compute.json
"$python" framework/sampling/testdata/golden.py "$shared" # writes golden.json.gz itself
