"""Rotations that depend on the length of a text (dynamic, longrope), text by text, as attend computes them.

The originals use the longest text of a batch, padding included, and for dynamic that of earlier calls too.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from common import Tensors


def reads_padding(labels: torch.Tensor | None, mask: torch.Tensor, *, next_token: bool) -> bool:
    """Does a loss over tokens read padding? Then attend computes padding too, as part of the text."""
    if labels is None or labels.shape != mask.shape or labels.is_floating_point():
        return False
    counted = labels >= 0
    if not next_token:
        return bool((counted & ~mask).any())
    return bool((counted[:, 1:] & ~(mask[:, :-1] & mask[:, 1:])).any())


def text_lengths(inputs: Tensors, *, next_token: bool) -> list[int]:
    """The last position of each row, plus one."""
    ids = inputs["input_ids"]
    mask = inputs.get("attention_mask", torch.ones_like(ids)).bool()
    if "start_positions" in inputs or reads_padding(inputs.get("labels"), mask, next_token=next_token):
        mask = torch.ones_like(mask)
    positions = inputs.get("position_ids", torch.arange(ids.shape[1])).expand_as(ids)
    return [int(n) for n in positions.masked_fill(~mask, 0).amax(1) + 1]


@contextmanager
def rotation_by_text(model: Any, inputs: Tensors) -> Iterator[None]:
    """Changes the original while it is open, if its rotation depends on lengths."""
    changed = [each for each in model.modules() if getattr(each, "rope_type", "") in ("dynamic", "longrope")]
    if changed:
        lengths = text_lengths(inputs, next_token=model.config.architectures[0].endswith("ForCausalLM"))
    for module in changed:
        module.forward = rotating(module, lengths)
    try:
        yield
    finally:
        for module in changed:
            del module.forward


def rotating(module: Any, lengths: list[int]) -> Any:
    turn, known = inspect.unwrap(type(module).forward), module.original_inv_freq

    @torch.no_grad()
    def forward(x: torch.Tensor, position_ids: torch.Tensor) -> tuple[torch.Tensor, ...]:
        parts = []
        for row, length in enumerate(lengths):
            frequencies, _ = module.rope_init_fn(module.config, x.device, seq_len=length)
            module.inv_freq = frequencies.to(known.dtype)
            parts.append(turn(module, x[row : row + 1], position_ids.expand(len(lengths), -1)[row : row + 1]))
        return tuple(torch.cat(part) for part in zip(*parts))

    return forward
