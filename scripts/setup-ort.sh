#!/usr/bin/env bash
# Puts the ONNX Runtime library into third_party/ort, pinned and checked. Does nothing when it is there already;
# with --check it only says by its exit status whether it is.
# `mdmhost runtime install` does the same for those who only have the binary.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
exec >&2

version=1.31.1
machine=$(uname -m)
stamp="onnxruntime $version $machine $(sha256sum <scripts/onnxruntime.sha256)"
target=third_party/ort
if [[ -e $target/libonnxruntime.so && "$(cat $target/.stamp 2>/dev/null)" == "$stamp" ]]; then exit 0; fi
if [[ ${1:-} == --check ]]; then exit 1; fi

echo "setup: ONNX Runtime $version ($machine, about 24 MB)"
mkdir -p third_party
work=$(mktemp -d third_party/.ort.XXXXXX)
trap 'rm -rf "$work"' EXIT
scripts/fetch-wheel.sh scripts/requirements/onnxruntime.txt "$work"

mkdir -p "$work/ort"
mv "$work"/onnxruntime/capi/libonnxruntime* "$work"/onnxruntime/{LICENSE,ThirdPartyNotices.txt} "$work/ort/"
(cd "$work/ort" && sed -n "s# $machine/# #p" "$OLDPWD/scripts/onnxruntime.sha256" | sha256sum --check --strict --quiet)
ln -s "libonnxruntime.so.$version" "$work/ort/libonnxruntime.so"
echo "$stamp" >"$work/ort/.stamp"
rm -rf "$target"
mv "$work/ort" "$target"
