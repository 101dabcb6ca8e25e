#!/usr/bin/env bash
# Words around a separator, where order is worth nats: FlexMDM, whose bound ends at 5.94 nats a word, and LoFlexMDM.
#   experiment-separator.sh OUT
# OUT gets curves.csv (bound and learned speeds against steps and time) and results.csv: the bound as the mean over the second half of
# the training, and of sampled words the share that is valid, the total variation to the law, and when the separator came. An
# interrupted call goes on by the same command.
#
# Of the environment: MDMHOST (the binary), PYTHON (3, no packages), STEPS (2000), SEEDS ("1 2 3"), JOBS (2 runs at a time), ROWS (4000
# words), SAMPLING (256 steps), MODELS ("flexmdm loflexmdm"), FLAGS (more flags of `mdmhost train`).
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
mdmhost=$(realpath "${MDMHOST:-$here/../bin/mdmhost}") python=${PYTHON:-python3}
if (($# < 1)); then
    sed -n '2,9s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
out=$1 steps=${STEPS:-2000}
mkdir -p "$out/runs"
[[ -d $out/words ]] || "$mdmhost" data make separator --valid 2048 --out "$out/words"

# train RUN MODEL SEED
train() {
    [[ ! -d $1/model ]] || return 0
    # shellcheck disable=SC2086 # words
    nice -n 5 "$mdmhost" train --run "$1" --config train-separator --trainer "$2" --train "$out/words/train.jsonl" --valid "$out/words/valid.jsonl" --seed "$3" \
        --steps "$steps" --set train.eval_every=$(((steps + 7) / 8)) --set train.eval_rows=2048 --set runtime.threads=1 ${FLAGS:-} >"$1.log" 2>&1
}

all=()
for seed in ${SEEDS:-1 2 3}; do
    for model in ${MODELS:-flexmdm loflexmdm}; do all+=("$out/runs/$model-$seed $model $seed"); done
done
for run in "${all[@]}"; do
    while (($(jobs -rp | wc -l) >= ${JOBS:-2})); do wait -n; done
    # shellcheck disable=SC2086 # its words
    train $run &
done
wait

for run in "${all[@]}"; do
    read -r dir _ seed <<<"$run"
    nice -n 5 "$mdmhost" bench sampler --model "$dir/model" --rows "${ROWS:-4000}" --seed "$seed" --batch 64 --set runtime.threads=1 \
        --planner "confidence steps=${SAMPLING:-256}" --evaluator "$mdmhost data judge separator" --out "$dir/quality" >"$dir/quality.txt" 2>>"$dir.log"
done

"$python" - "$mdmhost" "$out" "$steps" "${all[@]}" <<'PYTHON'
import csv, glob, json, os, subprocess, sys
mdmhost, out, steps = sys.argv[1], sys.argv[2], int(sys.argv[3])
parts = ["total", "um_ce", "in"]
speeds = ["b_in", "b_in_spread", "b_in_min", "b_in_max"]
pooled = ["valid", "tv", "length_tv", "separator_opened", "separator_inserted"]
curves = [["model", "seed", "kind", "step", "seconds"] + parts + speeds]
results = [["model", "seed", "steps", "seconds"] + parts + ["rows"] + pooled]
for run in sys.argv[4:]:
    folder, model, seed = run.split()
    means, n = dict.fromkeys(parts, 0), 0
    for text in open(f"{folder}/metrics.jsonl"):
        line = json.loads(text)
        if line["kind"] not in ("train", "eval"):
            continue
        m = line["metrics"]
        curves.append([model, seed, line["kind"], line["step"], round(line["seconds"], 2)] + [m[k] for k in parts] + [m.get(k, "") for k in speeds])
        if line["kind"] == "train" and line["step"] > steps // 2:
            means, n = {k: means[k] + m[k] for k in parts}, n + 1
        seconds = line["seconds"]
    with open(*glob.glob(f"{folder}/quality/rows/*.jsonl")) as rows:
        next(rows)  # the head
        said = json.loads(subprocess.run([mdmhost, "data", "judge", "separator", "--summary"], input=rows.read(), text=True, capture_output=True, check=True).stdout)
    results.append([model, seed, steps, round(seconds, 1)] + [round(means[k] / n, 4) for k in parts] + [int(said["rows"])] + [said.get(k, "") for k in pooled])
for name, table in ("curves.csv", curves), ("results.csv", results):
    with open(f"{out}/{name}.part", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(table)
    os.replace(f"{out}/{name}.part", f"{out}/{name}")
print(open(f"{out}/results.csv").read(), end="")
PYTHON
