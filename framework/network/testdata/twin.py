"""The same denoiser in PyTorch, for golden files and for comparisons of training curves.

    config = json.load(open("config.json"))          # a filled network.Config
    params = {name: tensor}                          # as in model.safetensors, e.g. safetensors.torch.load_file
    forward = build(config, params)
    logits = forward(input_ids, attention_mask=None, timesteps=None, position_ids=None, attention_bias=None)   # [B, L, V]

With gaps or head "order" forward gives a dictionary of all outputs instead.

The tensors of params are used as they are: with requires_grad they train. shapes(config) lists them.
"""
import math

import torch
import torch.nn.functional as F


def shapes(c):
    """Name -> shape of every parameter, in the order of network.Params."""
    d, v, ff, timed = c["hidden_size"], c["vocab_size"], c["intermediate_size"], c["time"] == "adaln"
    out = {"embeddings.tokens": (v, d)}
    if c["positions"] == "learned":
        out["embeddings.positions"] = (c["max_position_embeddings"], d)
    for t in c.get("position_tables") or []:
        out["embeddings.positions." + t["name"]] = (t["size"], d)

    def linear(name, o, i, bias):
        out[name + ".weight"] = (o, i)
        if bias:
            out[name + ".bias"] = (o,)

    def norm(name):
        if not timed:
            out[name + ".weight"] = (d,)
            if c["norm"] == "layer" and c["bias"]:
                out[name + ".bias"] = (d,)

    if timed:
        n = c["time_embedding_size"]
        linear("time.up", 4 * n, n, True)
        linear("time.down", n, 4 * n, True)
    for i in range(c["num_hidden_layers"]):
        p = f"layers.{i}."
        if timed:
            linear(p + "modulation", 6 * d, n, True)
        norm(p + "attention.norm")
        for part in ("q", "k", "v", "output"):
            linear(p + "attention." + part, d, d, c["bias"])
        norm(p + "mlp.norm")
        if c["activation"] == "swiglu":
            linear(p + "mlp.gate", ff, d, c["bias"])
        linear(p + "mlp.up", ff, d, c["bias"])
        linear(p + "mlp.down", d, ff, c["bias"])
    norm("norm")
    if timed:
        linear("norm.modulation", 2 * d, n, True)
    if not c["tie_word_embeddings"] and c.get("head") != "order":
        out["head.weight"] = (v, d)
    for name, n in scores(c):
        linear(name + ".up", d, d, True)
        linear(name + ".down", n, d, True)
    return out


def scores(c):
    """The heads beside the logits, and how many numbers each gives for a position."""
    if c.get("head") == "order":
        return [("order", 2)]
    return [("insertion", 1)] * (c.get("gaps") == "eos") + [("unmask", 1)] * c.get("unmask_rate", False)


def build(config, params):
    c, W = config, params
    d, H, eps, timed = c["hidden_size"], c["num_attention_heads"], c["layer_norm_eps"], c["time"] == "adaln"
    dh = d // H

    def linear(name, x):
        return F.linear(x, W[name + ".weight"], W.get(name + ".bias"))

    def norm(name, x):
        if c["norm"] == "rms":
            return F.rms_norm(x, (d,), W.get(name + ".weight"), eps)
        return F.layer_norm(x, (d,), W.get(name + ".weight"), W.get(name + ".bias"), eps)

    def activation(name, x):
        up = linear(name + ".up", x)
        if c["activation"] == "swiglu":
            return F.silu(linear(name + ".gate", x)) * up
        return {"gelu": F.gelu, "silu": F.silu, "relu2": lambda y: F.relu(y) ** 2}[c["activation"]](up)

    def table():
        if c["positions"] == "learned":
            return W["embeddings.positions"]
        tables = c.get("position_tables") or []
        return sum(W["embeddings.positions." + t["name"]][t["index"]] for t in tables) if tables else None

    def rotate(x, cos, sin):  # [B, H, L, dh]
        a, b = x.chunk(2, -1)
        return torch.cat([a * cos - b * sin, b * cos + a * sin], -1)

    def forward(input_ids, attention_mask=None, timesteps=None, position_ids=None, attention_bias=None):
        B, L = input_ids.shape
        x = W["embeddings.tokens"][input_ids]
        places = torch.arange(L)[None] if position_ids is None else position_ids
        added = table()
        if added is not None:
            x = x + added[places]
        if c["positions"] == "rope":
            frequencies = c["rope_base"] ** -(torch.arange(dh // 2, dtype=torch.float64) / (dh // 2))
            angle = places[:, None, :, None] * frequencies  # [B, 1, L, dh/2]
            cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        bias = None
        if attention_mask is not None:
            bias = ((attention_mask.to(x.dtype) - 1) * 3e4)[:, None, None, :]
        if attention_bias is not None:  # [B, 1, L, L]
            bias = attention_bias if bias is None else bias + attention_bias
        if timed:
            n = c["time_embedding_size"] // 2
            frequencies = torch.exp(-math.log(1e4) * torch.arange(n, dtype=torch.float64) / max(n - 1, 1)).to(x.dtype)
            angle = (timesteps[:, None] * 1000) * frequencies
            cond = linear("time.down", F.silu(linear("time.up", torch.cat([angle.sin(), angle.cos()], -1)))).sigmoid()

        def modulation(name, k):
            return linear(name, cond)[:, None].chunk(k, -1)

        for i in range(c["num_hidden_layers"]):
            p = f"layers.{i}."
            m = modulation(p + "modulation", 6) if timed else None
            y = norm(p + "attention.norm", x)
            if timed:
                y = y * (1 + m[1]) + m[0]
            q, k, v = (linear(p + "attention." + s, y).view(B, L, H, dh).transpose(1, 2) for s in "qkv")
            if c["positions"] == "rope":
                q, k = rotate(q, cos, sin), rotate(k, cos, sin)
            o = F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).reshape(B, L, d)
            o = linear(p + "attention.output", o)
            x = x + (o * m[2] if timed else o)
            y = norm(p + "mlp.norm", x)
            if timed:
                y = y * (1 + m[4]) + m[3]
            y = linear(p + "mlp.down", activation(p + "mlp", y))
            x = x + (y * m[5] if timed else y)
        x = norm("norm", x)
        if timed:
            shift, scale = modulation("norm.modulation", 2)
            x = x * (1 + scale) + shift
        def score(name):
            return linear(name + ".down", F.gelu(linear(name + ".up", x)))

        def rate(name):  # [B, L]
            return (16 * torch.tanh(score(name)[..., 0] / 16)).exp()

        if c.get("head") == "order":
            return {"order": score("order")}
        logits = F.linear(x, W["embeddings.tokens" if c["tie_word_embeddings"] else "head.weight"])
        if c.get("gaps") != "eos":
            return logits
        left = rate("insertion")  # of the gaps before each position
        if attention_mask is not None:
            left = left * attention_mask
        out = {"logits": logits, "insertion_rate": F.pad(left, (0, 1))}
        if c.get("unmask_rate"):
            out["unmask_rate"] = rate("unmask")
        return out

    return forward
