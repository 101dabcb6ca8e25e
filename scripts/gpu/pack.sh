#!/usr/bin/env bash
# Packs what a bare GPU machine without a network needs beside the repository: pack.sh [DIRECTORY]
#
# DIRECTORY (.gpu) gets part-00, part-01, ... of at most 60 MB each, and SHA256SUMS: the program, the benchmarks, the tests that demand a
# GPU, and ONNX Runtime with the CUDA provider. The nvidia libraries are those of the machine's own PyTorch. scripts/gpu/run.sh takes the
# parts there. With --dry in place of DIRECTORY all of it is done here, at once and in small: the library for the CPU, and the CPU stands in for the GPU.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

dry=
if [[ ${1:-} == --dry ]]; then
    dry=1
    shift
fi
out=${1:-.gpu}
work=$(mktemp -d "${TMPDIR:-/tmp}/mdmhost-gpu.XXXXXX")
trap 'rm -rf "$work"' EXIT
[[ -z $dry ]] || out=$work/parts
stage=$work/stage
mkdir -p "$stage/bin" "$stage/lib" "$work/parts" "$out"

echo "gpu: building" >&2
tags=gpu
[[ ! -e third_party/lib/libtokenizers.a ]] || tags=gpu,tokenizers
flags=(-tags "$tags" -ldflags '-s -w')
programs=(./framework/cmd/mdmhost ./framework/bench)
if [[ -n $dry && -x bin/mdmhost ]]; then # what matters here is the way, so the program may be the one that is there
    strip -o "$stage/bin/mdmhost" bin/mdmhost
    programs=(./framework/bench)
fi
go build "${flags[@]}" -o "$stage/bin/" "${programs[@]}"
for package in runtimes/onnx runtimes/spread; do
    go test "${flags[@]}" -c -o "$stage/bin/$(basename "$package").test" "./$package"
done

if [[ -n $dry ]]; then
    cp -L third_party/ort/libonnxruntime.so.* third_party/ort/libonnxruntime_providers_shared.so "$stage/lib/"
else
    echo "gpu: fetching ONNX Runtime for CUDA (256 MB)" >&2
    mkdir "$work/wheel"
    scripts/fetch-wheel.sh scripts/requirements/onnxruntime-gpu.txt "$work/wheel"
    mv "$work"/wheel/onnxruntime/capi/libonnxruntime* "$stage/lib/"
    rm -r "$work/wheel"
fi
(cd "$stage" && sha256sum bin/* lib/* >FILES)

echo "gpu: compressing $(du -sm "$stage" | cut -f1) MB" >&2
# The kernels of the CUDA provider, most of it all, are compressed already: xz -6 makes them 0.5 % smaller.
tar -C "$stage" -c . | gzip -1 | split -b 60000000 -d - "$work/parts/part-"
(cd "$work/parts" && sha256sum part-* >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
if [[ -n $dry ]]; then
    scripts/gpu/run.sh --provider cpu --parts "$out" --work "$work/unpacked"
    exit
fi
rm -f "$out"/part-* "$out/SHA256SUMS"
mv "$work"/parts/* "$out/"
ls -l "$out" >&2
echo "gpu: carry each part to the machine, then run scripts/gpu/run.sh there (see CONTRIBUTING.md)" >&2
