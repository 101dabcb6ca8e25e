"""A training run in PyTorch: the trainers md4 and papl on what training.WriteFeeds wrote down, with the network's twin.

    run = Run("DIR")                   # with dtype=torch.float64 for the arithmetic of double precision
    losses = run.train()               # of every step
    nats = run.evaluate()              # [rows]: samples of the bound in nats, and counts of free tokens

python run.py DIR prints a line of JSON for every step, {"step", "loss"}, and one for the evaluation, {"nats", "tokens"}.
"""
import json
import pathlib
import sys

import numpy as np
import torch
import torch.nn.functional as F

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "network" / "testdata"))
import twin as network  # noqa: E402, of framework/network

TYPES = {"i64": np.int64, "f32": np.float32, "u8": np.uint8}


class Run:
    def __init__(self, dir, dtype=torch.float32):
        self.dir, self.dtype = pathlib.Path(dir), dtype
        self.feeds = f = json.loads((self.dir / "feeds.json").read_text())
        self.about = a = f["about"]
        flat = torch.from_numpy(np.fromfile(self.dir / "params.f32", np.float32)).to(dtype)
        self.params, decay, rest = {}, [], []
        for p in f["parameters"]:
            t = flat[p["offset"]:p["offset"] + int(np.prod(p["shape"]))].reshape(p["shape"]).clone().requires_grad_()
            self.params[p["name"].removeprefix("denoiser.")] = t
            (decay if p["decay"] else rest).append(t)
        o = f["adam"]
        self.optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": o["weight_decay"]}, {"params": rest, "weight_decay": 0}],
                                           lr=0, betas=(o["beta1"], o["beta2"]), eps=o["epsilon"])
        self.denoiser = network.build(a["network"], self.params)
        self.suppress = torch.zeros(a["network"]["vocab_size"], dtype=dtype)
        self.suppress[a["suppressed"]] = -1e9

    def inputs(self, kind, passes):
        """The inputs of a kind of pass, each [passes, ...]."""
        out = {}
        for path in self.dir.glob(kind + ".*"):
            name, ending = path.name.split(".")[1:]
            out[name] = torch.from_numpy(np.fromfile(path, TYPES[ending])).reshape(passes, -1)
        return out

    def one(self, inputs, n):
        """The inputs of pass n, in their shapes."""
        rows = {k: v[n] for k, v in inputs.items()}
        return {k: v.reshape(-1, 1) if k.startswith("time") else v.reshape(-1, self.feeds["length"]) if v.numel() > 1 else v for k, v in rows.items()}

    def nll(self, x, masked):  # [B, L], nats
        ids = torch.where(masked, self.about["mask"], x["tokens"])
        logits = self.denoiser(ids, attention_mask=x.get("attention_mask")).to(self.dtype) + self.suppress
        # the true token of a position without a mask may be suppressed; its number does not count
        return torch.where(masked, F.cross_entropy(logits.transpose(1, 2), x["tokens"], reduction="none"), 0)

    @staticmethod
    def count(x, time):
        """Free positions, masks and which, for a uniform number of masks (PAPL algorithm 1, lines 3 and 4)."""
        n = x["free"].sum(1, dtype=torch.float32)
        spared = torch.minimum((time[:, 0] * n).floor(), (n - 1).clamp_min(0))
        return n, n - spared, x["rank"] < (n - spared)[:, None]

    def md4(self, x):  # linear schedule, shifted into [eps, 1 - eps]; MD4 equation 5
        eps = 1e-4
        u = ((1 - 2 * eps) * x["time"].double() + eps)
        masked = x["free"].bool() & (x["u"] < u.float())
        weight = ((1 - 2 * eps) / u).to(self.dtype)
        return (weight * self.nll(x, masked)).sum() / x["free"].sum()

    def papl(self, x):  # form paper: (1/n)(1 + alpha w), PAPL equation 7
        alpha, tau = self.about["options"].get("alpha", 1), self.about["options"].get("tau", 1)
        n, k, masked = self.count(x, x["time"])
        nll = self.nll(x, masked)
        w = torch.softmax(torch.where(masked, -nll.detach() / tau, -torch.inf), 1)
        w = torch.where(masked, w, 0)  # also of rows without a mask
        coef = (1 + alpha * w) / k.clamp_min(1).to(self.dtype)[:, None]
        return (coef * nll).sum(1).mean()

    def step(self, x, rate):
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        self.optimizer.zero_grad(set_to_none=True)
        loss = getattr(self, self.about["trainer"])(x)
        loss.backward()
        if self.feeds["clip"] > 0:
            torch.nn.utils.clip_grad_norm_(self.params.values(), self.feeds["clip"])
        self.optimizer.step()
        return loss.item()

    def train(self, said=lambda step, loss: None):
        inputs, losses = self.inputs("train", self.feeds["passes"]), []
        for n, rate in enumerate(self.feeds["rates"]):
            losses.append(self.step(self.one(inputs, n), rate))
            said(n + 1, losses[-1])
        return losses

    @torch.no_grad()
    def evaluate(self):  # the bound with an exact count of masks
        inputs, nats, tokens = self.inputs("eval", self.feeds["eval_passes"]), [], []
        for n in range(self.feeds["eval_passes"]):
            x = self.one(inputs, n)
            free, k, masked = self.count(x, x["time2"] if "time2" in x else x["time"])
            nats.append(free / k.clamp_min(1) * self.nll(x, masked).sum(1))
            tokens.append(free)
        rows = self.feeds["eval_rows"]
        return torch.cat(nats)[:rows], torch.cat(tokens)[:rows]


if __name__ == "__main__":
    torch.set_num_threads(1)
    run = Run(sys.argv[1])
    run.train(lambda step, loss: print(json.dumps({"step": step, "loss": loss}), flush=True))
    nats, tokens = run.evaluate()
    print(json.dumps({"nats": nats.double().sum().item(), "tokens": tokens.sum().item()}), flush=True)
