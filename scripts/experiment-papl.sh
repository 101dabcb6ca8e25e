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

trainers() {
    echo "md4 trainer.estimator=count"
    echo "papl trainer.form=paper"
    echo "papl trainer.form=pelbo"
}

for seed in 1 2 3; do
    while read -r trainer option; do
        run=$out/$trainer-${option#*=}-$seed
        if [[ ! -d $run/model ]]; then
            "$mdmhost" train --run "$run" --from "$model" --trainer "$trainer" --set "$option" --train "$train" --valid "$valid" --seed "$seed" \
                --set data.column=SMILES --set data.layout=padded --set data.length=52 --set data.too_long=drop --minutes "$minutes" --steps 100000 --batch 64 \
                --set optimizer.lr=0.0003 --set optimizer.schedule=constant --set optimizer.warmup=20 --set train.eval_every=0 >&2
        fi
        steps=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["trainer"]["steps"])' "$run/model/mdm.json")
        bits=$("$mdmhost" eval --model "$run/model" --trainer md4 --set trainer.estimator=count --valid "$valid" --rows 2000 --set data.column=SMILES \
            --set data.layout=padded --set data.length=52 --set data.too_long=drop --seed 7 --format json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["bits_per_token"])')
        echo "$trainer ${option#*=} seed $seed: $steps steps, $bits bits per token"
        for planner in confidence p2; do
            answers=$run/$planner.jsonl
            [[ -f $answers ]] || "$mdmhost" sample --model "$run/model" --planner "$planner" --prompts "$out/lengths.jsonl" --seed "$seed" --format jsonl --out "$answers" 2>/dev/null
            echo "  $planner $("$python" "$here/../framework/bench/peers/molecules.py" "$answers" "$train")"
        done
    done < <(trainers)
done
