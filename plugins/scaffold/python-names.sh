#!/usr/bin/env bash
# Writes python-names.txt: the words and modules of the Python that is called, the packages that plugins import, and the tools that
# projects call. Names that
# no plugin can have are left out. Names of older Pythons stay in the list.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
"${PYTHON:-python3}" - <<'PYTHON'
import keyword, pathlib, re, sys
file = pathlib.Path("python-names.txt")
names = set(file.read_text().split()) if file.exists() else set()
names |= {"annotationlib", "compression"}  # of Python 3.14
names |= {"cryptography", "google", "grpc", "ml_dtypes", "mdmhost_plugin", "numpy", "onnx", "typing_extensions"}
names |= {"ensurepip", "pip", "pkg_resources", "setuptools", "test", "tests", "venv", "wheel"}  # what ./setup and tests run from the folder
names |= {n for n in [*sys.stdlib_module_names, *keyword.kwlist, *keyword.softkwlist] if re.fullmatch("[a-z][a-z0-9_]*", n)}
file.write_text("\n".join(sorted(names)) + "\n")
PYTHON
