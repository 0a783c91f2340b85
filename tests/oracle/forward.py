"""The original's results for a padded batch: logits, loss, states, attentions, gradients.

    python forward.py MODEL_DIRECTORY --layout right --seed 3 --inputs in.safetensors --expected out.safetensors

Inputs are named as the arguments of the Hugging Face forward, outputs as the fields of its ModelOutput
(`hidden_states.0`, ...) and `grad.<checkpoint name>`. Padded positions of the outputs are zero.
"""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoConfig

from common import Tensors
from float64 import in_float64, make_exact
from layouts import LAYOUTS, layouts_of
from originals import load_model
from padding import without_block_end, zero_padding
from random_inputs import has_loss, is_paired, make_inputs
from rotation_by_text import rotation_by_text


@dataclass(frozen=True)
class Original:
    """A model of transformers, with the names that its tensors have in the checkpoint."""

    model: Any
    names: list[str]
    virtual: int = 0  # tokens that an adapter puts before each text

    @classmethod
    def load(cls, directory: Path, dtype: torch.dtype = torch.float32) -> Original:
        names: list[str] = []
        for path in directory.glob("*.safetensors"):
            with safe_open(path, "pt") as file:
                names += file.keys()
        for path in directory.glob("*.bin"):
            names += torch.load(path, weights_only=True).keys()
        model: Any = load_model(directory, dtype)
        if model.config.model_type == "transfo-xl" and not model.config.untie_r:  # from_pretrained forgets it
            for layer in model.transformer.layers if hasattr(model, "transformer") else model.layers:
                body = getattr(model, "transformer", model)
                layer.dec_attn.r_w_bias, layer.dec_attn.r_r_bias = body.r_w_bias, body.r_r_bias
        for part in (model.config, getattr(model.config, "encoder", None), getattr(model.config, "decoder", None)):
            if part is not None:
                part.use_cache = False
        if dtype == torch.float64:
            for part in (model, getattr(model, "encoder", None), getattr(model, "decoder", None)):
                make_exact(part)
        return cls(model, names)

    def run(self, inputs: Tensors, *, gradients: bool = False) -> Tensors:
        dtype = next(self.model.parameters()).dtype
        given: dict[str, Any] = {
            name: value.to(dtype) if value.is_floating_point() else value.clone()  # XGLM changes its position_ids
            for name, value in inputs.items()
        }
        memories = [given.pop(f"mems.{i}") for i in range(len(given)) if f"mems.{i}" in given]
        if memories:
            given["mems"] = memories
        self.model.zero_grad()
        config = self.model.config
        if config.model_type == "big_bird":  # after a short text it switches to full attention permanently
            getattr(self.model, "bert", self.model).set_attention_type(config.attention_type)
        size = getattr(getattr(config, "encoder", config), "image_size", None)
        if "pixel_values" in given and given["pixel_values"].shape[2] != size:
            given["interpolate_pos_encoding"] = isinstance(size, int)
        with torch.set_grad_enabled(gradients):
            # BigBird's attentions are float32 for every type of the model.
            parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
            attentions = dtype == torch.float32 or all(getattr(part, "model_type", "") != "big_bird" for part in parts)
            wide = in_float64() if dtype == torch.float64 else nullcontext()
            with wide, rotation_by_text(self.model, inputs):
                made = self.model(**given, output_hidden_states=True, output_attentions=attentions, return_dict=True)
        paired = is_paired(self.model.config)
        outputs: Tensors = {}
        for name, value in made.items():
            if isinstance(value, (tuple, list)):
                for i, item in enumerate(value):
                    if isinstance(item, tuple):  # of two streams
                        outputs |= {f"{name}.{i}.{j}": stream for j, stream in enumerate(item)}
                    else:
                        outputs[f"{name}.{i}"] = item
            elif isinstance(value, torch.Tensor):
                outputs[name] = value
        if config.model_type == "big_bird" and "input_ids" in inputs:
            outputs = {name: without_block_end(name, value, inputs["input_ids"].shape[-1]) for name, value in outputs.items()}
        remembered = getattr(self.model.config, "reuse_len", None)
        # A text's scores are not rows of it, although the number of labels may equal the number of positions.
        whole = {"logits"} if type(self.model).__name__.endswith("ForSequenceClassification") else set()
        outputs = {name: value.detach() if name in whole else zero_padding(name, value.detach(), inputs, paired, remembered, self.virtual)
                   for name, value in outputs.items()}  # fmt: skip
        # The router's scores, which attend does not return.
        outputs = {name: value for name, value in outputs.items() if not name.startswith("router_logits") and name != "aux_loss"}
        if gradients:
            loss = made.loss
            if "mc_loss" in made and made.mc_loss is not None:  # with two heads: the loss that is trained
                loss = made.mc_loss if loss is None else loss + made.mc_loss
            loss.backward()
            parameters = dict(self.model.named_parameters(remove_duplicate=False))
            seen = set()  # a pickled file may have a tensor under each of its names
            for name in self.names:
                if name in parameters and ".experts." in name and parameters[name].grad is None:
                    parameters[name].grad = torch.zeros_like(parameters[name])  # no token chose this expert
                if name in parameters and parameters[name].grad is not None and parameters[name] not in seen:
                    seen.add(parameters[name])
                    outputs[f"grad.{name}"] = parameters[name].grad.clone()
        return {name: value.clone().contiguous() for name, value in outputs.items()}  # some are views of others


def expect(directory: Path, inputs: Tensors) -> Tensors:
    """The original's outputs in float32, with gradients where the inputs give a loss."""
    return Original.load(directory).run(inputs, gradients=has_loss(inputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layout", default="right", help=f"one of {LAYOUTS}")
    parser.add_argument("--inputs", type=Path, required=True, help="read if it exists, else made and written")
    parser.add_argument("--expected", type=Path, required=True)
    options = parser.parse_args()
    if not options.inputs.exists():
        config = AutoConfig.from_pretrained(options.model)
        if options.layout not in layouts_of(config.model_type, config.architectures[0]):
            parser.error(f"there is no layout {options.layout} for {config.architectures[0]}")
        save_file(make_inputs(config, options.layout, options.seed), options.inputs)
    save_file(expect(options.model, load_file(options.inputs)), options.expected)


if __name__ == "__main__":
    main()
