#!/bin/sh
# Fails when the committed Go code is not what generate.sh writes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$here/generate.sh" "$fresh"
for f in plugin.pb.go plugin_grpc.pb.go; do
	if ! diff -u "$here/mdmhost/v1/$f" "$fresh/mdmhost/v1/$f"; then
		echo "plugins/proto/mdmhost/v1/$f is not what plugin.proto says; run plugins/proto/generate.sh and commit the result" >&2
		exit 1
	fi
done
