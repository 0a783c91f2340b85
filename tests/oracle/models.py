"""Tiny random checkpoints as transformers writes them.

    python models.py --list
    python models.py gpt2-relu --seed 3 DIRECTORY

No parameter stays at zero or one: otherwise a bias or a norm without effect could hide an error. The cases are in
model_cases.py, their configs in model_configs.py, the classes in originals.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel
from transformers.models.t5.modeling_t5 import T5LayerNorm

from model_cases import CASES, SIZES, Size
from model_configs import make_config
from originals import head_class


def randomize(
    model: Any,
    generator: torch.Generator,
    *,
    embedding: float = 0.7,
    gain: float = 1.0,
    bias: float = 0.3,
    mixing: bool = False,
) -> None:
    """Gives every parameter and final_logits_bias values that matter.

    `embedding` and `bias` are standard deviations (of embeddings as the layers see them), `gain` is that of what a
    linear layer makes of inputs of variance 1. `mixing` gives norm weights random signs: otherwise a head tied to the
    embeddings returns the last token.
    """

    def normal(shape: torch.Size, deviation: float) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * deviation

    if getattr(model.config, "scale_embedding", False):
        # The model multiplies embeddings by the inverse.
        embedding *= getattr(model.config, "d_model", model.config.hidden_size) ** -0.5
    done: set[int] = set()
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if id(parameter) in done or not parameter.requires_grad:  # tied; Marian's sinusoids
                    continue
                done.add(id(parameter))
                if isinstance(module, (nn.LayerNorm, T5LayerNorm)) or type(module).__name__.endswith(("RMSNorm", "LayerNorm")):
                    centre = normal(parameter.shape, 1.0).sign() if mixing else 1.0
                    parameter.copy_(normal(parameter.shape, bias) + (centre if name == "weight" else 0.0))
                elif isinstance(module, nn.Embedding):
                    parameter.copy_(normal(parameter.shape, embedding))
                elif parameter.ndim == 1:
                    parameter.copy_(normal(parameter.shape, bias))
                elif name == "gate_up_proj_bias":  # gpt-oss: some results must exceed its limits
                    parameter.copy_(normal(parameter.shape, 5.0))
                else:
                    # [in, out], or [in, heads, out]
                    conv1d = isinstance(module, transformers.pytorch_utils.Conv1D) or parameter.ndim == 3
                    fan_in = parameter.shape[0] if conv1d and "experts" not in type(module).__name__.lower() else parameter.shape[1]
                    parameter.copy_(normal(parameter.shape, gain * fan_in**-0.5))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(normal(model.final_logits_bias.shape, bias))


def make_model(case_name: str, seed: int, directory: Path, size: Size | None = None, **weights: Any) -> None:
    """Writes config.json, model.safetensors and (for models that generate) generation_config.json."""
    case = CASES[case_name]
    config = make_config(case, size or SIZES[seed % len(SIZES)])
    model: PreTrainedModel = head_class(case.head)(config)
    randomize(model, torch.Generator().manual_seed(seed), **weights)
    model.save_pretrained(directory, safe_serialization=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="weights, and which of SIZES")
    parser.add_argument("--list", action="store_true", help="print the cases")
    options = parser.parse_args()
    if options.list:
        for name, case in CASES.items():
            print(f"{name:<28}{case.head:<32}{case.settings or ''}")
    elif options.case and options.directory:
        make_model(options.case, options.seed, options.directory)
    else:
        parser.error("give a case and a directory, or --list")


if __name__ == "__main__":
    main()
