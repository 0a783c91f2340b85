"""The original's steps of training: the texts of attend's batches, and AdamW on the loss of each text."""

from __future__ import annotations

from pathlib import Path
from typing import Iterator

import torch
import transformers
from safetensors.torch import load_file
from transformers import PreTrainedModel

from common import Tensors
from training_objectives import Objective

STEPS = 10
RATE, DECAY, EPSILON = 1e-3, 0.1, 1e-5


def texts_of(batch: Tensors) -> Iterator[Tensors]:
    """The texts one by one, [1, L] without padding. The choices of a question are together."""
    lengths = batch["attention_mask"].sum(1).tolist()
    targets = batch["decoder_attention_mask"].sum(1).tolist() if "decoder_attention_mask" in batch else None
    texts = []
    begin = 0
    for b, length in enumerate(lengths):
        text = {name: batch[name][b : b + 1, :length] for name in ("input_ids", "attention_mask", "token_type_ids") if name in batch}
        if targets:
            text["decoder_input_ids"] = batch["decoder_input_ids"][b : b + 1, : targets[b]]
        if "labels" in batch:
            text["labels"] = batch["labels"][b : b + 1, : targets[b] if targets else length]
        for name in ("start_positions", "end_positions"):
            if name in batch:
                text[name] = batch[name][b : b + 1]
        if "text_labels" in batch and "groups" not in batch:
            of_tokens = batch["text_labels"].dim() == 1 and len(batch["text_labels"]) != len(lengths)
            text["text_labels"] = batch["text_labels"][begin : begin + length] if of_tokens else batch["text_labels"][b : b + 1]
        begin += length
        texts.append(text)
    if "groups" not in batch:
        yield from texts
        return
    for question, count in enumerate(batch["groups"].tolist()):
        yield {"choices": texts[:count], "text_labels": batch["text_labels"][question : question + 1]}  # type: ignore[dict-item]
        texts = texts[count:]


def steps_in(folder: Path) -> list[list[Tensors]]:
    """The batches of each step."""
    steps: list[list[Tensors]] = []
    for step in range(1, STEPS + 1):
        count = len(list(folder.glob(f"step-{step}.*.safetensors")))
        steps.append([load_file(folder / f"step-{step}.{i}.safetensors") for i in range(count)])
    return steps


def take_steps(model: PreTrainedModel, objective: Objective, steps: list[list[Tensors]], clip: float) -> Tensors:
    """Returns the largest gradient of each number."""
    largest = {name: torch.zeros_like(p) for name, p in model.named_parameters()}
    named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
    parameters = [p for _, p in named]
    decays = [p.ndim > 1 and not name.endswith("bias") for name, p in named]  # XLNet's biases are matrices
    groups = [{"params": [p for p, yes in zip(parameters, decays) if yes], "weight_decay": DECAY},
              {"params": [p for p, yes in zip(parameters, decays) if not yes], "weight_decay": 0.0}]  # fmt: skip
    optimizer = torch.optim.AdamW(groups, lr=RATE, betas=(0.9, 0.999), eps=EPSILON)
    schedule = transformers.get_linear_schedule_with_warmup(optimizer, 0, STEPS)
    for batches in steps:
        sums: list[torch.Tensor] = []
        counts: list[int] = []
        for batch in batches:
            for text in texts_of(batch):
                terms = objective.loss(model, text)
                sums = [a + term for a, (term, _) in zip(sums or [torch.zeros(())] * len(terms), terms)]
                counts = [a + count for a, (_, count) in zip(counts or [0] * len(terms), terms)]
        optimizer.zero_grad()
        torch.stack([total / count for total, count in zip(sums, counts) if count]).sum().backward()
        for name, parameter in model.named_parameters():
            if parameter.grad is not None:
                largest[name] = torch.maximum(largest[name], parameter.grad.abs())
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimizer.step()
        schedule.step()
    return largest
