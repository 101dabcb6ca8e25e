#!/usr/bin/env bash
# Runs the GPU suite on a machine that has a GPU, PyTorch for it, and no network: run.sh [--provider cuda|cpu] [--parts DIR] [--work DIR] [--budget TIME] [STAGE...]
#
# `run.sh take` only moves the parts of DIR (.gpu) out of the way, into WORK, for machines to which they come one by one. Without a STAGE
# all run: unpack, check, tests, agree, sample, train, profile. Each writes its log into $OUT, if that is set. A stage that fails does not
# end the others, but the exit status is then 1.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit

provider=cuda parts=.gpu work=${XDG_CACHE_HOME:-$HOME/.cache}/mdmhost-gpu budget=5s
while [[ ${1:-} == --* ]]; do
    case $1 in
    --provider) provider=$2 ;;
    --parts) parts=$2 ;;
    --work) work=$2 ;;
    --budget) budget=$2 ;;
    *) echo "run.sh: unknown option $1" >&2 && exit 2 ;;
    esac
    shift 2
done
[[ $provider == cuda || $provider == cpu ]] || { echo "run.sh: --provider $provider; use cuda or cpu" >&2 && exit 2; }
mkdir -p "$work/parts" ${OUT:+"$OUT"}

take() {
    [[ ! -d $parts ]] || find "$parts" -maxdepth 1 \( -name 'part-*' -o -name SHA256SUMS \) -exec mv -t "$work/parts" {} +
    ls -l "$work/parts"
}

unpack() {
    take && (cd "$work/parts" && sha256sum --check --strict --quiet SHA256SUMS) || return
    rm -rf "$work/suite" "$work/suite.part"
    mkdir "$work/suite.part" &&
        (cd "$work/parts" && cat part-*) | tar -xz -C "$work/suite.part" &&
        (cd "$work/suite.part" && sha256sum --check --strict --quiet FILES) && nvidia "$work/suite.part/lib" && mv "$work/suite.part" "$work/suite"
}

# The nvidia libraries of PyTorch are linked beside ONNX Runtime's, where it finds them without LD_LIBRARY_PATH.
nvidia() {
    [[ $provider == cuda ]] || return 0
    python3 - "$1" <<'EOF'
import glob, os, site, sys, sysconfig

for place in {sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), site.getusersitepackages(), *site.getsitepackages()}:
    for file in glob.glob(os.path.join(place, "nvidia/*/lib/lib*.so.*")):
        link = os.path.join(sys.argv[1], os.path.basename(file))
        if not os.path.lexists(link):
            os.symlink(file, link)
missing = [s for s in ("libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcudnn.so.9", "libcufft.so.12", "libcurand.so.10", "libnvrtc.so.13")
           if not os.path.exists(os.path.join(sys.argv[1], s))]
sys.exit(f"run.sh: PyTorch's nvidia libraries lack {', '.join(missing)}" if missing else 0)
EOF
}

library() { export ONNXRUNTIME_SHARED_LIBRARY_PATH; ONNXRUNTIME_SHARED_LIBRARY_PATH=$(echo "$work"/suite/lib/libonnxruntime.so.*); }

check() {
    [[ $provider == cpu ]] || nvidia-smi
    "$work/suite/bin/mdmhost" version && "$work/suite/bin/mdmhost" runtime check --runtime "$provider"
}

tests() {
    local failed=0
    for package in onnx spread; do
        # From the package's folder, where its test data lies.
        (cd "runtimes/$package" && MDMHOST_GPU=1 MDMHOST_GPU_PROVIDER=$provider "$work/suite/bin/$package.test" -test.v -test.run 'GPU|TwoSessions') || failed=1
    done
    return "$failed"
}

# The same rows on the CPU and on the GPU, in float32: tokens agree but for near-ties, which are listed.
agree() {
    local failed=0 models=(sudoku text maze molecule molecule-insertion)
    [[ $provider == cuda ]] || models=(sudoku)
    for model in "${models[@]}"; do
        echo "== $model"
        "$work/suite/bin/mdmhost" bench runtime --model "$model" --against "$([[ $provider == cuda ]] && echo cuda || echo onnx:head=graph)" --rounds 2 || failed=1
    done
    return "$failed"
}

bench() { MDMHOST_PEERS=${MDMHOST_PEERS:-python3} "$work/suite/bin/bench" -model framework/model/embedded/rxnmapper-albert -provider "$provider" -budget "$budget" "$@"; }
sample() { bench cuda; }
train() { bench cuda-train; }

# What of a pass and of a gradient step runs where, with times by operator.
profile() {
    bench -profile cuda-train | sed -n '/^#/p'
    "$work/suite/bin/mdmhost" sample --model sudoku --runtime "$provider" --num 2 --seed 1 # whose notes name what ran on the CPU
}

[[ $provider == cuda ]] || budget=100ms
stages=("$@")
[[ $# -gt 0 ]] || stages=(unpack check tests agree sample train profile)
failed=()
for stage in "${stages[@]}"; do
    case $stage in
    take | unpack) ;;
    check | tests | agree | sample | train | profile) library ;;
    *) echo "run.sh: unknown stage $stage; use take, unpack, check, tests, agree, sample, train, profile" >&2 && exit 2 ;;
    esac
    echo "gpu: $stage"
    "$stage" 2>&1 | tee ${OUT:+"$OUT/$stage.log"}
    [[ ${PIPESTATUS[0]} == 0 ]] || failed+=("$stage")
done
if ((${#failed[@]})); then
    echo "gpu: FAILED: ${failed[*]}"
    exit 1
fi
echo "gpu: ${stages[*]}: ok"
