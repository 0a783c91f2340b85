"""A checkpoint as other versions of transformers wrote it: other names of tensors, other files, other numbers.

    python spellings.py DIRECTORY OTHER --seed 3
"""

from __future__ import annotations

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from field_rules import Draw
from originals import load_model

# Tensors that older versions stored although they can be computed, by the suffix of the name of a
# neighbouring tensor.
OLD_BUFFERS = {
    "embeddings.word_embeddings.weight": ["embeddings.position_ids"],
    "attn.c_attn.weight": ["attn.bias", "attn.masked_bias"],
    "attn.attention.q_proj.weight": ["attn.attention.bias", "attn.attention.masked_bias"],
    "attn.q_proj.weight": ["attn.bias", "attn.masked_bias"],
    "word_emb.emb_layers.0.weight": ["pos_emb.inv_freq"],
}  # fmt: skip
WAYS = ["gamma", "prefix", "tied", "buffers", "half", "shards", "bin"]


def old_buffer(name: str) -> torch.Tensor:
    if name.endswith("position_ids"):
        return torch.arange(40)[None]
    if name.endswith("masked_bias"):
        return torch.tensor(-1e4)
    return torch.ones((1, 1, 40, 40)).tril().to(torch.uint8) if name.endswith("bias") else torch.rand(7)


def tied_groups(model: Any) -> list[list[str]]:
    """Names of one and the same tensor."""
    groups: dict[int, list[str]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        if tensor.numel() > 0:
            groups.setdefault(id(tensor), []).append(name)
    return [names for names in groups.values() if len(names) > 1]


def other_prefix(model: Any, tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """A body as part of a model with a head, or a model without the name of its body."""
    if hasattr(model.config, "decoder"):  # of pairs of models, which contain theirs
        return tensors
    prefix = f"{model.base_model_prefix}."
    if not any(name.startswith(prefix) for name in tensors):
        return {prefix + name: tensor for name, tensor in tensors.items()}
    if all(name.startswith(prefix) for name in tensors):
        return {name.removeprefix(prefix): tensor for name, tensor in tensors.items()}
    return tensors  # it has its own head: a file without the prefix would be that of a body alone


def write_shards(directory: Path, tensors: dict[str, torch.Tensor], draw: Draw, as_bin: bool, count: int) -> None:
    stem, end = ("pytorch_model", "bin") if as_bin else ("model", "safetensors")
    names = draw.sample(list(tensors), len(tensors))
    parts = [names[i::count] for i in range(min(count, len(names)))]
    files = [f"{stem}.{end}" if len(parts) == 1 else f"{stem}-{i + 1:05}-of-{len(parts):05}.{end}" for i in range(len(parts))]
    for part, file in zip(parts, files):
        chosen = {name: tensors[name] for name in part}
        if as_bin:
            torch.save(chosen, directory / file)
        else:
            save_file({name: tensor.clone().contiguous() for name, tensor in chosen.items()}, directory / file,
                      metadata={"format": "pt"})  # fmt: skip
    if len(parts) > 1:
        index = {"metadata": {"total_size": sum(t.nbytes for t in tensors.values())},
                 "weight_map": {name: file for part, file in zip(parts, files) for name in part}}  # fmt: skip
        (directory / f"{stem}.{end}.index.json").write_text(json.dumps(index))


def respell(directory: Path, other: Path, draw: Draw) -> list[str]:
    """Writes the same model in another way, and returns what is other about it."""
    model, ways = load_model(directory), draw.sample(WAYS, draw.randint(1, 3))
    if "half" in ways:
        model = model.to(draw.choice([torch.float16, torch.bfloat16]))
    tensors = {name: tensor.detach() for name, tensor in model.state_dict().items()}
    if "half" in ways:  # sines, which no version wrote in half precision
        sines = model.config.model_type in ("marian", "pegasus", "roformer")
        for name in [name for name in tensors if name.endswith("embed_positions.weight") and sines]:
            del tensors[name]
    for group in tied_groups(model):
        kept = draw.sample(group, draw.randint(1, len(group))) if "tied" in ways else group[:1]
        for name in set(group) - set(kept):
            del tensors[name]
    if "buffers" in ways:
        for name in list(tensors):
            for end, buffers in OLD_BUFFERS.items():
                if name.endswith(end):
                    tensors |= {name.removesuffix(end) + buffer: old_buffer(buffer) for buffer in buffers}
    if "prefix" in ways:
        tensors = other_prefix(model, tensors)
    if "gamma" in ways:
        for now, then in (("weight", "gamma"), ("bias", "beta")):
            tensors = {
                name.removesuffix(now) + then if name.endswith(f"LayerNorm.{now}") else name: tensor
                for name, tensor in tensors.items()
            }
    other.mkdir(parents=True, exist_ok=True)
    for path in directory.glob("*.json"):
        shutil.copy(path, other)
    write_shards(other, tensors, draw, "bin" in ways, draw.randint(2, 4) if "shards" in ways else 1)
    return ways


def as_newer_config(config: dict[str, Any]) -> dict[str, Any] | None:
    """The same as transformers 5 writes it, which transformers 4 cannot read: rope_parameters, of each kind of layers where
    these differ. None if the config says nothing of it."""
    newer = {name: value for name, value in config.items() if name not in OLDER_ROTARY}
    bases = [config[name] for name in ("rotary_emb_base", "rope_theta", "global_rope_theta") if name in config]
    if not bases:
        return None
    scaling = dict(config.get("rope_scaling") or {})
    kind = scaling.pop("type", None)
    rotary = {"rope_theta": bases[0], "rope_type": scaling.pop("rope_type", kind) or "default"} | scaling
    if any(name in config for name in ("rotary_pct", "partial_rotary_factor")):
        rotary["partial_rotary_factor"] = config.get("rotary_pct", config.get("partial_rotary_factor"))
    if rotary["rope_type"] == "longrope" and "original_max_position_embeddings" in config:
        rotary["original_max_position_embeddings"] = newer.pop("original_max_position_embeddings")
        rotary.pop("factor", None)
    if "rope_local_base_freq" in config or "local_rope_theta" in config:
        base = config.get("rope_local_base_freq", config.get("local_rope_theta")) or bases[0]
        rotary = {"full_attention": rotary, "sliding_attention": {"rope_theta": base, "rope_type": "default"}}
    if "global_attn_every_n_layers" in config:
        every, count = newer.pop("global_attn_every_n_layers"), config["num_hidden_layers"]
        newer["layer_types"] = ["sliding_attention" if i % every else "full_attention" for i in range(count)]
    newer["rope_parameters"] = rotary
    if "torch_dtype" in newer:
        newer["dtype"] = newer.pop("torch_dtype")
    return newer


OLDER_ROTARY = ("rope_theta", "rope_scaling", "partial_rotary_factor", "rope_local_base_freq", "rotary_emb_base", "rotary_pct",
                "global_rope_theta", "local_rope_theta")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("other", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(*respell(options.directory, options.other, Draw(options.seed)))


if __name__ == "__main__":
    main()
