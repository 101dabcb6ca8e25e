import sys

from compare import compare, missing

try:
    import torch
except ImportError as error:
    missing(error)


def main(folder, expected):
    sys.path.insert(0, folder)
    from denoiser import load

    compare(load(folder), expected, f"PyTorch {torch.__version__}")


main(*sys.argv[1:])
