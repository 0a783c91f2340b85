"""Random sentence-transformers directories: a body of a family, and modules after it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import SentenceTransformer, models
from tokenizers import Tokenizer, pre_tokenizers
from tokenizers.models import WordLevel
from torch import nn
from transformers import PreTrainedTokenizerFast

from common import Tensors
from field_rules import Draw
from forward import Original
from random_inputs import make_inputs

BODIES = {
    "bert": "BertModel", "distilbert": "DistilBertModel", "roberta": "RobertaModel", "albert": "AlbertModel",
    "electra": "ElectraModel", "deberta-v2": "DebertaV2Model", "t5": "T5EncoderModel", "gpt2": "GPT2Model",
}  # fmt: skip
MODES = ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"]
ACTIVATIONS = [nn.Tanh(), nn.Identity(), nn.ReLU(), nn.GELU(), nn.Sigmoid(), nn.SiLU()]
WORDS = "river lantern seventeen quietly under copper morning thread window answer".split()


def make_modules(width: int, draw: Draw, seed: int) -> list[Any]:
    """Pooling of some kinds, then up to three modules."""
    torch.manual_seed(seed)
    chosen = draw.sample(MODES, draw.choice([1, 1, 2, 3]))
    modules: list[Any] = [models.Pooling(width, pooling_mode=chosen if len(chosen) > 1 else chosen[0])]
    width *= len(chosen)
    for _ in range(draw.randint(0, 3)):
        kind = draw.choice(["Dense", "LayerNorm", "Normalize", "Dropout"])
        if kind == "Dense":
            out = draw.randint(2, 20)
            modules.append(models.Dense(width, out, bias=draw.random() < 0.5, activation_function=draw.choice(ACTIVATIONS)))
            width = out
        elif kind == "LayerNorm":
            norm = models.LayerNorm(width)
            with torch.no_grad():
                for parameter in norm.parameters():
                    parameter.add_(torch.randn(parameter.shape) * 0.3)
            modules.append(norm)
        else:
            modules.append(models.Normalize() if kind == "Normalize" else models.Dropout(0.2))
    return modules


def save_modules(directory: Path, modules: list[Any]) -> None:
    """The files that SentenceTransformer.save writes in addition to the body."""
    listed = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for i, module in enumerate(modules, 1):
        kind = type(module).__name__
        folder = directory / f"{i}_{kind}"
        folder.mkdir()
        module.save(str(folder))
        listed.append({"idx": i, "name": str(i), "path": folder.name, "type": f"sentence_transformers.models.{kind}"})
    (directory / "modules.json").write_text(json.dumps(listed))


def save_tokenizer(directory: Path, family: str, vocabulary: int) -> None:
    words = {"[PAD]": 0, "[UNK]": 1} | {f"w{i}": i for i in range(2, vocabulary)}
    words = dict(zip([*list(words)[:2], *WORDS, *list(words)[2 + len(WORDS) :]], range(vocabulary)))
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    types = [] if family in ("distilbert", "t5") else ["token_type_ids"]  # these do not take it
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", model_max_length=20,
                            model_input_names=["input_ids", *types, "attention_mask"],
                            ).save_pretrained(directory)  # fmt: skip


def expected(directory: Path, modules: list[Any], seed: int, layout: str) -> tuple[Tensors, torch.Tensor]:
    """Inputs, and the vectors that the modules make of them."""
    original = Original.load(directory)
    inputs = make_inputs(original.model.config, layout, seed)
    with torch.no_grad():
        hidden = original.model(**inputs).last_hidden_state
        features = {"token_embeddings": hidden, "attention_mask": inputs.get("attention_mask", torch.ones(hidden.shape[:2]))}
        for module in modules:
            features = module.eval()(features)
    return inputs, features["sentence_embedding"]


def expected_of_texts(directory: Path, texts: list[str], dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """With the attention that follows config.json (sdpa forgets GPT-2's scale_attn_weights and
    scale_attn_by_inverse_layer_idx), and without a cache, in which BERT with relative keys would depend on padding."""
    model = SentenceTransformer(
        str(directory),
        device="cpu",
        model_kwargs={"attn_implementation": "eager", "torch_dtype": dtype},
        config_kwargs={"use_cache": False},
    )
    return model.to(dtype).encode(texts, convert_to_tensor=True)
