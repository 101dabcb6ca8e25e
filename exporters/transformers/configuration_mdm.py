"""The configuration of masked diffusion models. Its keys are explained at DEFAULTS of model.py."""
from transformers import PretrainedConfig


class MdmConfig(PretrainedConfig):
    model_type = "mdm-transformer"
