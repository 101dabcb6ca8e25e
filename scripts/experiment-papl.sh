#!/usr/bin/env bash
# PAPL against MD4 at equal compute: each goes on from the same molecule model for the same time, three seeds.
#   experiment-papl.sh MODEL TRAIN.csv.gz VALID.csv.gz OUT [MINUTES]
# Prints a line a run: trainer, seed, steps, bound in bits per token, and the chemistry of 512 samples of two planners. PYTHON
# needs RDKit. A run that was finished before is not trained again.
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
mdmhost=${MDMHOST:-$here/../bin/mdmhost} python=${PYTHON:-python3}
model=$1 train=$2 valid=$3 out=$4 minutes=${5:-5}
mkdir -p "$out"

# As many blanks as molecules of the validation set have tokens: the model is told lengths, it does not choose them.
"$python" - "$valid" >"$out/lengths.jsonl" <<'EOF'
import csv, gzip, json, re, sys
token = re.compile(r"\[[^\]]+\]|Br|Cl|%[0-9]{2}|.")
with gzip.open(sys.argv[1], "rt") as f:
    for row, _ in zip(csv.DictReader(f), range(512)):
        print(json.dumps({"infill": "[MASK]" * len(token.findall(row["SMILES"]))}))
EOF

shape=(--set data.column=SMILES --set data.layout=padded --set data.length=52 --set data.too_long=drop)

# train TRAINER OPTION SEED: one thread, so that as many runs as processors stand side by side get the same share.
train() {
    local run=$out/$1-${2#*=}-$3
    [[ -d $run/model ]] || "$mdmhost" train --run "$run" --from "$model" --trainer "$1" --set "trainer.$2" --train "$train" --valid "$valid" --seed "$3" \
        "${shape[@]}" --minutes "$minutes" --steps 100000 --batch 64 --set runtime.threads=1 \
        --set optimizer.lr=0.0003 --set optimizer.schedule=constant --set optimizer.warmup=20 --set train.eval_every=0 >"$run.log" 2>&1
}

# show TRAINER OPTION SEED: what the run reached.
show() {
    local run=$out/$1-${2#*=}-$3 steps bits planner
    steps=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["trainer"]["steps"])' "$run/model/mdm.json")
    bits=$("$mdmhost" eval --model "$run/model" --trainer md4 --set trainer.estimator=count --valid "$valid" --rows 2000 "${shape[@]}" --seed 7 --format json |
        "$python" -c 'import json, sys; print(json.load(sys.stdin)["bound"]["bits_per_token"]["value"])')
    echo "$1 ${2#*=} seed $3: $steps steps, $bits bits per token"
    for planner in confidence p2; do
        "$mdmhost" sample --model "$run/model" --planner "$planner" --prompts "$out/lengths.jsonl" --seed "$3" --format jsonl --out "$run/$planner.jsonl" --overwrite 2>/dev/null
        echo "  $planner $("$python" "$here/../framework/bench/peers/molecules.py" "$run/$planner.jsonl" "$train")"
    done
}

runs=()
for seed in 1 2 3; do
    runs+=("md4 estimator=count $seed" "papl form=paper $seed" "papl form=pelbo $seed")
done
for run in "${runs[@]}"; do
    while (($(jobs -rp | wc -l) >= $(nproc))); do wait -n; done
    # shellcheck disable=SC2086 # three words
    train $run &
done
wait
for run in "${runs[@]}"; do
    # shellcheck disable=SC2086
    show $run
done
