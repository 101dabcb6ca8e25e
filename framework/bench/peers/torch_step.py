"""Peer: the same gradient step in PyTorch eager mode. Usage: torch_step.py DIR THREADS, DIR as train_setting.go writes it.

The network is written as its users write it: F.linear with its bias, fused attention (scaled_dot_product_attention), fused
AdamW, clip_grad_norm_ over all tensors at once. Every line of the standard input takes a step.
"""
import json
import sys
import time

import numpy as np

try:
    import torch
    import torch.nn.functional as F
except ImportError as e:
    print(json.dumps({"missing": str(e)}))
    sys.exit()


def resident(key):
    try:
        with open("/proc/self/status") as f:
            return next((float(line.split()[1]) / 1024 for line in f if line.startswith(key)), 0)
    except OSError:
        return 0


class Network:
    def __init__(self, c, w, length):
        self.c, self.w = c, w
        d, self.heads = c["hidden_size"], c["num_attention_heads"]
        if c["positions"] == "rope":
            half = d // self.heads // 2
            angle = torch.arange(length, dtype=torch.float64)[:, None] * c["rope_base"] ** -(torch.arange(half, dtype=torch.float64) / half)
            self.cos = torch.cat([angle.cos()] * 2, -1).float()  # [L, dh]
            self.sin = torch.cat([angle.sin()] * 2, -1).float()

    def rotate(self, x):  # [B, H, L, dh]
        a, b = x.chunk(2, -1)
        return x * self.cos + torch.cat([-b, a], -1) * self.sin

    def __call__(self, ids):  # [B, L] -> [B, L, V]
        c, w = self.c, self.w
        d, eps = c["hidden_size"], c["layer_norm_eps"]
        b, l = ids.shape
        linear = lambda x, name: F.linear(x, w[name + ".weight"], w[name + ".bias"])
        norm = lambda x, name: F.layer_norm(x, (d,), w[name + ".weight"], w[name + ".bias"], eps)
        split = lambda x: x.view(b, l, self.heads, -1).transpose(1, 2)
        x = F.embedding(ids, w["embeddings.tokens"])
        tables = c.get("position_tables")
        if tables:
            x = x + sum(w["embeddings.positions." + t["name"]][t["index"]] for t in tables)
        for i in range(c["num_hidden_layers"]):
            p = f"layers.{i}."
            y = norm(x, p + "attention.norm")
            q, k, v = (split(linear(y, p + "attention." + part)) for part in "qkv")
            if c["positions"] == "rope":
                q, k = self.rotate(q), self.rotate(k)
            y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, l, d)
            x = x + linear(y, p + "attention.output")
            y = F.gelu(linear(norm(x, p + "mlp.norm"), p + "mlp.up"))
            x = x + linear(y, p + "mlp.down")
        return F.linear(norm(x, "norm"), w["head.weight"])


class Step:
    def __init__(self, dir):
        with open(dir + "/setting.json") as f:
            s = json.load(f)
        load = lambda name, kind, *shape: torch.from_numpy(np.fromfile(f"{dir}/{name}", kind).reshape(shape))
        b, l = s["rows"], s["length"]
        flat = load("params.f32", np.float32, -1)
        self.params, decay, rest = {}, [], []
        for p in s["parameters"]:
            name, n = p["name"].removeprefix("denoiser."), int(np.prod(p["shape"]))
            t = flat[p["offset"]:p["offset"] + n].reshape(p["shape"]).clone().requires_grad_()
            self.params[name] = t
            (decay if p["decay"] else rest).append(t)
        self.network = Network(s["network"], self.params, l)
        self.tokens, self.u, self.time = load("tokens.i64", np.int64, b, l), load("u.f32", np.float32, b, l), load("time.f32", np.float32, b, 1)
        self.mask, self.eps, self.clip = s["mask"], s["eps"], s["clip"]
        self.suppress = torch.zeros(s["network"]["vocab_size"])
        self.suppress[self.mask] = -1e9
        a = s["adam"]
        self.optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": a["weight_decay"]}, {"params": rest, "weight_decay": 0}],
                                           lr=s["rate"], betas=(a["beta1"], a["beta2"]), eps=a["epsilon"], fused=True)

    def loss(self):  # MD4, linear schedule: w(t) nll of masked tokens, by token
        u = self.eps + (1 - 2 * self.eps) * self.time
        masked = self.u < u
        logits = self.network(self.tokens.masked_fill(masked, self.mask)) + self.suppress
        nll = F.cross_entropy(logits.flatten(0, 1), self.tokens.flatten(), reduction="none").view_as(masked)
        return ((1 - 2 * self.eps) / u * masked * nll).sum() / masked.numel()

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.params.values(), self.clip, foreach=True)
        self.optimizer.step()
        return loss.item()


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    before = resident("VmRSS:")
    try:  # forget the peak that importing took
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass
    step = Step(sys.argv[1])
    print(json.dumps({"peer": f"torch {torch.__version__} eager"}), flush=True)
    for line in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        loss = step()
        ms, used = (time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3
        print(json.dumps({"ms": ms, "cpu": used, "loss": loss, "peak": resident("VmHWM:") - before}), flush=True)
