"""Trains the model on, on one machine or many: `torchrun --nproc-per-node 2 train.py --data rows.txt --out trained --steps 1000`.

--data is a text file with a row a line, or .jsonl with {"text": ...} or {"tokens": [...]}, and "prompt" for what comes before the text and is
given. Masked models learn by MD4's bound with an exact count of masks (Shi et al. 2024), insertion models by FlexMDM's (Kim, Lee et al. 2026).
Noise and order of the data depend on the seed and the row's place in the global batch alone: however many processes share the
batch, the loss is the same. The same command goes on from the last checkpoint in --out, which becomes a folder like this one.
"""
import argparse
import contextlib
import hashlib
import json
import math
import os
import shutil
from types import SimpleNamespace as State

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from safetensors.torch import save_file

from model import Denoiser
from noise import uniforms
from rows import HERE, Rows

TIME, RANK, INSERTED, UNMASKED = range(8, 12)  # purposes of noise, apart from those of sampling


def read(path, rows):
    """Lists of (ids, fixed). Special tokens and prompts are fixed: never masked."""
    out, problems = [], []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not line.strip():
                continue
            record = json.loads(line) if path.endswith(".jsonl") else {"text": line}
            if "tokens" in record:
                ids, given, end = record["tokens"], 0, 0
            else:
                prompt = rows.prefix + rows.encode(record.get("prompt", ""))
                ids, given, end = prompt + rows.encode(record["text"]) + rows.suffix, len(prompt), len(rows.suffix)
            if not ids or rows.cap and len(ids) > rows.cap or rows.fixed_length and len(ids) != rows.cap or rows.mask in ids:
                problems.append(number)
            at = np.arange(len(ids))
            out.append((np.array(ids), (at < given) | (at >= len(ids) - end)))
    if problems or not out:
        lines = ", ".join(map(str, problems[:10])) or "all"
        raise SystemExit(f"{path}: lines {lines}: expected rows {'of' if rows.fixed_length else 'of up to'} {rows.cap} positions without masks; mend or leave them out")
    return out


def time_of(schedule, u):
    """The time at which a fraction u of the tokens is masked."""
    eps, kind = schedule.get("eps", 0), schedule.get("kind", "linear")
    u = min(max((u - eps) / (1 - 2 * eps), 0), 1)
    if kind == "polynomial":
        return u ** (1 / schedule["c"])
    if kind == "cosine":
        return 2 / math.pi * math.asin(u)
    if kind == "geometric":
        b = -math.log1p(-min(u, 1 - 2**-53))
        return min(math.log(max(b / schedule["b_min"], 1)) / math.log(schedule["b_max"] / schedule["b_min"]), 1)
    return u


def masked(ids, fixed, t, noise, rows):
    """k of the N free positions masked, k uniform on 1..N, weighted with N/k: the mean is the bound of every schedule (MD4)."""
    free = np.flatnonzero(~fixed)
    N = len(free)
    k = N - min(int(t * N), max(N - 1, 0))
    hidden = np.zeros(len(ids), bool)
    hidden[free[np.argsort(noise(RANK)[free], kind="stable")[:k]]] = True
    time = time_of(rows.manifest.get("schedule", {}), k / max(N, 1))
    time = time if rows.manifest.get("time", {}).get("noise_at", 1) else 1 - time
    return State(ids=np.where(hidden, rows.mask, ids), target=ids, hidden=hidden, weight=N / max(k, 1), time=time, gaps=None)


def inserted(ids, fixed, t, noise, rows, eps=1e-4, stretch=2):
    """Each free position dropped, masked or clean at the clock u = U(t); what is dropped counts in its gap (FlexMDM)."""
    a = rows.manifest.get("schedule", {}).get("a") or 1.0
    t = min(max(t, eps), 1 - eps)
    u, weight = -stretch * math.log1p(-(t**a)), stretch * a * t ** (a - 1) / (1 - t**a)  # times where the clock shows twice as much
    time = (-math.expm1(-u)) ** (1 / a)
    arrives = -np.log1p(-noise(INSERTED))
    opens = arrives - np.log1p(-noise(UNMASKED))
    present = fixed | (u >= arrives)
    hidden = (~fixed & (u < opens))[present]
    gaps = np.bincount(np.cumsum(present)[~present], minlength=present.sum() + 1)  # [n + 1] dropped before each slot, and behind the last
    time = 1 - time if rows.manifest.get("time", {}).get("noise_at") else time
    return State(ids=np.where(hidden, rows.mask, ids[present]), target=ids[present], hidden=hidden, weight=weight, time=time, gaps=gaps)


