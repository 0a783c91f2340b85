"""The originals: the classes of transformers, corrected where version 4.57 is wrong, and those that it does not have.

Importing this module corrects transformers and torch.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_attn_mask_utils import AttentionMaskConverter
from transformers.models.xglm import modeling_xglm

import remote_heads

transformers.logging.set_verbosity_error()
# Models this small are slower with more threads. With one thread, sums keep their order.
torch.set_num_threads(1)


def type_as(tensor: torch.Tensor, other: torch.Tensor | None = None, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Transformer-XL of transformers 4.57 calls it with a dtype, which torch does not take."""
    return TYPE_AS(tensor, other) if other is not None else tensor.to(dtype)


TYPE_AS = torch.Tensor.type_as
torch.Tensor.type_as = type_as  # type: ignore[assignment]


def softmax(scores: torch.Tensor, dim: int | None = None, *more: Any, dtype: torch.dtype | None = None, **others: Any) -> torch.Tensor:
    """Some originals always compute in float32. In float32 the lowest float64 is -infinity, and a row that sees nothing is NaN."""
    if scores.dtype == torch.float64:
        dtype = None
    if dim == -1 and scores.isneginf().all(-1).any():
        scores = scores.clamp(min=torch.finfo(scores.dtype).min)
    return SOFTMAX(scores, dim, *more, dtype=dtype, **others)


def causal_mask(shape: Any, dtype: torch.dtype, *more: Any, **others: Any) -> torch.Tensor:
    """The original puts the lowest number of dtype into a tensor of the default type, in which it may be -infinity."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return CAUSAL_MASK(shape, dtype, *more, **others)
    finally:
        torch.set_default_dtype(default)


SOFTMAX = nn.functional.softmax
nn.functional.softmax = softmax  # type: ignore[assignment]
CAUSAL_MASK = AttentionMaskConverter._make_causal_mask
AttentionMaskConverter._make_causal_mask = staticmethod(causal_mask)


def without_linear_biases(self: Any, *arguments: Any) -> Any:
    """Falcon's mask of transformers 4.57 has ALiBi's biases already, which eager attention adds once more."""
    *others, _ = arguments
    return FALCON_MASK(self, *others, None)


FALCON_MASK = transformers.FalconModel._update_causal_mask
transformers.FalconModel._update_causal_mask = without_linear_biases


class XglmTorch:
    """XGLM limits scores by torch.max, which halves the gradient where a score equals the limit. In a row that sees nothing,
    all scores equal it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def max(self, scores: torch.Tensor, lowest: torch.Tensor) -> torch.Tensor:
        return scores.clamp(min=lowest.item())


modeling_xglm.torch = XglmTorch()


class TransfoXLLMHeadModel(transformers.TransfoXLLMHeadModel, transformers.GenerationMixin):
    """Declares that it generates and that its memories are not a cache. transformers 4.57 declares neither."""

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False


class AttendGPT3Config(transformers.GPT2Config):
    model_type = "attend-gpt3"


class AttendGPT3LMHeadModel(transformers.GPT2LMHeadModel):
    """GPT-2 in which every second layer sees only the last `window_size` tokens. transformers has no such model."""

    config_class = AttendGPT3Config

    def __init__(self, config: AttendGPT3Config) -> None:
        super().__init__(config)
        for block in self.transformer.h[1::2]:
            block.attn.forward = banded(block.attn.forward, config.window_size)


def banded(attend: Any, window: int) -> Any:
    def forward(hidden_states: torch.Tensor, *arguments: Any, attention_mask: torch.Tensor | None, **more: Any) -> Any:
        length = hidden_states.shape[1]
        lowest = torch.finfo(hidden_states.dtype).min
        unseen = torch.ones(length, length, dtype=torch.bool).tril(-window)
        if attention_mask is None:
            attention_mask = hidden_states.new_zeros(1, 1, length, length).masked_fill(unseen.new_ones(length, length).triu(1), lowest)
        return attend(hidden_states, *arguments, attention_mask=attention_mask.masked_fill(unseen, lowest), **more)

    return forward


transformers.AutoConfig.register("attend-gpt3", AttendGPT3Config)

OWN_HEADS: dict[str, type] = {
    "AttendGPT3LMHeadModel": AttendGPT3LMHeadModel, "TransfoXLLMHeadModel": TransfoXLLMHeadModel, **remote_heads.HEADS,
}  # fmt: skip


def head_class(name: str) -> Any:
    return OWN_HEADS.get(name) or getattr(transformers, name)


def load_model(directory: Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """The original that all checks compare with: eager attention, no dropout."""
    config = transformers.AutoConfig.from_pretrained(directory)
    head = head_class(config.architectures[0])
    model, info = head.from_pretrained(
        directory, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    wrong = [info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs") if info[key]]
    if wrong:
        raise RuntimeError(f"{directory}: transformers cannot load this as {head.__name__}: {wrong}")
    return model.to(dtype).eval()
