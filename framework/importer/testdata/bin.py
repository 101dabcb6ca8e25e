"""Writes albert.bin: the tensors of ../../network/family/testdata/albert as torch.save writes them.   python bin.py"""
import pathlib

import torch
from safetensors.torch import load_file

here = pathlib.Path(__file__).parent
torch.save(load_file(here / "../../network/family/testdata/albert/model.safetensors"), here / "albert.bin")
