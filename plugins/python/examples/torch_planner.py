"""A planner that scores proposals with a PyTorch module: the network of learned_planner.py. It runs where torch is installed."""

import json

import torch
from torch import nn

from learned_planner import WEIGHTS, Learned
from mdmhost_plugin import serve


class Torch(Learned):
    name, summary = "torch", "opens the proposals that a PyTorch module trusts"

    def load(self):
        torch.set_num_threads(1)  # the host keeps the cores busy
        net = nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)).double()
        w = json.loads(WEIGHTS.read_text())  # of your own: torch.load("net.pt", weights_only=True), which runs no code
        state = {"0.weight": w["w1"], "0.bias": w["b1"], "2.weight": [w["w2"]], "2.bias": [w["b2"]]}
        net.load_state_dict({name: torch.tensor(values) for name, values in state.items()})
        net.requires_grad_(False)
        return lambda x: net(torch.from_numpy(x.T)).squeeze(-1).numpy()  # [8, n] -> [n], logits


if __name__ == "__main__":
    serve(Torch)
