#!/usr/bin/env bash
# Star graphs: a masked model on a filled canvas (MD4), FlexMDM and LoFlexMDM at one budget of processor time a run.
#   experiment-stars.sh OUT [SIZE]
# OUT gets curves.csv (loss and learned speeds against steps and time) and results.csv (exact match, agreement and order of what the
# models write for graphs of the test). An interrupted call goes on by the same command; its steps are measured once, at the start.
#
# Of the environment: MDMHOST (the binary), PYTHON (3, no packages), CPU_SECONDS (420, of one run on one thread), SEEDS ("1 2 3"),
# JOBS (2 runs at a time), PARTS ("0.25 0.5", shares of the budget for which the first seed is trained anew, so that its exact match
# can be drawn against time; the learning rate is constant), ROWS (300 graphs of the test), STEPS ("128,512", of sampling by insertion),
# MODELS ("masked flexmdm loflexmdm"), FLAGS (more flags of `mdmhost train`).
set -euo pipefail
here=$(dirname "$(realpath "${BASH_SOURCE[0]}")")
mdmhost=$(realpath "${MDMHOST:-$here/../bin/mdmhost}") python=${PYTHON:-python3}
if (($# < 1)); then
    sed -n '2,11s/^# \?//p' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
out=$1 size=${2:-small}
seconds=${CPU_SECONDS:-420} rows=${ROWS:-300} models=${MODELS:-masked flexmdm loflexmdm}
read -ra seeds <<<"${SEEDS:-1 2 3}"
mkdir -p "$out/runs"

# data NAME FLAGS...: the same graphs, with texts as they are or of one length.
data() {
    [[ -d $out/$1 ]] || "$mdmhost" data make stars --size "$size" --num 300000 --valid 512 --out "$out/$1" "${@:2}" | tee "$out/$1.txt"
}
data plain
data filled --fill
length=$(sed -n 's/.*data.length \([0-9]*\) .*/\1/p' "$out/plain.txt")
shape=(--set data.column=text --set data.prompt_column=prompt --set data.layout=padded --set data.length="$length")

# files MODEL
files() { if [[ $1 = masked ]]; then echo "$out/filled"; else echo "$out/plain"; fi; }

# train RUN MODEL SEED STEPS EVERY
train() {
    local of own
    of=$(files "$2")
    case $2 in
        masked) own=(--config train-stars-masked) ;;
        loflexmdm) own=(--config train-stars --set order.num_hidden_layers=2) ;;
        *) own=(--config train-stars --trainer "$2") ;;
    esac
    [[ ! -d $1/model ]] || return 0
    # shellcheck disable=SC2086 # words
    nice -n 5 "$mdmhost" train --run "$1" "${own[@]}" --train "$of/train.jsonl" --valid "$of/valid.jsonl" --set data.length="$length" --seed "$3" --steps "$4" \
        --set train.checkpoint_every="$5" --set train.keep=3 --set train.eval_every="$5" --set runtime.threads=1 ${FLAGS:-} >"$1.log" 2>&1
}

# cost RUN FROM TO: milliseconds of processor time a step.
cost() {
    "$python" -c '
import json, sys
run, steps = sys.argv[1], [int(s) for s in sys.argv[2:]]
a, b = [json.load(open(f"{run}/checkpoints/step-{s}/manifest.json"))["cpu_seconds"] for s in steps]
print(1000 * (b - a) / (steps[1] - steps[0]))' "$@"
}

for model in $models; do
    [[ -f $out/steps-$model ]] && continue
    train "$out/runs/cost-$model" "$model" 1 200 100
    ms=$(cost "$out/runs/cost-$model" 100 200)
    "$python" -c "print(max(100, round($seconds * 10 / $ms) * 100))" >"$out/steps-$model.part"
    mv "$out/steps-$model.part" "$out/steps-$model"
    echo "$model: $ms ms of processor time a step, $(cat "$out/steps-$model") steps a run"
done

all=()
for part in 1 ${PARTS-0.25 0.5}; do
    for seed in "${seeds[@]}"; do
        [[ $part = 1 || $seed = "${seeds[0]}" ]] || continue
        for model in $models; do
            steps=$("$python" -c "print(max(1, round($(cat "$out/steps-$model") * $part)))")
            all+=("$out/runs/$model-$seed-$steps $model $seed $steps $(((steps + 19) / 20))")
        done
    done
done
for run in "${all[@]}"; do
    while (($(jobs -rp | wc -l) >= ${JOBS:-2})); do wait -n; done
    # shellcheck disable=SC2086 # its words
    train $run &
done
wait

for run in "${all[@]}"; do
    read -r dir model seed _ <<<"$run"
    points=(--planner "confidence steps=${STEPS:-128,512}" --planner "confidence steps=${STEPS:-128,512} sampler.confidence=top_prob")
    [[ $model != masked ]] || points=(--planner confidence)
    nice -n 5 "$mdmhost" bench sampler --model "$dir/model" --data "$(files "$model")/test.jsonl" "${shape[@]}" --rows "$rows" --seed "$seed" --set runtime.threads=1 \
        "${points[@]}" --evaluator "$mdmhost data judge stars" --out "$dir/quality" >"$dir/quality.txt" 2>>"$dir.log"
done

"$python" - "$mdmhost" "$out" "${all[@]}" <<'PYTHON'
import csv, json, os, subprocess, sys
mdmhost, out = sys.argv[1:3]
speeds = ["b_in", "b_in_spread", "b_in_min", "b_in_max"]
quality = ["exact", "exact_se", "agreement", "edges", "length"]
pooled = ["order", "order_inserted"]
curves = [["model", "seed", "steps", "kind", "step", "cpu_seconds", "seconds", "loss", "total", "um", "in"] + speeds]
results = [["model", "seed", "steps", "cpu_seconds", "seconds", "point", "rows", "nfe"] + quality + pooled]
for run in sys.argv[3:]:
    folder, model, seed, steps, _ = run.split()
    cpu = json.load(open(f"{folder}/checkpoints/step-{steps}/manifest.json"))["cpu_seconds"]
    for text in open(f"{folder}/metrics.jsonl"):
        line = json.loads(text)
        if line["kind"] not in ("train", "eval") or line["kind"] == "train" and line["step"] % 50:
            continue
        m = line.get("metrics", {})
        curves.append([model, seed, steps, line["kind"], line["step"], round(cpu * line["step"] / int(steps), 2), round(line["seconds"], 2), line["loss"],
                       m.get("total", ""), m.get("um_ce", ""), m.get("in", "")] + [m.get(k, "") for k in speeds])
        wall = line["seconds"]
    for line in csv.DictReader(open(f"{folder}/quality/results.csv")):
        with open(f"{folder}/quality/{line['file']}") as rows:
            next(rows)  # the head
            said = json.loads(subprocess.run([mdmhost, "data", "judge", "stars", "--summary"], input=rows.read(), text=True, capture_output=True, check=True).stdout)
        results.append([model, seed, steps, round(cpu, 1), round(wall, 1), line["point"], line["rows"], line["nfe"]] + [line[k] for k in quality] + [said.get(k, "") for k in pooled])
for name, table in ("curves.csv", curves), ("results.csv", results):
    with open(f"{out}/{name}.part", "w", newline="") as f:
        csv.writer(f, lineterminator="\n").writerows(table)
    os.replace(f"{out}/{name}.part", f"{out}/{name}")
print(open(f"{out}/results.csv").read(), end="")
PYTHON
