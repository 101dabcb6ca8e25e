# Every task of the project. `./dev` lists them; `./dev RECIPE` runs one, on a machine that has nothing of ours yet too.

set positional-arguments
set shell := ["bash", "-euo", "pipefail", "-c"]

root := justfile_directory()
peers := root / ".peers/bin/python"

# The binary knows its commit, where git can tell it.
stamp := `git status >/dev/null 2>&1 && echo true || echo false`

# List the recipes
[private]
default:
    @'{{ just_executable() }}' --justfile '{{ justfile() }}' --list --unsorted

# Get the ONNX Runtime library and the tokenizer archive into third_party/
[no-exit-message]
setup:
    @scripts/setup.sh

# Build bin/mdmhost
build: setup
    @go build -tags tokenizers -buildvcs={{ stamp }} -o bin/mdmhost ./framework/cmd/mdmhost

# Build, then run `mdmhost sample` with the given flags in the caller's directory
[no-exit-message]
sample *flags: build
    @cd '{{ invocation_directory() }}' && '{{ root }}/bin/mdmhost' sample "$@"

# Everything that CI runs: lint, then the tests without and with the Rust tokenizers, then the example plugins
test: lint test-plain test-tokenizers test-examples test-scripts test-python-kit test-exports test-openinference test-scaffold test-gpu

# Go tests as `go test ./...` runs them for everyone, without Rust; test-exports runs those of exporters, with what verifies them
[private]
test-plain: setup
    browser=$(scripts/setup-chromium.sh) && PAGE_BROWSER=$browser go test -timeout 40m $(go list ./... | grep -v /exporters)

# Go tests of the shipped build, again without those of exporters
[private]
test-tokenizers: setup
    browser=$(scripts/setup-chromium.sh) && PAGE_BROWSER=$browser go test -tags tokenizers -timeout 40m $(go list ./... | grep -v /exporters)

# Open pages of real runs in headless Chromium, which is installed where there is none; pictures go to DIR, if given
test-pages dir='': setup
    browser=$(scripts/setup-chromium.sh) && PAGE_BROWSER=$browser PAGE_PICTURES='{{ dir }}' go test -tags tokenizers -count 1 -run TestPage ./framework/host/view/page ./framework/cmd/mdmhost

# Take the pictures of a trace and of a server's page anew
[private]
picture: setup
    work=$(mktemp -d) && '{{ just_executable() }}' --justfile '{{ justfile() }}' test-pages "$work" && mv "$work/desktop.png" framework/host/view/page/page.png && mv "$work/serve-light.png" framework/host/serve/page/page.png && rm -r "$work"

# The example plugins, each a module of its own
[private]
test-examples: setup
    @scripts/test-examples.sh

# The Python authors' kit and plugins written with it
[private]
test-python-kit: setup
    @scripts/test-python-kit.sh

# Exports, opened by the stacks that they are for
[private]
test-exports: setup
    @scripts/test-exports.sh

# Models on a server: MLServer, which is installed where there is none, serves exports
[private]
test-openinference: setup
    @scripts/test-openinference.sh

# Projects of new plugins, written, built and run with nothing but the binary
[private]
test-scaffold: build
    @scripts/test-scaffold.sh

# The GPU suite as far as a machine without one goes: packed, unpacked and run on the CPU
[private]
test-gpu: build
    @scripts/gpu/pack.sh --dry

# Scripts that need nothing but Python
[private]
test-scripts:
    @python3 -m unittest discover --start-directory scripts/molecules --pattern safe_test.py

# Scripts that need RDKit
[private]
test-molecules:
    @scripts/setup-peers.sh molecules
    @'{{ peers }}' -m unittest discover --start-directory scripts/molecules --pattern '*_test.py'

# Format the Go code and this file
fmt:
    @gofmt -w $(git ls-files --cached --others --exclude-standard '*.go')
    @'{{ just_executable() }}' --justfile '{{ justfile() }}' --fmt

# Formatting, go vet, staticcheck, tidy modules, fresh generated code
[no-exit-message]
lint: setup
    @scripts/lint.sh

