"""Broken configs and weights of every family, drawn from a seed: one nonsense for each field, and some tensors."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any, Callable, Iterator

from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from bad_cases import BadCase, Workshop
from layouts import LAYOUTS, layouts_of
from model_cases import CASES, SMALL
from models import make_model
from random_inputs import make_inputs

MISSING = "missing"
NONSENSE: list[Any] = [MISSING, -1, 0, 3, 10**12, 2**31 - 1, 2**64, "many", 2.5, -0.5, [3], [], {}, True, None, [["many"]]]
# Fields that do not describe the model, or only outputs that are not requested here.
IDLE = ("transformers_version", "dtype", "use_cache", "id2label", "label2id", "_name_or_path")


def spoil_field(field: str, value: Any) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        path = directory / "config.json"
        config = json.loads(path.read_text())
        config.pop(field)
        path.write_text(json.dumps(config if value == MISSING else config | {field: value}))

    return spoil


def spoil_tensor(name: str, kind: str) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        path = directory / "model.safetensors"
        tensors = load_file(path)
        tensor = tensors.pop(name)
        if kind == "shorter":
            tensors[name] = tensor[:-1].clone()
        elif kind == "of another order":
            tensors[name] = tensor.flatten()[None, None].clone()
        elif kind == "of integers":
            tensors[name] = tensor.int()
        save_file(tensors, path, {"format": "pt"})

    return spoil


def family_cases(w: Workshop, seed: int = 0) -> Iterator[BadCase]:
    # Pairs of two separate models are made from directories, and have no case here.
    for family in [family for family in LAYOUTS if any(case.family == family for case in CASES.values())]:
        draw = random.Random(f"{family} {seed}")
        case = draw.choice([name for name, case in CASES.items() if case.family == family])
        directory = w.models[case] = w.root / "sound" / case
        make_model(case, 0, directory, SMALL)
        config = AutoConfig.from_pretrained(directory)
        inputs = make_inputs(config, layouts_of(family, config.architectures[0])[0], 1)
        yield BadCase(f"{case} sound", w.forward(directory, inputs), status=0)
        for field, sound in json.loads((directory / "config.json").read_text()).items():
            if field in IDLE:
                continue
            # Without architectures the model has another head, which the inputs do not fit.
            usual = [MISSING, []] if field == "architectures" else []
            value = draw.choice([v for v in NONSENSE if v != sound and v not in usual])
            arguments = w.forward(w.model(case, spoil_field(field, value)), inputs)
            said = f"{field}|model.safetensors"
            if value == MISSING:  # another of its names, or a value derived from its default
                said += "|config.json"
            if "position" in field:  # sinusoids have no weights: the text is then too long
                said += "|position"
            yield BadCase(f"{case} {field} {json.dumps(value)}", arguments, (said,), may_succeed=True)
        names = sorted(load_file(directory / "model.safetensors"))
        for kind in ("missing", "shorter", "of another order", "of integers"):
            name = draw.choice(names)
            arguments = w.forward(w.model(case, spoil_tensor(name, kind)), inputs)
            yield BadCase(f"{case} {name} {kind}", arguments, (name, "model.safetensors"))
