"""Writes checkpoints with torch.save, in the older form and in the newer one, and what torch.load reads of them. Run with PyTorch."""
import os, torch, json, collections
from pathlib import Path

here = Path(__file__).parent
torch.manual_seed(1)
base = torch.randn(4, 6)
state = collections.OrderedDict(
    a=base, part=base[1:3], b16=torch.randn(3, 2).bfloat16(), half=torch.randn(5).half(), turned=torch.randn(2, 3).t(),
    ids=torch.arange(7)[None], scalar=torch.tensor(2.5), empty=torch.zeros(0, 3))
state["parameter"] = torch.nn.Parameter(torch.randn(2))
torch.save(state, here / "new.bin")
torch.save(dict(state), here / "old.bin", _use_new_zipfile_serialization=False)
torch.save({"epoch": 3, "state_dict": state}, here / "nested.bin")
torch.save({"a": torch.randn(2), "b": "text"}, here / "text.bin")

class Hostile:
    def __reduce__(self):
        return os.system, ("touch /tmp/mdmhost-was-called",)

torch.save({"a": Hostile()}, here / "hostile.bin")
torch.save({"a": Hostile()}, here / "hostile_old.bin", _use_new_zipfile_serialization=False)
want = {k: {"shape": list(v.shape), "dtype": str(v.dtype).removeprefix("torch."), "values": v.detach().float().flatten().tolist()} for k, v in state.items()}
(here / "want.json").write_text(json.dumps(want, indent=1) + "\n")
