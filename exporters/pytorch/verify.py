try:
    import torch
except ImportError as error:
    missing(error)


def main(folder, expected):
    sys.path.insert(0, folder)
    from model import Denoiser

    denoiser = Denoiser.load(folder)

    @torch.inference_mode()
    def answer(input_ids, attention_mask, timesteps):
        times = None if timesteps is None else torch.from_numpy(timesteps)
        given = denoiser(torch.from_numpy(input_ids), torch.from_numpy(attention_mask), times)
        return {name: value.numpy() for name, value in given.items()}

    compare(answer, expected, f"PyTorch {torch.__version__}")


main(*sys.argv[1:])
