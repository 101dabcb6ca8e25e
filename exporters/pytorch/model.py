"""A masked diffusion model in plain PyTorch: a transformer that sees in both directions and proposes a token for every position.

    from model import Denoiser
    denoiser = Denoiser.load(".")                                # config.json and model.safetensors
    logits = denoiser(input_ids, attention_mask)["logits"]       # [B, L, V]

Letters in shapes: B rows, L positions, V tokens, d hidden_size, E embedding_size, H heads, K key-value heads, h head_dim.
Parameters have the names of model.safetensors. The keys of config.json are explained at DEFAULTS.
"""
import json
import math
import os
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn

DEFAULTS = {
    "norm": "layer",                 # or "rms"
    "layer_norm_eps": 1e-5,          # of both
    "post_norm": False,              # x = norm(x + f(x)), as BERT has it, and no norm at the end; else x = x + f(norm(x))
    "skip_first_norm": False,        # layer 0 has no norm before its attention (ModernBERT)
    "bias": False,                   # of linear layers and of layer norms
    "qkv_bias": False,               # of q, k and v where bias is false
    "activation": "gelu",            # see ACTIVATIONS
    "num_hidden_groups": 0,          # layers with parameters of their own, each used by the next ones, too (ALBERT); 0: all
    "num_key_value_heads": 0,        # 0: num_attention_heads
    "head_dim": 0,                   # 0: hidden_size / num_attention_heads
    "positions": "rope",             # or "learned", "grid", "sudoku" (tables for rows, columns and boxes), "none"
    "rope_base": 10000.0,
    "grid": None,                    # {"rows": R, "cols": C, "box": [r, c]}: makes position_tables
    "position_tables": None,         # [{"name", "size", "index": [entry of position 0, of position 1, ...]}]
    "local_attention": 0,            # the window of local layers: positions further apart than half of it do not see each other
    "global_attn_every_n_layers": 0, # layers i with i % n != 0 are local
    "local_rope_base": 0.0,          # rope_base of local layers; 0: the same
    "embedding_size": 0,             # E, from which a layer leads to hidden_size; 0: hidden_size
    "embedding_norm": False,         # a norm of the sum of embeddings
    "type_vocab_size": 0,            # token types, of which all tokens have type 0
    "masked_input": False,           # planners: takes masked [B, L], 1 where the token stands for a mask
    "time": "none",                  # or "adaln": timesteps give every norm's scale and shift, and a gate (Peebles and Xie 2023)
    "time_embedding_size": 64,
    "head": "",                      # or "keep": planners, the log-odds that a token is right
    "head_transform": False,         # a layer and a norm before the logits (BERT)
    "head_bias": False,              # added to the logits
    "logits_shift": False,           # position i is predicted from the state of position i - 1 (Dream)
    "tie_word_embeddings": False,    # the head's weights are the embedding
    "head_init": "normal",           # or "zeros"
    "gaps": "",                      # or "eos": an insertion model, which gives insertion_rate [B, L + 1]: gap i is before position i
    "unmask_rate": False,            # and unmask_rate [B, L]
    "initializer_range": 0.0,        # standard deviation of new weights; 0: what fits each layer
}

gelu_tanh = partial(F.gelu, approximate="tanh")
ACTIVATIONS = {"gelu": F.gelu, "gelu_tanh": gelu_tanh, "relu": F.relu, "relu2": lambda x: F.relu(x) ** 2, "silu": F.silu,
               "swiglu": F.silu, "geglu": F.gelu, "geglu_tanh": gelu_tanh}
GATED = {"swiglu", "geglu", "geglu_tanh"}  # activation(gate(x)) * up(x)
UNSEEN = -3e4  # outweighs any score, and is within float16's range
RATE_BOUND = 16  # of the logarithm of a rate


