#!/usr/bin/env bash
# Tests the exporters and the runtime openvino, and runs the commands of their pages, with what verifies exports here: Python with ONNX Runtime, safetensors, tokenizers, OpenVINO and gguf, and Chromium. Where
# PEERS_PYTHON names an interpreter with torch and transformers (`scripts/setup-peers.sh torch`), theirs are run, too.
# All tests of exporters are run here, and nowhere else in CI: stacks answer for minutes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/check-tools.sh exports
python=$(scripts/setup-python-kit.sh export)
browser=$(scripts/setup-chromium.sh)
export EXPORT_PYTHON=$python PAGE_BROWSER=$browser
go test -tags tokenizers -count 1 -timeout 40m -short ./exporters/...
OPENVINO_SHARED_LIBRARY_PATH=$("$python" -c 'import importlib.util, pathlib; print(pathlib.Path(importlib.util.find_spec("openvino").origin).parent / "libs")')
export OPENVINO_SHARED_LIBRARY_PATH
go test -tags tokenizers -count 1 -timeout 40m -short ./runtimes/openvino
go test -tags tokenizers -count 1 -timeout 40m -run 'TestCommandsOfPages/(export|import.md|scale.md)' ./framework/cmd/mdmhost
go test -tags tokenizers -count 1 -timeout 40m -run 'TestCommandsOfPages/runtimes/openvino.md' ./framework/cmd/mdmhost
