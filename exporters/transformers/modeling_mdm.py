"""The networks of model.py as models of Hugging Face's transformers. The names of their parameters are those of model.py."""
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import MaskedLMOutput, ModelOutput

from .configuration_mdm import MdmConfig
from .model import Denoiser


class MdmPreTrainedModel(Denoiser, PreTrainedModel):
    """A denoiser that is loaded, saved and trained as transformers' models are."""

    config_class = MdmConfig
    base_model_prefix = ""
    main_input_name = "input_ids"
    _no_split_modules = ["Layer"]
    _supports_sdpa = True

    def __init__(self, config):
        super().__init__(config.to_dict(), config)
        self.post_init()

    def _init_weights(self, module):
        self.reset_parameters(list(module.parameters(recurse=False)))

    def get_input_embeddings(self):
        """The embedding of tokens as a module: it holds the parameter itself."""
        tokens = self.embeddings.tokens
        return table(nn.Embedding(*tokens.shape, device="meta"), tokens)

    def set_input_embeddings(self, value):
        self.embeddings.tokens = value.weight

    def get_output_embeddings(self):
        """The last layer as a module, or None where it is the embedding."""
        if self.head.weight is None:
            return None
        rows, width = self.head.weight.shape
        out = table(nn.Linear(width, rows, bias=False, device="meta"), self.head.weight)
        out.bias = self.head.bias
        return out

    def set_output_embeddings(self, value):
        self.head.weight, self.head.bias = value.weight, value.bias

    def resize_token_embeddings(self, new_num_tokens=None, *arguments, **options):
        out = super().resize_token_embeddings(new_num_tokens, *arguments, **options)
        bias, V = self.head.bias, len(self.embeddings.tokens)
        if bias is not None and len(bias) != V:  # a tied head's, which transformers does not know of
            self.head.bias = nn.Parameter(F.pad(bias.detach(), (0, V - len(bias))))
        return out


def table(module, weight):
    module.weight = weight
    return module


def token_loss(logits, labels):
    if labels is None:
        return None
    return F.cross_entropy(logits.flatten(0, 1).float(), labels.flatten().to(logits.device), ignore_index=-100)


class MdmTransformerForMaskedLM(MdmPreTrainedModel):
    """Proposes a token for every position."""

    def forward(self, input_ids=None, attention_mask=None, timesteps=None, position_ids=None, labels=None, return_dict=None, **_):
        """With labels [B, L], the loss is the mean cross-entropy of those that are not -100, in nats."""
        logits = super().forward(input_ids, attention_mask, timesteps, position_ids)["logits"]
        out = MaskedLMOutput(loss=token_loss(logits, labels), logits=logits)
        return out.to_tuple() if return_dict is False else out


@dataclass
class InsertionOutput(ModelOutput):
    """What insertion models give."""

    loss: torch.FloatTensor | None = None
    logits: torch.FloatTensor | None = None  # [B, L, V]
    insertion_rate: torch.FloatTensor | None = None  # [B, L + 1], gap i is before position i
    unmask_rate: torch.FloatTensor | None = None  # [B, L], or None


class MdmTransformerForInsertion(MdmPreTrainedModel):
    """Proposes a token for every position, and rates the gaps between them."""

    def forward(self, input_ids=None, attention_mask=None, timesteps=None, position_ids=None, labels=None, return_dict=None, **_):
        """With labels [B, L], the loss is the mean cross-entropy of those that are not -100, in nats; rates have no part in it."""
        given = super().forward(input_ids, attention_mask, timesteps, position_ids)
        out = InsertionOutput(loss=token_loss(given["logits"], labels), **given)
        return out.to_tuple() if return_dict is False else out