# Write the generated code and the reference of plugins anew
generate:
    plugins/proto/generate.sh
    runtimes/openinference/inference/generate.sh
    python=$(scripts/setup-python-kit.sh) && PYTHON_KIT=$python plugins/python/generate.sh
    go run ./framework/cmd/mdmhost plugin docs >docs/plugins/reference.md.new && mv docs/plugins/reference.md.new docs/plugins/reference.md

# Make .peers, a Python environment with PyTorch, for complete benchmarks and golden files (6 GB)
peers:
    @scripts/setup-peers.sh torch

# The part of .peers that golden files cannot do without (250 MB)
[private]
peers-small:
    @scripts/setup-peers.sh

# Write the golden files anew, each with the script beside it; some need PyTorch and take part after `./dev peers`
golden: setup peers-small
    @scripts/golden.sh '{{ peers }}'

# Compare sampling with Python loops and the parts with each other; PyTorch takes part after `./dev peers`
bench-sample *groups: build
    @[[ -n "${MDMHOST_PEERS:-}" ]] || scripts/setup-peers.sh
    @[[ " $* " != *" kits "* ]] || scripts/setup-python-kit.sh >/dev/null
    @go run -tags tokenizers ./framework/bench "$@"

# Compare a gradient step with PyTorch's (which takes part after `./dev peers`); --profile says where the time goes
bench-train *flags: setup
    @[[ -n "${MDMHOST_PEERS:-}" ]] || scripts/setup-peers.sh
    @go run -tags tokenizers ./framework/bench "$@" train

# Compare exports in int8 and float16 with their source, sampling from both; figures are how many times faster
bench-export *flags: setup
    @go run -tags tokenizers ./framework/bench "$@" export

# What importing a model of 99 million parameters takes: memory by the bytes of its weights, and time
bench-import *flags: build
    @go run -tags tokenizers ./framework/bench "$@" import

# Compare servers that let requests share forward passes with those that answer one after the other: requests a second, p95, processor time
bench-serve *flags: build
    @go run -tags tokenizers ./framework/bench "$@" serve

# Molecules of insertion models: sample from nothing and around given fragments, and score (see docs/molecule-insertion.md)
score-molecules out *models: build
    @[[ -n "${MDMHOST_PEERS:-}" ]] || scripts/setup-peers.sh molecules
    @cd '{{ invocation_directory() }}' && PYTHON="${MDMHOST_PEERS:-{{ peers }}}" MDMHOST='{{ root }}/bin/mdmhost' '{{ root }}/scripts/molecules/table.sh' "$@"

# KL, total variation and NFE of every planner and sampler on explicit joints with the exact denoiser
bench-laws rows="20000":
    @go test ./planners -count 1 -timeout 0 -run '^TestLaws$' -v -args -law.rows {{ rows }} | sed -n 's/^ *\(|.*\)/\1/p'

# Total variation of insertion sampling by steps, grids and step rules, with the exact posterior (see docs/insertion-sampling.md)
bench-insertion-laws rows="12000":
    @go test ./plugins/samplers/insertion -count 1 -timeout 0 -run '^TestTable$' -v -args -law.rows {{ rows }} | sed -n 's/^ *\(|.*\)/\1/p'

# Plugins in endurance: 10,000 calls, 200 launches, 200 kills; one line of figures each. Tests run a tenth of it
soak:
    @cd plugins/supervise && go test -count 1 -timeout 30m -run '^TestSoak' -args -soak

# Pack what a bare GPU machine without a network needs into .gpu/, in parts of at most 60 MB; with --dry, try it all here on the CPU (see CONTRIBUTING.md)
[no-exit-message]
gpu *flags: build
    @scripts/gpu/pack.sh "$@"

# A server in endurance: clients that come, leave and read slowly, swaps of settings, kills of planners; 600 s are the whole of it. Tests run 6 s
soak-serve seconds="600": setup
    @go test -tags tokenizers ./framework/cmd/mdmhost -count 1 -timeout 0 -run '^TestSoakServe$' -v -args -soak.seconds {{ seconds }}

# Remove everything that set-up and build made, except .peers
clean:
    rm -rf bin third_party .cache
