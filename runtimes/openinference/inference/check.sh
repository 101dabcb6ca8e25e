#!/bin/sh
# Fails when the committed code is not what generate.sh writes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$here/generate.sh" "$fresh"
for f in inference.pb.go inference_grpc.pb.go; do
	if ! diff -u "$here/$f" "$fresh/openinference/inference/$f"; then
		echo "runtimes/openinference/inference/$f is not what inference.proto says; run runtimes/openinference/inference/generate.sh and commit the result" >&2
		exit 1
	fi
done
