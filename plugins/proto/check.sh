#!/bin/sh
# Fails when the committed code or descriptor is not what generate.sh writes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
"$here/generate.sh" "$fresh"
for f in mdmhost/v1/plugin.pb.go mdmhost/v1/plugin_grpc.pb.go source/plugin.binpb; do
	if ! diff -u "$here/$f" "$fresh/$f"; then
		echo "plugins/proto/$f is not what plugin.proto says; run plugins/proto/generate.sh and commit the result" >&2
		exit 1
	fi
done
