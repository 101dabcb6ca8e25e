"""The framework's transformer in PyTorch, written as its users write it: F.linear with its bias, fused attention
(scaled_dot_product_attention). `config` is config.json's, `weights` are tensors under the names of model.safetensors.
"""
import torch
import torch.nn.functional as F


class Network:
    def __init__(self, config, weights, length):
        self.c, self.w = config, weights
        d, self.heads = config["hidden_size"], config["num_attention_heads"]
        device = next(iter(weights.values())).device
        if config["positions"] == "rope":
            half = d // self.heads // 2
            angle = torch.arange(length, dtype=torch.float64)[:, None] * config["rope_base"] ** -(torch.arange(half, dtype=torch.float64) / half)
            self.cos = torch.cat([angle.cos()] * 2, -1).float().to(device)  # [L, dh]
            self.sin = torch.cat([angle.sin()] * 2, -1).float().to(device)
        if self.timed:
            n = config["time_embedding_size"] // 2
            self.frequencies = 1000 * torch.exp(-torch.log(torch.tensor(1e4)) * torch.arange(n) / max(n - 1, 1)).to(device)

    @property
    def timed(self):
        return self.c.get("time") == "adaln"

    def linear(self, x, name):
        return F.linear(x, self.w[name + ".weight"], self.w.get(name + ".bias"))

    def norm(self, x, name):  # without parameters of its own where time scales and shifts
        return F.layer_norm(x, x.shape[-1:], self.w.get(name + ".weight"), self.w.get(name + ".bias"), self.c["layer_norm_eps"])

    def rotate(self, x):  # [B, H, L, dh]
        a, b = x.chunk(2, -1)
        l = x.shape[2]
        return x * self.cos[:l] + torch.cat([-b, a], -1) * self.sin[:l]

    def modulated(self, x, name, shift, scale):
        y = self.norm(x, name)
        return y if shift is None else y * (1 + scale) + shift

    def hidden(self, ids, attention=None, time=None):  # [B, L], [B, L] or none, [B] or none -> [B, L, d] after the last norm
        c, w = self.c, self.w
        b, l = ids.shape
        split = lambda x: x.view(b, l, self.heads, -1).transpose(1, 2)
        x = F.embedding(ids, w["embeddings.tokens"])
        tables = c.get("position_tables")
        if tables:
            x = x + sum(w["embeddings.positions." + t["name"]][t["index"]] for t in tables)
        see = None if attention is None else attention.bool()[:, None, None, :]
        if self.timed:
            angle = time[:, None] * self.frequencies
            t = torch.cat([angle.sin(), angle.cos()], 1)
            self.cond = torch.sigmoid(self.linear(F.silu(self.linear(t, "time.up")), "time.down"))
        vectors = lambda name, k: self.linear(self.cond, name)[:, None].chunk(k, -1) if self.timed else [None] * k
        act = {"gelu": F.gelu, "silu": F.silu}[c["activation"]]
        for i in range(c["num_hidden_layers"]):
            p = f"layers.{i}."
            m = vectors(p + "modulation", 6)
            y = self.modulated(x, p + "attention.norm", m[0], m[1])
            q, k, v = (split(self.linear(y, p + "attention." + part)) for part in "qkv")
            if c["positions"] == "rope":
                q, k = self.rotate(q), self.rotate(k)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=see).transpose(1, 2).reshape(b, l, -1)
            y = self.linear(y, p + "attention.output")
            x = x + (y if m[2] is None else y * m[2])
            y = self.modulated(x, p + "mlp.norm", m[3], m[4])
            y = self.linear(act(self.linear(y, p + "mlp.up")), p + "mlp.down")
            x = x + (y if m[5] is None else y * m[5])
        return self.modulated(x, "norm", *vectors("norm.modulation", 2))

    def logits(self, h):  # [B, L, d] -> [B, L, V]
        return F.linear(h, self.w["head.weight"])

    def score(self, h, name):  # [B, L, d] -> [B, L, n]
        return self.linear(F.gelu(self.linear(h, name + ".up")), name + ".down")

    def gaps(self, h, attention):  # multipliers [B, L] of the gaps before each position
        return torch.exp(16 * torch.tanh(self.score(h, "insertion")[..., 0] / 16)) * attention
