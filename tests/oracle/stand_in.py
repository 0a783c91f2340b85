"""Plays attend with the original itself, so that the checks can be checked (`--self-test`).

`StandIn` and `Exact` must pass every check. `Spoiled` is wrong in one small way at a time and must fail every one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable, Sequence

import torch

from common import Tensors, limit_of
from forward import Original


class StandIn:
    def forward(self, model: Path, inputs: Tensors, *, states: bool = True, gradients: bool = False) -> Tensors:
        outputs = Original.load(model).run(inputs, gradients=gradients)
        return outputs if states else {n: t for n, t in outputs.items() if "hidden_states" not in n and "att" not in n}

    def generate(self, model: Path, inputs: Tensors, settings: dict[str, Any]) -> Tensors:
        from original_generate import original_generate

        return original_generate(Original.load(model).model, inputs, settings)

    def embed(self, model: Path, texts: Sequence[str], options: dict[str, Any] = {}) -> torch.Tensor:
        from sentence_cases import Call

        return Call(options, list(texts)).vectors(model)

    def search(self, model: Path, queries: Sequence[str], texts: Sequence[str]) -> torch.Tensor:
        from sentence_cases import similarities

        return similarities(model, list(queries), list(texts))

    def tokenize(self, model: Path, texts: Sequence[str]) -> list[list[int]]:
        from transformers import AutoTokenizer

        return AutoTokenizer.from_pretrained(model)(list(texts))["input_ids"]


class Exact(StandIn):
    """Right but for rounding: the original in float64."""

    def forward(self, model: Path, inputs: Tensors, *, states: bool = True, gradients: bool = False) -> Tensors:
        outputs = Original.load(model, torch.float64).run(inputs, gradients=gradients)
        return {name: value.float() for name, value in outputs.items()}


def change_value(outputs: Tensors, name: str) -> None:
    """The smallest change to a value that a check must see: a little over its limit."""
    values = outputs[name].flatten().clone()
    if values.is_floating_point():
        values[-1] += 1.5 * limit_of(name) * values.abs().max()
    else:
        values[-1] += 1
    outputs[name] = values.view(outputs[name].shape)


def make_nan(outputs: Tensors, name: str) -> None:
    outputs[name] = outputs[name].double().mul(torch.nan).to(torch.float32)


def drop(outputs: Tensors, name: str) -> None:
    del outputs[name]


def add(outputs: Tensors, name: str) -> None:
    outputs["surplus"] = outputs[name]


def change_shape(outputs: Tensors, name: str) -> None:
    outputs[name] = outputs[name].unsqueeze(0)


SPOILS: list[Callable[[Tensors, str], None]] = [change_value, make_nan, drop, add, change_shape]


class Spoiled(StandIn):
    """Spoils one output of each call; calls take the ways to spoil and the tensors in turn."""

    def __init__(self) -> None:
        self.calls = 0

    def spoil(self, outputs: Tensors) -> Tensors:
        # A gradient that is only rounding may have any value of its size: leave it.
        names = sorted(name for name in outputs if "key.bias" not in name and "k_proj.bias" not in name)
        SPOILS[self.calls % len(SPOILS)](outputs, names[(self.calls * 7) % len(names)])
        self.calls += 1
        return outputs

    def forward(self, model: Path, inputs: Tensors, *, states: bool = True, gradients: bool = False) -> Tensors:
        return self.spoil(super().forward(model, inputs, states=states, gradients=gradients))

    def generate(self, model: Path, inputs: Tensors, settings: dict[str, Any]) -> Tensors:
        return self.spoil(super().generate(model, inputs, settings))

    def embed(self, model: Path, texts: Sequence[str], options: dict[str, Any] = {}) -> torch.Tensor:
        vectors = super().embed(model, texts, options).clone()
        vectors[:, 0] += 0.01
        return vectors

    def search(self, model: Path, queries: Sequence[str], texts: Sequence[str]) -> torch.Tensor:
        return super().search(model, queries, texts) + 0.01

    def tokenize(self, model: Path, texts: Sequence[str]) -> list[list[int]]:
        return [ids[:-1] for ids in super().tokenize(model, texts)]
