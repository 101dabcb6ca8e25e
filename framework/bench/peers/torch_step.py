"""Peer: the same gradient step in PyTorch. Usage: torch_step.py DIR THREADS [DEVICE [BACKEND]], DIR as train_setting.go writes it.

DEVICE is cpu or, for MD4, cuda; with BACKEND, such as inductor, the loss is compiled, else it is eager.

The network is that of network.py; AdamW is fused, clip_grad_norm_ goes over all tensors at once. Every line of the standard
input takes a step.
"""
import json
import sys
import time

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from network import Network
except ImportError as e:
    print(json.dumps({"missing": str(e)}))
    sys.exit()


def resident(key):
    try:
        with open("/proc/self/status") as f:
            return next((float(line.split()[1]) / 1024 for line in f if line.startswith(key)), 0)
    except OSError:
        return 0


class Step:
    """A gradient step; subclasses give the loss."""

    def __init__(self, dir, s):
        self.load = lambda name, kind, *shape: torch.from_numpy(np.fromfile(f"{dir}/{name}", kind).reshape(shape)).to(DEVICE)
        b, l = s["rows"], s["length"]
        flat = self.load("params.f32", np.float32, -1)
        self.params, groups = {}, {}
        for p in s["parameters"]:
            t = flat[p["offset"]:p["offset"] + int(np.prod(p["shape"]))].reshape(p["shape"]).clone().requires_grad_()
            self.params[p["name"]] = t
            groups.setdefault((p["rate"], p["decay"]), []).append(t)
        self.denoiser = Network(s["network"], self.of("denoiser"), l)
        self.tokens, self.time = self.load("tokens.i64", np.int64, b, l), self.load("time.f32", np.float32, b, 1)
        self.mask, self.eps, self.clip = s["mask"], s["eps"], s["clip"]
        self.suppress = torch.zeros(s["network"]["vocab_size"], device=DEVICE)
        self.suppress[s["suppressed"]] = -1e9
        a = s["adam"]
        self.optimizer = torch.optim.AdamW([{"params": t, "lr": s["rate"] * rate, "weight_decay": a["weight_decay"] * decay} for (rate, decay), t in groups.items()],
                                           betas=(a["beta1"], a["beta2"]), eps=a["epsilon"], fused=True)

    def of(self, network):
        return {name.removeprefix(network + "."): t for name, t in self.params.items() if name.startswith(network + ".")}

    def __call__(self):
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.params.values(), self.clip, foreach=True)
        self.optimizer.step()
        return loss.item()


class MD4(Step):
    """The linear schedule: w(t) nll of masked tokens, by token."""

    def __init__(self, dir, s):
        super().__init__(dir, s)
        self.u = self.load("u.f32", np.float32, *self.tokens.shape)

    def loss(self):
        u = self.eps + (1 - 2 * self.eps) * self.time
        masked = self.u < u
        logits = self.denoiser.logits(self.denoiser.hidden(self.tokens.masked_fill(masked, self.mask))) + self.suppress
        nll = F.cross_entropy(logits.flatten(0, 1), self.tokens.flatten(), reduction="none").view_as(masked)
        return ((1 - 2 * self.eps) / u * masked * nll).sum() / masked.numel()