def divergence(p, q):
    """q - p + p log(p / q), and q where p is 0."""
    return q + torch.where(p > 0, p * (p.clamp(min=1e-30).log() - q.clamp(min=1e-9).log() - 1), 0)


def loss_of(model, samples, rows, device):
    """The sum over the samples of weighted bounds, in nats."""
    L = max(len(s.ids) for s in samples)
    pad = lambda key, fill, more=0: torch.tensor(np.array([np.pad(getattr(s, key), (0, L + more - len(getattr(s, key))), constant_values=fill) for s in samples]), device=device)
    column = lambda key: torch.tensor([getattr(s, key) for s in samples], dtype=torch.float32, device=device)
    ids, target, hidden, seen = pad("ids", rows.pad), pad("target", rows.pad), pad("hidden", False), torch.zeros(len(samples), L, dtype=torch.long, device=device)
    for i, s in enumerate(samples):
        seen[i, : len(s.ids)] = 1
    out = model(ids, seen, timesteps=column("time") if rows.config.get("time") == "adaln" else None)
    bound = F.cross_entropy(out["logits"].float().transpose(1, 2), target, reduction="none")
    if "unmask_rate" in out:
        bound = bound + divergence(torch.ones_like(bound), out["unmask_rate"].float())
    bound = (bound * hidden).sum(1)
    if "insertion_rate" in out:
        real = F.pad(seen, (1, 0), value=1)  # gaps 0 to n
        bound = bound + (divergence(pad("gaps", 0, 1).float(), out["insertion_rate"].float()) * real).sum(1)
    return (bound * column("weight")).sum()


def rate(a, step):
    """The learning rate of a step, from 1: a linear warm-up, then the cosine to 0."""
    if step < a.warmup:
        return a.lr * step / a.warmup
    return a.lr / 2 * (1 + math.cos(math.pi * (step - a.warmup) / max(a.steps - a.warmup, 1)))


def replace(path, write):
    """Writes a file under another name first, so that it is whole or not there."""
    write(path + ".part")
    os.replace(path + ".part", path)


def save(folder, weights, rows, a):
    """A folder like this one with other parameters."""
    for name in os.listdir(HERE):
        if os.path.isfile(os.path.join(HERE, name)) and name not in ("model.safetensors", "mdm.json", "config.json", "export.json"):
            shutil.copy2(os.path.join(HERE, name), folder)
    path = os.path.join(folder, "model.safetensors")
    replace(path, lambda p: (save_file({k: v.contiguous().cpu() for k, v in weights.items()}, p, {"format": "pt"}), os.chmod(p, 0o644)))
    manifest = {**rows.manifest, "trainer": {"name": "flexmdm" if rows.insertion else "md4", "steps": a.steps, **({} if rows.insertion else {"options": {"estimator": "count"}})}}
    manifest["digests"] = {name: hashlib.sha256(open(os.path.join(folder, name), "rb").read()).hexdigest() for name in ("model.safetensors", "tokenizer.json")}
    for name, content in (("config.json", {**rows.config, "dtype": "float32"}), ("mdm.json", manifest)):
        replace(os.path.join(folder, name), lambda p: open(p, "w", encoding="utf-8").write(json.dumps(content, indent=2, ensure_ascii=False) + "\n"))


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--data", required=True, help="rows to learn, .txt or .jsonl")
    p.add_argument("--out", required=True, help="folder of the checkpoint and of the trained model")
    p.add_argument("--steps", type=int, default=1000)
    p.add_argument("--batch", type=int, default=64, help="rows of a step, over all processes")
    p.add_argument("--accumulate", type=int, default=1, help="passes that a process takes for its share of a step")
    p.add_argument("--lr", type=float, default=1e-4, help="largest learning rate of AdamW")
    p.add_argument("--warmup", type=int, default=200, help="steps over which the learning rate rises")
    p.add_argument("--weight-decay", type=float, default=0.03, help="of matrices; norms, biases and embeddings have none")
    p.add_argument("--clip", type=float, default=1.0, help="largest norm of the gradient; 0: no clipping")
    p.add_argument("--ema", type=float, default=0.999, help="decay of the moving average that is saved; 0: none")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--bf16", action="store_true", help="arithmetic in bfloat16, parameters in single precision")
    p.add_argument("--checkpoint-every", type=int, default=500)
    p.add_argument("--log-every", type=int, default=10)
    return p.parse_args()


