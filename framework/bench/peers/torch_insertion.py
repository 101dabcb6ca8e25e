"""Peer: insertion sampling in PyTorch eager mode, with the weights of a model directory. Usage: torch_insertion.py MODEL THREADS

Tau-leaping on the clock's grid as a user would write it (methods/loflexmdm.md, section 4.8): one forward pass over all rows, a draw
for every mask, a Poisson number of new masks for every gap, rows rebuilt with a scatter. It refuses to serve unless its
logits and rates agree with ONNX Runtime's to 1e-4. Every line {"b": rows, "steps": N} of the standard input samples a batch
and answers {"ms": of the batch, "nfe": passes, "tokens": generated}.
"""
import json
import math
import sys
import time

import numpy as np

try:
    import onnxruntime as ort
    import torch
    from network import Network
    from safetensors.torch import load_file
except ImportError as e:
    print(json.dumps({"missing": str(e)}))
    sys.exit()


class Sampler:
    name = f"torch {torch.__version__} eager"

    def __init__(self, dir):
        with open(dir + "/config.json") as f:
            c = json.load(f)
        with open(dir + "/mdm.json") as f:
            m = json.load(f)
        self.cap, self.a = m["length"]["cap"], m["schedule"]["a"]
        self.mask, self.pad, self.eos = c["mask_token_id"], c["pad_token_id"], c["eos_token_id"]
        self.net = Network(c, {k: v.float() for k, v in load_file(dir + "/model.safetensors").items()}, self.cap)
        self.v = c["vocab_size"]
        self.suppress = torch.zeros(self.v)
        self.suppress[[i for i in range(self.v) if i in (self.mask, self.pad, self.eos)]] = -torch.inf
        self.check(dir)

    @torch.inference_mode()
    def forward(self, x, t):  # [B, L], number -> [B, L, V], [B, L]
        see = (x != self.pad).long()
        h = self.net.hidden(x, see, torch.full((len(x),), t))
        return self.net.logits(h), self.net.gaps(h, see)

    def check(self, dir):
        x = torch.full((2, 9), self.mask)
        x[0, 8], x[1, 5], x[1, 6:] = self.eos, self.eos, self.pad
        run = ort.InferenceSession(dir + "/onnx/model.onnx", providers=["CPUExecutionProvider"])
        feeds = {"input_ids": x.numpy(), "attention_mask": (x != self.pad).long().numpy(), "timesteps": np.full(2, 0.3, np.float32)}
        want = run.run(["logits", "insertion_rate"], {i.name: feeds[i.name] for i in run.get_inputs()})
        got = self.forward(x, 0.3)
        real = (x != self.pad).numpy()
        off = lambda a, b: np.abs(a - b) / (1 + np.abs(b))
        worst = max(off(got[0].numpy(), want[0])[real].max(), off(got[1].numpy(), want[1][:, :9]).max())
        if not worst < 1e-4:
            sys.exit(f"torch_insertion: logits and rates differ from ONNX Runtime's by {worst} of their size, expected less than 1e-4")

    @torch.inference_mode()
    def sample(self, b, steps):
        u = torch.arange(steps + 1) / steps * (math.log(steps) + 4)
        times = (-torch.expm1(-u)).pow(1 / self.a).tolist()
        du = float(u[1] - u[0])
        x = torch.full((b, 1), self.eos)
        for k in range(steps):
            logits, rate = self.forward(x, times[k])
            p = torch.softmax(logits + self.suppress, -1)
            masked = x == self.mask
            token = p.view(-1, self.v).multinomial(1).view_as(x)
            if k == steps - 1:
                return torch.where(masked, token, x)
            opened = masked & (torch.rand(x.shape) < -math.expm1(-du))
            x = torch.where(opened, token, x)
            count = torch.poisson(rate * -math.expm1(-du)).long()  # [B, L] before each position
            n = (x != self.pad).sum(1)
            count[n + count.sum(1) > self.cap] = 0
            n = n + count.sum(1)
            if not count.any():
                continue
            l = int(n.max())
            at = torch.arange(x.shape[1]) + count.cumsum(1)
            row = torch.where(torch.arange(l) < n[:, None], self.mask, self.pad)
            real = x != self.pad
            row[torch.arange(b)[:, None].expand_as(x)[real], at[real]] = x[real]
            x = row


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    sampler = Sampler(sys.argv[1])
    print(json.dumps({"peer": sampler.name}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        start = time.perf_counter()
        x = sampler.sample(ask["b"], ask["steps"])
        ms = (time.perf_counter() - start) * 1e3
        tokens = int(((x != sampler.pad) & (x != sampler.eos)).sum())
        print(json.dumps({"ms": ms, "nfe": ask["steps"], "tokens": tokens}), flush=True)
