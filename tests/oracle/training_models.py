"""Tiny models with tokenizers for check_training.py: making and loading them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers import PreTrainedModel, PreTrainedTokenizerFast

import training_data as data
from model_cases import Case, Size
from model_configs import make_config
from models import randomize
from training_objectives import Objective

SIZE = Size(heads=3, head_width=4, layers=2, vocabulary=0, feed_forward=19, positions=64)

# Families, each with its tokenizer and additional fields of its config.json.
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("bert", {}),
    "distilbert": ("distilbert", {}),
    "electra": ("bert", {}),
    "big_bird": ("bert", {"attention_type": "original_full", "sep_token_id": 3}),
    "roberta": ("roberta", {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "albert": ("albert", {}),
    "deberta-v2": ("albert", {}),
    "gpt2": ("gpt2", {"pad_token_id": 0}),
    "gpt_neo": ("gpt2", {"pad_token_id": 0}),
    "mixtral": ("gpt2", {}),
    "llama": ("gpt2", {"pad_token_id": 0}),
    "gemma3_text": ("gpt2", {"pad_token_id": 0}),
    "modernbert": ("distilbert", {"pad_token_id": 0, "cls_token_id": 2, "sep_token_id": 3, "bos_token_id": 2, "eos_token_id": 3}),
    "mpnet": ("roberta", {"pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}),
    "xlnet": ("xlnet", {}),
    "bart": ("roberta", {}),
    "t5": ("t5", {"eos_token_id": 1}),
}


def make(directory: Path, family: str, objective: Objective, seed: int) -> PreTrainedTokenizerFast | None:
    """Writes a model and its tokenizer. Returns None if transformers has no such head."""
    kind, settings = FAMILIES[family]
    tokenizer = data.TOKENIZERS[kind]()
    if objective.labels:
        names = dict(enumerate(objective.labels))
        settings = settings | {"id2label": names, "label2id": {name: i for i, name in names.items()}}
    if objective.problem:
        settings = settings | {"problem_type": objective.problem}
    size = Size(**(vars(SIZE) | {"vocabulary": len(tokenizer)}))
    config = make_config(Case(family, "", settings), size)
    try:
        model = getattr(transformers, f"AutoModelFor{objective.head}").from_config(config)
    except ValueError:
        return None
    randomize(model, torch.Generator().manual_seed(seed))
    model.save_pretrained(directory)
    tokenizer.save_pretrained(directory)
    return tokenizer


def load(directory: Path, objective: Objective) -> PreTrainedModel:
    """The model in float64, without dropout. A missing or unexpected tensor is an error."""
    kind = getattr(transformers, f"AutoModelFor{objective.head}")
    more = {"attention_probs_dropout_prob": 0.0} if json.loads((directory / "config.json").read_text())["model_type"] == "big_bird" else {}
    model, info = kind.from_pretrained(directory, attn_implementation="eager", output_loading_info=True, **more)
    wrong = [f"{what}: {names}" for what, names in info.items() if names]
    if wrong:
        raise RuntimeError(f"{directory}: transformers loads it with {wrong}")
    return model.double().eval()
