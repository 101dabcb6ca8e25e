#!/usr/bin/env bash
# Runs the commands of docs/runtimes/openinference.md: MLServer serves exports of two models, and rows sampled from it are those sampled without it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

python=$(scripts/setup-mlserver.sh)
export MLSERVER_PYTHON=$python DOCS=$PWD/docs/runtimes PATH=$(dirname "$python"):$PATH
go test -tags tokenizers -count 1 -timeout 40m -run 'TestCommandsOfPages/runtimes/openinference.md' ./framework/cmd/mdmhost
