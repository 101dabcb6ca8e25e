"""Peer: the loop in PyTorch on a device, eager or compiled. Usage: torch_cuda.py MODEL_DIR DEVICE [BACKEND]

The model directory is one of the framework's networks. The canvas stays on the device; every step has the statistics that the host's
planner has, at all positions, so that no size depends on data. With BACKEND (inductor, whose kernels become CUDA graphs) the step is
compiled for each size. float32 products are computed in float32. It refuses to serve unless its logits agree with ONNX Runtime's on the CPU.
"""
import json
import sys
import time

try:
    import numpy as np
    import onnxruntime as ort
    import torch
    from network import Network
    from safetensors.torch import load_file
    from serve import MASK, canvas, counts
except ImportError as e:
    print(json.dumps({"missing": str(e)}))
    sys.exit()

TOLERANCE = 1e-3


class Loop:
    def __init__(self, path, device, backend):
        with open(path + "/config.json") as f:
            config = json.load(f)
        self.device = device
        self.net = Network(config, load_file(path + "/model.safetensors", device=device), config["max_position_embeddings"])
        self.name = f"torch {torch.__version__} {device} " + ("compiled" if backend else "eager")
        self.check(path)
        if backend:  # one graph for each size
            mode = {"mode": "reduce-overhead"} if backend == "inductor" and device == "cuda" else {}
            self.step = torch.compile(self.step, backend=backend, dynamic=False, **mode)

    def check(self, path):
        session = ort.InferenceSession(path + "/onnx/model.onnx", providers=["CPUExecutionProvider"])
        x = canvas(2, 20)
        x[1, 3:9] = 20 + np.arange(6)
        known = {"input_ids": x, "attention_mask": np.ones_like(x), "position_ids": np.tile(np.arange(20), (2, 1)), "attention_bias": np.zeros((2, 1, 20, 20), np.float32)}
        want = session.run(["logits"], {i.name: known[i.name] for i in session.get_inputs()})[0]
        with torch.inference_mode():
            worst = np.abs(self.bare(torch.from_numpy(x).to(self.device)).cpu().numpy() - want).max()
        if not worst < TOLERANCE:
            sys.exit(f"torch_cuda: logits differ from ONNX Runtime's by {worst}, expected less than {TOLERANCE}")

    def bare(self, x):  # [B, L] -> [B, L, V]
        return self.net.logits(self.net.hidden(x))

    def step(self, x, k, most):  # -> [B, L] with the k surest of each row opened; k is a number on the device, so that one compilation serves all steps
        masked = x == MASK
        z = self.bare(x)
        z[..., MASK] = -torch.inf
        logp = torch.log_softmax(z, -1)
        p = logp.exp()
        top, best = p.topk(2, -1)
        entropy = -(p * logp.clamp_min(-1e30)).sum(-1)
        chosen = logp.gather(-1, best[..., :1])
        at = torch.where(masked, top[..., 0], -1.0).topk(most, -1).indices  # [B, most]
        opens = torch.arange(most, device=x.device) < k
        return x.scatter(1, at, torch.where(opens, best[..., 0].gather(1, at), x.gather(1, at))), entropy, chosen

    @torch.inference_mode()
    def run(self, b, l, steps):
        x = torch.from_numpy(canvas(b, l)).to(self.device)
        openings = counts(l - 2, steps)
        for k in torch.tensor(openings).to(self.device):
            if self.device == "cuda":
                torch.compiler.cudagraph_mark_step_begin()
            x, *statistics = self.step(x, k, max(openings))
            x = x.clone()  # out of the memory of a graph that is replayed
        return x.cpu()


if __name__ == "__main__":
    path, device, backend = (sys.argv[1:] + [""])[:3]
    loop = Loop(path, device, backend)
    print(json.dumps({"peer": loop.name}), flush=True)
    for line in sys.stdin:
        ask = json.loads(line)
        start = time.perf_counter()
        x = loop.run(ask["b"], ask["l"], ask["steps"])
        ms = (time.perf_counter() - start) * 1e3 / ask["steps"]
        assert (x != MASK).all()
        print(json.dumps({"ms": ms}), flush=True)
