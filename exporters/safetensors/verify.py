"""Prints what Python's safetensors reads: verify.py FILE. Ends with 3 where the package is missing."""

import hashlib
import json
import sys

try:
    import safetensors
except ImportError:
    sys.exit(print("Python's package safetensors is missing; install it with pip", file=sys.stderr) or 3)

with open(sys.argv[1], "rb") as f:
    tensors = safetensors.deserialize(f.read())
read = {name: {"dtype": t["dtype"], "shape": t["shape"], "sha256": hashlib.sha256(t["data"]).hexdigest()} for name, t in tensors}
print(json.dumps({"stack": "safetensors " + safetensors.__version__, "tensors": read}))
