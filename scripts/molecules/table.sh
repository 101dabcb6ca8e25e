#!/usr/bin/env bash
# Molecules of insertion models: table.sh OUT MODEL...
# Samples every model (its directory, or that of its training run) from nothing (top_p 1 and 0.9) and around the fragments of moses.jsonl and drugs.jsonl (top_p 0.9),
# scores all that, and prints two tables, which are OUT/table.md, too: the scores, and in which order classes of tokens were written.
# Samples of an earlier call of the same OUT are kept.
#
# Of the environment: MDMHOST (the binary), PYTHON (needs RDKit), ROWS (1000, from nothing), EACH (50, of each fragment), STEPS (128), SEED (1),
# TASKS (files of tasks), FLAGS (more flags of `mdmhost sample`).
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
mdmhost=${MDMHOST:-$here/../../bin/mdmhost} python=${PYTHON:-python3}
rows=${ROWS:-1000} each=${EACH:-50} steps=${STEPS:-128} seed=${SEED:-1} tasks=${TASKS:-$here/moses.jsonl $here/drugs.jsonl}
if (($# < 2)); then
    sed -n '2,9s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
out=$1
shift
mkdir -p "$out"

# sample MODEL FILE FLAGS...
sample() {
    # shellcheck disable=SC2086 # words
    "$mdmhost" sample --model "$1" --steps "$steps" --seed "$seed" --format jsonl --out "$2" "${@:3}" ${FLAGS:-}
}

: >"$out/table.part"
header=() orders=()
for model in "$@"; do
    model=$(realpath "$model")
    [[ ! -d $model/model ]] || model=$model/model
    name=$(basename "$model")
    [[ $name != model ]] || name=$(basename "$(dirname "$model")") # a run's model has the run's name
    own=$out/$name
    mkdir -p "$own"
    for p in 1 0.9; do
        sample "$model" "$own/nothing-$p.jsonl" --num "$rows" --top-p "$p" --details
        "$python" "$here/score.py" "${header[@]}" "$name, from nothing, top_p $p=$own/nothing-$p.jsonl" | tee -a "$out/table.part"
        header=(--no-header)
    done
    orders+=("$name=$own/nothing-0.9.jsonl")
    for file in $tasks; do
        set=$(basename "$file" .jsonl)
        "$python" "$here/fragments.py" fit "$file" "$model" "$own/$set-tasks.jsonl" "$own/$set-prompts.jsonl"
        [[ -s $own/$set-prompts.jsonl ]] || continue
        sample "$model" "$own/$set.jsonl" --prompts "$own/$set-prompts.jsonl" --num "$each" --top-p 0.9
        "$python" "$here/score.py" "${header[@]}" --tasks "$own/$set-tasks.jsonl" "$name, $set=$own/$set.jsonl" | tee -a "$out/table.part"
    done
done
{ echo && "$python" "$here/order.py" "${orders[@]}"; } | tee -a "$out/table.part"
mv "$out/table.part" "$out/table.md"