def fill(config):
    """The config with the defaults in the place of missing and null keys, and a grid written out as tables."""
    c = {**DEFAULTS, **{key: value for key, value in config.items() if value is not None}}
    d, heads = c["hidden_size"], c["num_attention_heads"]
    for key, value in {"num_hidden_groups": c["num_hidden_layers"], "num_key_value_heads": heads, "head_dim": d // heads,
                       "local_rope_base": c["rope_base"]}.items():
        c[key] = c[key] or value
    if c["positions"] == "sudoku" and not c["grid"]:
        c["grid"] = {"rows": 9, "cols": 9, "box": [3, 3]}
    if c["grid"] and not c["position_tables"]:
        rows, cols, box = c["grid"]["rows"], c["grid"]["cols"], c["grid"].get("box")
        cells = [(row, column) for row in range(rows) for column in range(cols)]
        c["position_tables"] = [{"name": "row", "size": rows, "index": [row for row, _ in cells]},
                                {"name": "column", "size": cols, "index": [column for _, column in cells]}]
        if box:
            across = cols // box[1]
            index = [row // box[0] * across + column // box[1] for row, column in cells]
            c["position_tables"].append({"name": "box", "size": rows // box[0] * across, "index": index})
    return c


class Norm(nn.Module):
    """LayerNorm or RMSNorm; without parameters where time gives scale and shift."""

    def __init__(self, c, width, timed):
        super().__init__()
        self.rms, self.eps = c["norm"] == "rms", c["layer_norm_eps"]
        self.shape = (width,)
        self.weight = None if timed else nn.Parameter(torch.ones(width))
        self.bias = None if timed or self.rms or not c["bias"] else nn.Parameter(torch.zeros(width))

    def forward(self, x):
        if self.rms:
            return F.rms_norm(x, self.shape, self.weight, self.eps)
        return F.layer_norm(x, self.shape, self.weight, self.bias, self.eps)


class Embeddings(nn.Module):
    """The sum of what is known of each position, [B, L, d]."""

    def __init__(self, c):
        super().__init__()
        E = c["embedding_size"] or c["hidden_size"]
        self.tokens = nn.Parameter(torch.empty(c["vocab_size"], E))
        self.masked = nn.Parameter(torch.empty(2, E)) if c["masked_input"] else None
        self.types = nn.Parameter(torch.empty(c["type_vocab_size"], E)) if c["type_vocab_size"] else None
        self.tables = {table["name"]: table["index"] for table in c["position_tables"] or []}
        if self.tables:
            self.positions = nn.ParameterDict({t["name"]: torch.empty(t["size"], E) for t in c["position_tables"]})
        elif c["positions"] == "learned":
            self.positions = nn.Parameter(torch.empty(c["max_position_embeddings"], E))
        self.norm = Norm(c, E, timed=False) if c["embedding_norm"] else None
        self.projection = nn.Linear(E, c["hidden_size"]) if c["embedding_size"] else None

    def forward(self, input_ids, position_ids, masked):
        x = F.embedding(input_ids, self.tokens)
        if self.masked is not None:
            x = x + F.embedding(masked, self.masked)
        if self.types is not None:
            x = x + self.types[0]
        for name, index in self.tables.items():
            entry = torch.tensor(index, device=x.device)[position_ids]
            x = x + F.embedding(entry, self.positions[name])
        if not self.tables and hasattr(self, "positions"):
            x = x + F.embedding(position_ids, self.positions)
        if self.norm is not None:
            x = self.norm(x)
        return x if self.projection is None else self.projection(x)


class Scores(nn.Module):
    """A small head of its own, or the embedding of time: up, an activation, down."""

    def __init__(self, width, inner, out, activation):
        super().__init__()
        self.up, self.down, self.activation = nn.Linear(width, inner), nn.Linear(inner, out), activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class Attention(nn.Module):
    """softmax(Q K^T / sqrt(h) + bias) V, in both directions."""

    def __init__(self, c, norm):
        super().__init__()
        d, H, K, h = c["hidden_size"], c["num_attention_heads"], c["num_key_value_heads"], c["head_dim"]
        self.head_dim, self.sharing = h, H // K
        self.norm = norm
        self.q = nn.Linear(d, H * h, bias=c["bias"] or c["qkv_bias"])
        self.k = nn.Linear(d, K * h, bias=c["bias"] or c["qkv_bias"])
        self.v = nn.Linear(d, K * h, bias=c["bias"] or c["qkv_bias"])
        self.output = nn.Linear(H * h, d, bias=c["bias"])

    def forward(self, x, rotation, bias):
        q, k, v = (part(x).unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for part in (self.q, self.k, self.v))
        if rotation is not None:
            q, k = rotate(q, *rotation), rotate(k, *rotation)  # [B, H, L, h] and [B, K, L, h]
        if self.sharing > 1:
            k, v = k.repeat_interleave(self.sharing, 1), v.repeat_interleave(self.sharing, 1)
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return self.output(x.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    """The feed-forward network."""

    def __init__(self, c, norm):
        super().__init__()
        d, inner, bias = c["hidden_size"], c["intermediate_size"], c["bias"]
        self.activation = ACTIVATIONS[c["activation"]]
        self.norm = norm
        self.gate = nn.Linear(d, inner, bias=bias) if c["activation"] in GATED else None
        self.up = nn.Linear(d, inner, bias=bias)
        self.down = nn.Linear(inner, d, bias=bias)

    def forward(self, x):
        if self.gate is None:
            return self.down(self.activation(self.up(x)))
        return self.down(self.activation(self.gate(x)) * self.up(x))


class Layer(nn.Module):
    """Attention, then the feed-forward network, each added to the stream x [B, L, d]."""

    def __init__(self, c, first):
        super().__init__()
        d, timed = c["hidden_size"], c["time"] == "adaln"
        self.post_norm = c["post_norm"]
        if timed:
            self.modulation = nn.Linear(c["time_embedding_size"], 6 * d)
        self.attention = Attention(c, nn.Identity() if first and c["skip_first_norm"] else Norm(c, d, timed))
        self.mlp = MLP(c, Norm(c, d, timed))

    def forward(self, x, rotation, bias, condition):
        attention, mlp = self.attention, self.mlp
        if self.post_norm:
            x = attention.norm(x + attention(x, rotation, bias))
            return mlp.norm(x + mlp(x))
        if condition is None:
            x = x + attention(attention.norm(x), rotation, bias)
            return x + mlp(mlp.norm(x))
        shift, scale, gate, mlp_shift, mlp_scale, mlp_gate = self.modulation(condition)[:, None].chunk(6, -1)  # [B, 1, d]
        x = x + attention(attention.norm(x) * (1 + scale) + shift, rotation, bias) * gate
        return x + mlp(mlp.norm(x) * (1 + mlp_scale) + mlp_shift) * mlp_gate


class Head(nn.Module):
    """Logits [B, L, V], or one number a position for head "keep"."""

    def __init__(self, c):
        super().__init__()
        d, keep = c["hidden_size"], c["head"] == "keep"
        E = c["embedding_size"] or d
        out = 1 if keep else c["vocab_size"]
        self.transform = nn.Linear(d, E, bias=c["bias"]) if c["head_transform"] else None
        self.activation = ACTIVATIONS[c["activation"]]
        self.norm = Norm(c, E, timed=False) if c["head_transform"] else None
        self.weight = None if c["tie_word_embeddings"] else nn.Parameter(torch.empty(out, E if c["head_transform"] else d))
        self.bias = nn.Parameter(torch.zeros(out)) if keep or c["head_bias"] else None

    def forward(self, x, tokens):
        if self.transform is not None:
            x = self.norm(self.activation(self.transform(x)))
        return F.linear(x, tokens if self.weight is None else self.weight, self.bias)


def rotations(c, position_ids, base, dtype):
    """Cosines and sines [B, 1, L, h / 2] of the angles position * base^(-2i / h); None where positions do not rotate."""
    if c["positions"] != "rope":
        return None
    width = c["head_dim"]
    precise = torch.float32 if position_ids.device.type == "mps" else torch.float64
    frequencies = base ** -(torch.arange(0, width, 2, device=position_ids.device, dtype=precise) / width)
    angle = position_ids[:, None, :, None] * frequencies
    return angle.cos().to(dtype), angle.sin().to(dtype)


def rotate(x, cos, sin):
    """Number i of the first half of each head turns with number i of the second half (Su et al. 2021)."""
    a, b = x.chunk(2, -1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)


def window(c, position_ids, bias, dtype):
    """The bias of local layers [1 or B, 1, L, L]: positions more than half the window apart do not see each other; None without a window."""
    if not c["local_attention"]:
        return None
    near = (position_ids[:, None, :, None] - position_ids[:, None, None]).abs() <= c["local_attention"] // 2
    unseen = torch.full((), UNSEEN, dtype=dtype, device=position_ids.device)
    return torch.where(near, torch.zeros_like(unseen) if bias is None else bias, unseen)


class Denoiser(nn.Module):
    """The network of a config.json, given as a dictionary, with new weights. Further arguments are for a base class."""

    def __init__(self, config, *base):
        super().__init__(*base)
        self.c = c = fill(config)
        if c["head"] not in ("", "keep"):
            raise ValueError(f"config.json: head is {c['head']!r}, expected none or 'keep'")
        d, n = c["hidden_size"], c["time_embedding_size"]
        timed = c["time"] == "adaln"
        self.embeddings = Embeddings(c)
        self.time = Scores(n, 4 * n, n, F.silu) if timed else None
        self.layers = nn.ModuleList(Layer(c, i == 0) for i in range(c["num_hidden_groups"]))
        self.norm = nn.Identity() if c["post_norm"] else Norm(c, d, timed)
        if timed:
            self.norm.modulation = nn.Linear(n, 2 * d)
        self.head = Head(c)
        self.insertion = Scores(d, d, 1, F.gelu) if c["gaps"] else None
        self.unmask = Scores(d, d, 1, F.gelu) if c["unmask_rate"] else None
        self.reset_parameters()

    @classmethod
    def load(cls, folder, dtype=torch.float32, device="cpu"):
        """The model of a folder with config.json and model.safetensors, in evaluation mode."""
        from safetensors.torch import load_file

        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        with torch.device("meta"):  # no memory: the tensors of the file become the parameters
            model = cls(config)
        weights = load_file(os.path.join(folder, "model.safetensors"), device=str(device))
        model.load_state_dict({name: tensor.to(dtype) for name, tensor in weights.items()}, assign=True)
        return model.eval()

    def forward(self, input_ids, attention_mask=None, timesteps=None, position_ids=None, masked=None):
        """Of int64 [B, L], the timesteps float [B] in [0, 1]: a dictionary of logits [B, L, V], and of the rates where the model has them.

        attention_mask is 1 at real positions and 0 at padding; a row of padding alone attends everywhere."""
        c, L = self.c, input_ids.shape[1]
        if position_ids is None:
            position_ids = torch.arange(L, device=input_ids.device)[None]
        x = self.embeddings(input_ids, position_ids, masked)
        condition = None if self.time is None else self.condition(timesteps, x.dtype)
        bias = None if attention_mask is None else (1 - attention_mask[:, None, None].to(x.dtype)) * UNSEEN  # [B, 1, 1, L]
        everywhere = rotations(c, position_ids, c["rope_base"], x.dtype), bias
        near = rotations(c, position_ids, c["local_rope_base"], x.dtype), window(c, position_ids, bias, x.dtype)
        for i in range(c["num_hidden_layers"]):
            layer = self.layers[i * c["num_hidden_groups"] // c["num_hidden_layers"]]
            local = c["local_attention"] and i % c["global_attn_every_n_layers"]
            x = layer(x, *(near if local else everywhere), condition)
        x = self.norm(x)
        if condition is not None:
            shift, scale = self.norm.modulation(condition)[:, None].chunk(2, -1)
            x = x * (1 + scale) + shift
        if c["logits_shift"]:
            x = torch.cat([x[:, :1], x[:, :-1]], 1)
        logits = self.head(x, self.embeddings.tokens)
        if c["head"] == "keep":
            return {"keep": logits[..., 0]}
        out = {"logits": logits}
        if self.insertion is not None:
            before = rate(self.insertion(x))  # of the gap before each position
            out["insertion_rate"] = F.pad(before if attention_mask is None else before * attention_mask, (0, 1))
        if self.unmask is not None:
            out["unmask_rate"] = rate(self.unmask(x))
        return out

    def condition(self, timesteps, dtype):
        """What every modulation reads of the time [B, n]: sines and cosines of 1000 t through a small network."""
        if timesteps is None:
            raise ValueError("timesteps is missing; expected [B] in [0, 1], which this model takes")
        half = self.c["time_embedding_size"] // 2
        at = torch.arange(half, device=timesteps.device, dtype=torch.float32)
        angle = timesteps.float()[:, None] * 1000 * torch.exp(at * -math.log(1e4) / max(half - 1, 1))
        return self.time(torch.cat([angle.sin(), angle.cos()], 1).to(dtype)).sigmoid()

    @torch.no_grad()
    def reset_parameters(self, only=None):
        """New parameters (all, or those in only): layers that write to the stream get less the more there are, time starts without a say."""
        c = self.c
        for name, p in self.named_parameters():
            if only is not None and not any(p is q for q in only):
                continue
            part, std = name.removesuffix(".weight"), c["initializer_range"] or p.shape[-1] ** -0.5
            if p.dim() == 1:
                nn.init.constant_(p, float(name.endswith("norm.weight")))
            elif part.endswith("modulation") or part in ("insertion.down", "unmask.down") or part == "head" and c["head_init"] == "zeros":
                nn.init.zeros_(p)
            else:
                if part.startswith("embeddings.") and part != "embeddings.projection" and not (c["tie_word_embeddings"] or c["initializer_range"]):
                    std = 1.0
                if part.endswith(("attention.output", "mlp.down")):
                    std /= math.sqrt(2 * c["num_hidden_layers"])
                std /= 0.87962566103423978  # what is left of a standard normal number that is cut at 2
                nn.init.trunc_normal_(p, std=std, a=-2 * std, b=2 * std)


def rate(score):
    """exp(16 tanh(s / 16)) [B, L] of scores [B, L, 1], in single precision: positive, and never infinite."""
    return (torch.tanh(score[..., 0].float() / RATE_BOUND) * RATE_BOUND).exp()
