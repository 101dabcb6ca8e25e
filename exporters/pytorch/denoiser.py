"""The network in PyTorch, for scripts that know nothing but numpy."""
import torch

from model import Denoiser


def load(folder, device="cpu"):
    """denoise(ids, seen, times), of int64 [B, L] tokens, int64 [B, L] with 0 at padding, float32 [B] in [0, 1]: the outputs by name."""
    network = Denoiser.load(folder, device=device)

    @torch.inference_mode()
    def denoise(ids, seen, times=None):
        given = [None if x is None else torch.from_numpy(x).to(device) for x in (ids, seen, times)]
        return {name: x.float().cpu().numpy() for name, x in network(*given).items()}

    denoise.timed = network.time is not None  # else times change nothing
    return denoise
