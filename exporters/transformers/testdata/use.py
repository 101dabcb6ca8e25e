"""Uses an export as people do: use.py DIR WORK reads texts from standard input, one a line, and prints what the test looks at as one line of JSON."""
import json
import sys

import torch
from safetensors.torch import load_file
from transformers import AutoModel, AutoModelForMaskedLM, AutoTokenizer, utils

folder, work = sys.argv[1:]
utils.logging.set_verbosity_error()
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
texts = sys.stdin.read().splitlines()
seen = {"ids": [tokenizer(text)["input_ids"] for text in texts], "special": {k: getattr(tokenizer, k + "_token_id") for k in ("mask", "pad", "bos", "eos")}}

insertion = "AutoModel" in json.load(open(f"{folder}/config.json"))["auto_map"]
auto = AutoModel if insertion else AutoModelForMaskedLM
model = auto.from_pretrained(folder, trust_remote_code=True)
seen["dtype"] = str(model.dtype)

# As it was loaded: the parameters of the file, under its names.
file = load_file(f"{folder}/model.safetensors")
seen["as_file"] = set(file) == set(model.state_dict()) and all(torch.equal(file[k].float(), v) for k, v in model.state_dict().items())

# Fine-tuned on rows with masks: the loss falls.
torch.manual_seed(1)
V, mask = model.config.vocab_size, model.config.mask_token_id
rows = torch.randint(0, V - 3, (8, min(16, model.config.max_position_embeddings)))
if model.config.max_position_embeddings and json.load(open(f"{folder}/mdm.json"))["length"]["policy"] == "fixed":
    rows = torch.randint(0, V - 3, (8, model.config.max_position_embeddings))
hidden = torch.rand(rows.shape) < 0.5
given = {"input_ids": torch.where(hidden, mask, rows), "attention_mask": torch.ones_like(rows), "labels": torch.where(hidden, rows, -100)}
if model.config.time == "adaln":
    given["timesteps"] = torch.full((len(rows),), 0.5)
model.train()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
losses = []
for _ in range(20):
    loss = model(**given).loss
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
seen["losses"] = [losses[0], losses[-1]]
by_hand = torch.nn.functional.cross_entropy(model(**given).logits[hidden].float(), rows[hidden])
seen["loss_off"] = abs(by_hand.item() - model(**given).loss.item())

# Saved and opened again: bit by bit the same, and model.py reads it without transformers.
model.save_pretrained(work)
again = auto.from_pretrained(work, trust_remote_code=True)
seen["round_trip"] = all(torch.equal(v, again.state_dict()[k]) for k, v in model.state_dict().items())
sys.path.insert(0, work)
from model import Denoiser  # noqa: E402 of what was saved

model.eval()
plain = {k: v for k, v in given.items() if k != "labels"}
with torch.no_grad():
    seen["alone_off"] = (Denoiser.load(work)(**plain)["logits"] - model(**plain).logits).abs().max().item()
    single = model(**plain).logits
    half = auto.from_pretrained(work, trust_remote_code=True, dtype=torch.bfloat16)(**plain).logits
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model(**plain).logits
    seen["bfloat16_off"] = [((x.float() - single).abs().mean() / single.abs().mean()).item() for x in (half, mixed)]

# Three tokens more.
model.resize_token_embeddings(V + 3)
seen["resized"] = list(model(**plain).logits.shape)[-1] - V
seen["same_rows"] = torch.allclose(model(**plain).logits[..., :V], single, atol=1e-4)
print(json.dumps(seen))
