import json
import sys
import warnings

from compare import compare, missing

try:
    import torch
    import transformers
except ImportError as error:
    missing(error)


def main(folder, expected):
    warnings.simplefilter("ignore")
    transformers.utils.logging.set_verbosity_error()
    with open(f"{folder}/config.json", encoding="utf-8") as file:
        config = json.load(file)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False)  # it runs no code of the folder
    if tokenizer.mask_token_id != config["mask_token_id"]:
        sys.exit(f"tokenizer.mask_token_id is {tokenizer.mask_token_id}, expected {config['mask_token_id']}")
    auto = transformers.AutoModel if "AutoModel" in config["auto_map"] else transformers.AutoModelForMaskedLM
    model = auto.from_pretrained(folder, trust_remote_code=True)

    @torch.inference_mode()
    def answer(input_ids, attention_mask, timesteps):
        times = {} if timesteps is None else {"timesteps": torch.from_numpy(timesteps)}
        given = model(torch.from_numpy(input_ids), attention_mask=torch.from_numpy(attention_mask), **times)
        return {name: value.numpy() for name, value in given.items() if value is not None}

    compare(answer, expected, f"transformers {transformers.__version__}, PyTorch {torch.__version__}")


main(*sys.argv[1:])
