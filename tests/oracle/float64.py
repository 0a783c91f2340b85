"""Originals in float64. Some of their operations use float32 for every type of the model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional

from random_inputs import IGNORED


def double_of(family: str) -> torch.dtype:
    """The original of Transformer-XL has masks only in float32."""
    return torch.float32 if family == "transfo-xl" else torch.float64


@contextmanager
def in_float64() -> Iterator[None]:
    """Conversions to float32, as in norms, softmaxes and sines, give float64."""
    to, narrow, softmax = torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax

    def wide(value: Any) -> Any:
        return torch.float64 if value is torch.float32 else value

    def to_wide(tensor: torch.Tensor, *args: Any, **more: Any) -> torch.Tensor:
        return to(tensor, *map(wide, args), **{name: wide(value) for name, value in more.items()})

    def wide_softmax(x: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> torch.Tensor:
        return softmax(x, dim, _stacklevel, dtype=wide(dtype))

    torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax = to_wide, torch.Tensor.double, wide_softmax  # type: ignore[assignment]
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
        torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax = to, narrow, softmax  # type: ignore[assignment]


def make_exact(model: Any) -> None:
    """Makes an original compute in float64 what it always computes in float32."""
    family = getattr(getattr(model, "config", None), "model_type", "")
    if family == "gpt2":
        model.loss_function = causal_loss
        for block in getattr(model, "transformer", model).h:
            block.attn.reorder_and_upcast_attn = False  # the same in exact arithmetic
    if family == "vision-encoder-decoder":
        model.loss_function = causal_loss
    if family == "xlnet":  # its two streams need one type
        body = getattr(model, "transformer", model)
        encode = body.relative_positional_encoding
        body.relative_positional_encoding = lambda *sizes, **more: encode(*sizes, **more).to(torch.float64)


def causal_loss(logits: torch.Tensor, labels: torch.Tensor, **_: object) -> torch.Tensor:
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)
