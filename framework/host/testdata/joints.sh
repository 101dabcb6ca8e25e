#!/usr/bin/env bash
# Writes the exact denoisers of the tests beside this script: posteriors of small joint distributions as ONNX models.
#     joints.sh SHARED [PYTHON]
# SHARED holds reference/joint_model.py; PYTHON has numpy and onnx.
set -euo pipefail
shared=$1 python=${2:-python3} here=$(cd "$(dirname "$0")" && pwd)
"$python" "$shared/reference/joint_model.py" "$here/joint-l4v3" --length 4 --vocab 3 --seed 20261
"$python" "$shared/reference/joint_model.py" "$here/joint-l6v2" --length 6 --vocab 2 --seed 20262
"$python" "$shared/reference/joint_model.py" "$here/joint-coupled" --length 6 --vocab 2 --seed 20263 --couple 0.6
