"""Writes tests/data/random_blocks/: the blocks that BigBird of transformers draws in training, and its attention over them.

    python make_block_goldens.py

`draws.json`: for a layer, by head, the random blocks of each block of queries but the first and the last.
`attention.safetensors`: queries, keys and values side by side, and the attention of layer 3 over blocks of 2.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from safetensors.torch import save_file
from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

DATA = Path(__file__).resolve().parent.parent / "data" / "random_blocks"
CASES = [  # layer, heads, blocks, size, random
    (0, 2, 9, 2, 1),
    (7, 3, 21, 4, 3),
    (11, 2, 16, 64, 3),  # 1024 tokens: as in the paper
    (2, 1, 48, 64, 2),  # 3072
    (5, 2, 64, 64, 3),  # 4096
]


def train(layer: int, heads: int, blocks: int, size: int, random: int) -> tuple[Any, torch.Tensor, torch.Tensor]:
    """The draws [heads, blocks - 2, random], queries, keys and values [tokens, 3 width], their attention [tokens, width]."""
    width = 4 * heads
    config = transformers.BigBirdConfig(hidden_size=width, num_attention_heads=heads, block_size=size,
                                        num_random_blocks=random, attention_probs_dropout_prob=0)  # fmt: skip
    attention = BigBirdBlockSparseAttention(config, seed=layer).train()
    make_mask, drawn = attention._create_rand_mask_from_inputs, []

    def keep(*arguments: Any) -> torch.Tensor:
        drawn.append(arguments[2][0].tolist())
        return make_mask(*arguments)

    attention._create_rand_mask_from_inputs = keep
    hidden = torch.randn((1, blocks * size, width), generator=torch.Generator().manual_seed(layer))
    blocked, *masks = BigBirdModel.create_masks_for_block_sparse_attn(torch.ones(1, blocks * size), size)
    with torch.no_grad():
        for part in (attention.query, attention.key, attention.value):
            part.weight.normal_(generator=torch.Generator().manual_seed(layer))
        packed = torch.cat([part(hidden)[0] for part in (attention.query, attention.key, attention.value)], 1)
        context = attention(hidden, *masks, blocked, blocked)[0][0]
    return drawn[0], packed, context


def main() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    names = ("layer", "heads", "blocks", "size", "random")
    draws = [dict(zip(names, case)) | {"draws": train(*case)[0]} for case in CASES]
    (DATA / "draws.json").write_text("[\n" + ",\n".join(json.dumps(draw) for draw in draws) + "\n]\n")
    torch.manual_seed(3)
    _, packed, context = train(3, 3, 11, 2, 2)
    save_file({"packed": packed.contiguous(), "context": context.contiguous()}, DATA / "attention.safetensors")


if __name__ == "__main__":
    main()