def main():
    a, rows = arguments(), Rows(HERE)
    if rows.manifest.get("schedule", {}).get("kind") == "per_token":
        raise SystemExit("mdm.json: schedule per_token: speeds of tokens are learned with the network, which this script does not do; use mdmhost train --trainer genmd4")
    world, rank, local = (int(os.environ.get(name, default)) for name, default in (("WORLD_SIZE", 1), ("RANK", 0), ("LOCAL_RANK", 0)))
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    if cuda:
        torch.cuda.set_device(device)
    if world > 1:
        dist.init_process_group("nccl" if cuda else "gloo")
    if os.path.realpath(a.out) == HERE:
        raise SystemExit(f"--out {a.out}: is the folder of the model that is trained on; give another")
    if a.batch % (world * a.accumulate):
        raise SystemExit(f"--batch {a.batch}: expected a multiple of {world} processes x {a.accumulate} passes")
    data = read(a.data, rows)
    same = {**{k: v for k, v in vars(a).items() if k not in ("out", "data", "accumulate", "checkpoint_every", "log_every")},
            "rows": hashlib.sha256(repr([(ids.tolist(), fixed.tolist()) for ids, fixed in data]).encode()).hexdigest()}
    os.makedirs(a.out, exist_ok=True)
    checkpoint, step = os.path.join(a.out, "checkpoint.pt"), 0

    model = Denoiser.load(HERE, device=device).train()
    decay = [p for name, p in model.named_parameters() if p.ndim == 2 and name.endswith("weight")]
    rest = [p for name, p in model.named_parameters() if not (p.ndim == 2 and name.endswith("weight"))]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": a.weight_decay}, {"params": rest, "weight_decay": 0.0}], lr=a.lr, betas=(0.9, 0.99))
    average = {name: p.detach().clone() for name, p in model.named_parameters()}
    if os.path.exists(checkpoint):
        c = torch.load(checkpoint, map_location=device, weights_only=True)
        if odd := [k for k in same if c["same"].get(k) != same[k]]:
            raise SystemExit(f"{checkpoint}: was made with other {', '.join(odd)}; give the same, or another --out")
        model.load_state_dict(c["model"])
        optimizer.load_state_dict(c["optimizer"])
        average, step = c["average"], c["step"]
    network = torch.nn.parallel.DistributedDataParallel(model, device_ids=[local] if cuda else None) if world > 1 else model

    corrupt = inserted if rows.insertion else masked
    share = a.batch // world  # rows of this process
    while step < a.steps:
        offset, samples, tokens = uniforms(a.seed, 0, step, 1, TIME)[0], [], 0
        for i in range(a.batch):
            epoch, at = divmod(step * a.batch + i, len(data))
            if at == 0 or i == 0:
                order = np.random.default_rng((a.seed, epoch)).permutation(len(data))
            ids, fixed = data[order[at]]
            tokens += int((~fixed).sum())
            if rank * share <= i < (rank + 1) * share:
                samples.append(corrupt(ids, fixed, (offset + i / a.batch) % 1, lambda purpose: uniforms(a.seed, i, step, len(ids), purpose), rows))
        total = torch.zeros((), device=device)
        for n in range(a.accumulate):
            last = n == a.accumulate - 1
            with contextlib.nullcontext() if last or world == 1 else network.no_sync(), torch.autocast(device.type, torch.bfloat16, enabled=a.bf16):
                loss = loss_of(network, samples[n * share // a.accumulate : (n + 1) * share // a.accumulate], rows, device) / max(tokens, 1)  # nats a free token
                (loss * world).backward()  # gradients are averaged over processes
            total += loss.detach()
        if a.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), a.clip)
        for group in optimizer.param_groups:
            group["lr"] = rate(a, step + 1)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        with torch.no_grad():
            keep = min(a.ema, step / (step + 10))  # a short memory in the first steps
            for name, p in model.named_parameters():
                average[name].lerp_(p, 1 - keep)
        if world > 1:
            dist.all_reduce(total)
        step += 1
        if rank == 0 and (step % a.log_every == 0 or step == a.steps):
            print(json.dumps({"step": step, "loss": total.item(), "lr": rate(a, step)}), flush=True)
        if rank == 0 and (step % a.checkpoint_every == 0 or step == a.steps):
            replace(checkpoint, lambda p: torch.save({"same": same, "model": model.state_dict(), "optimizer": optimizer.state_dict(), "average": average, "step": step}, p))
    if rank == 0:
        save(a.out, average, rows, a)
    if world > 1:
        dist.barrier()
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