class LoFlexMDM(Step):
    """Centred speeds, frozen b_um, two samples with a leave-one-out baseline, one backward pass (the paper, section 4.4)."""

    limit, centre, l2 = 1.5, 2.0, 0.01

    def __init__(self, dir, s):
        super().__init__(dir, s)
        b, l = self.tokens.shape
        self.order = Network(s["order"], self.of("order"), l)
        q_in, q_um = (self.load(name + ".f32", np.float32, b, 2, l).transpose(0, 1).reshape(2 * b, l) for name in ("q_in_pair", "q_um_pair"))
        self.e_in, self.e_um = -torch.log1p(-q_in), -torch.log1p(-q_um)
        lengths = self.load("lengths.i64", np.int64, b, 1)
        at = torch.arange(l)
        self.real, self.free = at < lengths, at < lengths - 1  # the end is fixed

    def speeds(self):
        s = self.order.score(self.order.hidden(self.tokens, self.real), "order")[..., 0]
        o = self.limit * torch.tanh(s / self.limit) * self.free
        n = self.free.sum(1, keepdim=True).clamp_min(1)
        o = (o - o.sum(1, keepdim=True) / n) * self.free
        return torch.where(self.free, self.centre * o.exp(), 1.0), (o * o).sum(1) / n[:, 0]

    def loss(self):
        b, l = self.tokens.shape
        speed, square = self.speeds()
        speed, free, real, x1 = (x.repeat(2, 1) for x in (speed, self.free, self.real, self.tokens))
        t = self.time.repeat(2, 1)
        u, h = -torch.log1p(-t), 1 / (1 - t[:, 0])
        with torch.no_grad():
            u_in = self.e_in / speed
            dropped = free & (u < u_in)
            masked = free & ~dropped & (u < u_in + self.e_um)
            keep = real & ~dropped
            at = (~keep).to(torch.int8).argsort(dim=1, stable=True)
            n = keep.sum(1, keepdim=True)
            slot = torch.arange(l) < n
            target, hidden = x1.gather(1, at), masked.gather(1, at) & slot
            x = torch.where(slot, torch.where(hidden, self.mask, target), self.mask - 1)
            gap = keep.cumsum(1) - keep.long()
        missing = torch.zeros(2 * b, l + 1).scatter_add(1, gap, speed * dropped)
        state = self.denoiser.hidden(x, slot, t[:, 0])
        nll = F.cross_entropy((self.denoiser.logits(state) + self.suppress).flatten(0, 1), target.flatten(), reduction="none").view(2 * b, l)
        rate = F.pad(self.denoiser.gaps(state, slot), (0, 1))
        ratio = missing.clamp_min(1e-30).log() - rate.clamp_min(1e-9).log()
        divergence = rate + torch.where(missing > 0, missing * (ratio - 1), 0.0)
        rows = h * ((hidden * nll).sum(1) + (divergence * (torch.arange(l + 1) <= n)).sum(1))
        ratio = self.log_p(speed, u, dropped, masked, free)
        (l1, l2), (p1, p2) = rows.view(2, b), ratio.view(2, b)
        surrogate = 0.5 * ((l1 - l2).detach() * (p1 - p2 - (p1 - p2).detach()) + l1 + l2) + self.l2 * square
        return surrogate.sum() / self.free.sum()

    def log_p(self, speed, u, dropped, masked, free):
        drop = -speed * u
        d = (speed - 1).abs() * u
        safe = torch.where(d < 1e-4, 1.0, d)
        mask = speed.log() - speed.clamp_max(1) * u + u.log() + torch.where(d < 1e-4, -d / 2 + d * d / 24, (-torch.expm1(-safe)).log() - safe.log())
        s, p = (speed + 1) * u, speed * u * u
        small = s < 1e-2
        series = p / 2 * (1 - s / 3 + (s * s - p) / 12)
        clean = torch.where(small, series, 1 - drop.exp() - mask.exp()).clamp_min(1e-6).log()
        return (torch.where(dropped, drop, torch.where(masked, mask, clean)) * free).sum(1)


def open_step(dir):
    with open(dir + "/setting.json") as f:
        s = json.load(f)
    return (LoFlexMDM if "order" in s else MD4)(dir, s)


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[2]))
    DEVICE, backend = sys.argv[3:] + ["cpu", ""][len(sys.argv) - 3:]  # float32 products stay float32: TF32 is off by default
    before = resident("VmRSS:")
    try:  # forget the peak that importing took
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass
    step = open_step(sys.argv[1])
    if backend:
        step.loss = torch.compile(step.loss, backend=backend)
    print(json.dumps({"peer": f"torch {torch.__version__} " + ("compiled" if backend else "eager")}), flush=True)
    for line in sys.stdin:
        start, cpu = time.perf_counter(), time.process_time()
        loss = step()
        ms, used = (time.perf_counter() - start) * 1e3, (time.process_time() - cpu) * 1e3
        print(json.dumps({"ms": ms, "cpu": used, "loss": loss, "peak": resident("VmHWM:") - before}), flush=True)
