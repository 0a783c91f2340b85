"""Padding in the original's outputs: zeros in padded positions, and BigBird's positions after the text are cut."""

from __future__ import annotations

import torch

from common import Tensors


def behind_virtual(mask: torch.Tensor | None, length: int) -> torch.Tensor | None:
    """The mask of `length` positions: ones for the virtual tokens before the text, then `mask`."""
    if mask is None or mask.shape[1] >= length:
        return mask
    return torch.cat([mask.new_ones(len(mask), length - mask.shape[1]), mask], 1)


def zero_padding(
    name: str,
    value: torch.Tensor,
    inputs: Tensors,
    encoder_decoder: bool,
    remembered: int | None = None,
    virtual: int = 0,
) -> torch.Tensor:
    """Sets padded positions to zero: rows, and in attentions also columns. `remembered`: the number of the input's first
    positions that its memories contain; None or 0: all. `virtual`: tokens that an adapter puts before a text."""
    field = name.split(".")[0]
    source = inputs.get("attention_mask")
    if "input_mask" in inputs:  # XLNet's, the other way round
        source = (1 - inputs["input_mask"]).long()
    if "lengths" in inputs:
        source = (torch.arange(inputs["input_ids"].shape[-1]) < inputs["lengths"][..., None]).long()
    if source is not None and source.ndim == 3:  # multiple choice: the choices are stored one after another
        source = source.flatten(0, 1)
    if virtual and source is not None:
        source = behind_virtual(source, source.shape[1] + virtual)
    target = inputs.get("decoder_attention_mask") if encoder_decoder else source
    rows = source if field.startswith("encoder_") else target
    columns = source if field == "cross_attentions" else rows
    if field == "cross_attentions" and not encoder_decoder:
        columns = inputs.get("encoder_attention_mask")
    if field == "mems":  # [positions, batch, width], the last positions those of the input
        kept = source.T[: remembered or None] if source is not None else torch.empty(0)
        last = min(len(value), len(kept))
        if last > 0:
            value = value.clone()
            value[-last:] *= kept[-last:, :, None]
    elif field.endswith("attentions"):  # [batch, heads, queries, keys]
        columns = behind_virtual(columns, value.shape[3])
        if rows is not None:
            value = value * rows[:, None, :, None]
        if columns is not None:
            value = value * columns[:, None, None, :]
    elif value.ndim == 4:  # by choice: [questions, choices, positions, width]
        value = value * source.reshape(*value.shape[:3], 1) if source is not None else value
    elif field == "pooler_output" or field.startswith(("start_top_", "end_top_")):  # [batch, width], for any width
        pass
    elif rows is not None and value.shape[:2] == rows.shape:  # [batch, positions, width] or [batch, positions]
        value = value * rows.reshape(rows.shape + (1,) * (value.ndim - 2))
    return value


def without_block_end(name: str, value: torch.Tensor, length: int) -> torch.Tensor:
    """BigBird's states and attentions end with the last block, attend's with the text."""
    if name.startswith("hidden_states."):
        return value[:, :length]
    if name.startswith("attentions."):
        return value[..., :length, :length]
    return value
