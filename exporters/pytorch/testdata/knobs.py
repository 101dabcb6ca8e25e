"""Prints knobs.json: what model.py answers for small networks that have every key of config.json between them, the classes of transformers alike,
and the sha256 of the files that it comes from. Weights are a formula (weights below, and knobs_test.go).   python knobs.py | gzip -9n >knobs.json.gz"""
import hashlib
import importlib
import json
import pathlib
import shutil
import sys
import tempfile

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
FILES = ["exporters/pytorch/model.py", "exporters/transformers/modeling_mdm.py", "exporters/transformers/configuration_mdm.py"]
with tempfile.TemporaryDirectory() as folder:  # side by side, as in an export
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    (pathlib.Path(folder, "__init__.py")).touch()
    sys.path.insert(0, str(pathlib.Path(folder).parent))
    modeling = importlib.import_module(pathlib.Path(folder).name + ".modeling_mdm")
Denoiser = modeling.Denoiser
BASE = {"model_type": "mdm-transformer", "vocab_size": 11, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 40,
        "max_position_embeddings": 12, "norm": "layer", "activation": "gelu", "positions": "rope", "rope_base": 10000, "bias": True,
        "tie_word_embeddings": False, "time": "none", "layer_norm_eps": 1e-5}
BERT = {"positions": "learned", "post_norm": True, "embedding_norm": True, "type_vocab_size": 2, "head_transform": True, "head_bias": True,
        "tie_word_embeddings": True, "layer_norm_eps": 1e-12}
TABLES = [{"name": "depth", "size": 3, "index": [0, 1, 1, 2, 2, 2, 2, 1]}, {"name": "side", "size": 2, "index": [0, 0, 1, 0, 1, 0, 1, 1]}]
NETWORKS = {
    "own": {},
    "own, rms, swiglu, no bias": {"norm": "rms", "activation": "swiglu", "bias": False},
    "own, silu, grid": {"positions": "grid", "grid": {"rows": 2, "cols": 4, "box": [2, 2]}, "max_position_embeddings": 8, "activation": "silu"},
    "own, relu2, sudoku": {"positions": "sudoku", "max_position_embeddings": 81, "activation": "relu2", "length": 81},
    "own, tables": {"positions": "grid", "position_tables": TABLES, "max_position_embeddings": 8, "tie_word_embeddings": True},
    "own, relu, no positions": {"positions": "none", "activation": "relu"},
    "adaln": {"time": "adaln", "time_embedding_size": 16, "positions": "learned", "rope_base": 0},
    "insertion": {"gaps": "eos", "time": "adaln", "time_embedding_size": 8, "norm": "rms"},
    "insertion, unmask rate": {"gaps": "eos", "unmask_rate": True, "tie_word_embeddings": True},
    "planner": {"head": "keep", "masked_input": True},
    "bert": BERT,
    "albert": {**BERT, "embedding_size": 8, "num_hidden_groups": 1, "num_hidden_layers": 3, "activation": "gelu_tanh"},
    "two groups of five layers": {"num_hidden_layers": 5, "num_hidden_groups": 2, "embedding_size": 24, "head_transform": True, "activation": "swiglu"},
    "modernbert": {"embedding_norm": True, "skip_first_norm": True, "local_attention": 4, "global_attn_every_n_layers": 3, "local_rope_base": 100,
                   "num_hidden_layers": 4, "bias": False, "activation": "geglu", "head_transform": True, "head_bias": True, "tie_word_embeddings": True},
    "local, learned": {"positions": "learned", "local_attention": 3, "global_attn_every_n_layers": 2, "activation": "geglu_tanh"},
    "llada": {"norm": "rms", "activation": "swiglu", "bias": False, "rope_base": 500000},
    "dream": {"norm": "rms", "activation": "swiglu", "bias": False, "qkv_bias": True, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 10,
              "rope_base": 1000000, "logits_shift": True, "layer_norm_eps": 1e-6},
}


def mix(x):  # splitmix64
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def weights(name, shape):
    """Uniform in (-a, a), a = sqrt(3 / fan-in) for matrices, 0.3 for vectors, around 1 for scales."""
    h = 14695981039346656037
    for byte in name.encode():
        h = ((h ^ byte) * 1099511628211) % 2**64
    with np.errstate(over="ignore"):
        bits = mix(np.uint64(h) + np.arange(int(np.prod(shape)), dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(40)
    unit = (2 * bits.astype(np.float64) + 1) / 2**24 - 1
    values = unit * (np.sqrt(3 / shape[1]) if len(shape) == 2 else 0.3) + name.endswith("norm.weight")
    return torch.from_numpy(values.astype(np.float32)).reshape(shape)


def case(name, change):
    change = dict(change)
    B, L = 3, change.pop("length", 8)
    config = {key: value for key, value in {**BASE, **change}.items() if key != "rope_base" or value and {**BASE, **change}["positions"] == "rope"}
    denoiser = Denoiser(config).eval()
    denoiser.load_state_dict({key: weights(key, tuple(value.shape)) for key, value in denoiser.state_dict().items()})
    ids = torch.randint(0, config["vocab_size"], (B, L))
    mask = torch.ones(B, L, dtype=torch.int64)
    mask[1, L - 3:] = 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    if config["time"] == "adaln":
        inputs["timesteps"] = torch.tensor([0.0, 0.5, 0.90625])
    if config.get("masked_input"):
        inputs["masked"] = torch.randint(0, 2, (B, L))
    with torch.inference_mode():
        out = denoiser(**inputs)
        if "logits" in out:  # what transformers' classes say, too
            kind = modeling.MdmTransformerForInsertion if "insertion_rate" in out else modeling.MdmTransformerForMaskedLM
            with torch.random.fork_rng():
                model = kind(modeling.MdmConfig(**config)).eval()
            model.load_state_dict(denoiser.state_dict())
            given = model(**inputs)
            assert set(given) == set(out) and all(torch.equal(given[key], out[key]) for key in out), name
    return {"name": name, "config": config, "shapes": {key: list(value.shape) for key, value in denoiser.state_dict().items()}, "rows": B, "length": L,
            "inputs": {key: value.flatten().tolist() for key, value in inputs.items()},
            "outputs": {key: [float(f"{x:.7g}") for x in value.flatten().tolist()] for key, value in out.items()}}


if __name__ == "__main__":
    torch.manual_seed(1)
    digests = {name: hashlib.sha256((ROOT / name).read_bytes()).hexdigest() for name in FILES}
    json.dump({"sha256": digests, "networks": [case(*c) for c in NETWORKS.items()]}, sys.stdout)
