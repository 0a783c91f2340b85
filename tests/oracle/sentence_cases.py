"""Sentence-transformers directories whose files say how texts become vectors, over bodies of tests/data/models."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentence_transformers import SentenceTransformer, models

MODELS = Path(__file__).resolve().parents[1] / "data/models"
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ": query passage topic hello Hello quick Quick fox the red car house river lantern night day a b c d e z".split()
MODES = ["mean", "cls", "max", "lasttoken", "weightedmean", "mean_sqrt_len_tokens"]
TEXTS = ["the quick red fox", "Hello", "a b c d e", "z z house", "the river the night the lantern the day the car the fox"]
Json = dict[str, Any]


@dataclass
class Call:
    """One way to ask for vectors; `options` are called as attend's."""

    options: Json = field(default_factory=dict)
    texts: list[str] = field(default_factory=lambda: TEXTS)

    def vectors(self, directory: Path) -> torch.Tensor:
        model = load(directory)
        options = dict(self.options)
        if pooling := options.pop("pooling", None):
            model[1] = models.Pooling(model[1].embedding_dimension, pooling)
        normalize = options.pop("normalize", None)
        if normalize is False:
            del model._modules[list(model._modules)[-1]]
        encode = {"query": model.encode_query, "document": model.encode_document}.get(options.pop("role", ""), model.encode)
        truncate = options.pop("dimensions", None)
        ends_with_normalize = isinstance(list(model._modules.values())[-1], models.Normalize)
        again = normalize is True or (truncate is not None and ends_with_normalize)  # length 1 again, which encode() leaves to its caller
        return encode(self.texts, truncate_dim=truncate, normalize_embeddings=again, convert_to_tensor=True, **options)


@dataclass
class Case:
    name: str
    body: str = "bert-model"
    special_tokens: bool = True
    files: dict[str, Json] = field(default_factory=dict)
    modules: list[str] | None = field(default_factory=lambda: ["Transformer", "Pooling"])  # None: no modules.json
    calls: list[Call] = field(default_factory=lambda: [Call()])

    def contents(self) -> dict[str, Any]:
        """Every file but those of the body, by name."""
        tokenizer = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]", "unk_token": "[UNK]"}
        if self.special_tokens:
            tokenizer |= {"cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
        given = dict(self.files)
        tokenizer |= {"model_max_length": 20, "model_input_names": ["input_ids", "attention_mask"]}
        tokenizer |= given.pop("tokenizer_config.json", {})
        files: dict[str, Any] = {"tokenizer.json": tokenizer_json(self.special_tokens), "tokenizer_config.json": tokenizer}
        if self.modules is not None:
            kinds = enumerate(self.modules)
            files["modules.json"] = [
                {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
                for i, kind in kinds
            ]
            files["1_Pooling/config.json"] = {"word_embedding_dimension": self.width(), "pooling_mode": "mean"}
        for name, content in given.items():
            files[name] = files.get(name, {}) | content
        return files

    def width(self) -> int:
        config = json.loads((MODELS / self.body / "config.json").read_text())
        return config.get("hidden_size") or config["n_embd"]

    def write(self, directory: Path) -> None:
        directory.mkdir(parents=True)
        for name in ("config.json", "model.safetensors"):
            shutil.copyfile(MODELS / self.body / name, directory / name)
        for name, content in self.contents().items():
            (directory / name).parent.mkdir(exist_ok=True)
            (directory / name).write_text(json.dumps(content))
        for i, kind in enumerate(self.modules or []):
            if kind == "Normalize":
                (directory / f"{i}_{kind}").mkdir()
            if kind == "Dense":
                config = json.loads((directory / f"{i}_{kind}" / "config.json").read_text())
                weight = dense_weight(config["out_features"], config["in_features"])
                save_file({"linear.weight": weight}, directory / f"{i}_{kind}" / "model.safetensors")


def tokenizer_json(special_tokens: bool) -> Json:
    """Words of letters and single punctuation marks; with special tokens around each text, or with none at all."""
    names = SPECIAL if special_tokens else SPECIAL[:2]
    added = [
        {"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
        for i, name in enumerate(names)
    ]
    around = [{"SpecialToken": {"id": "[CLS]", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}},
              {"SpecialToken": {"id": "[SEP]", "type_id": 0}}]  # fmt: skip
    template = {"type": "TemplateProcessing", "single": around, "pair": [*around, {"Sequence": {"id": "B", "type_id": 1}}],
                "special_tokens": {name: {"id": name, "ids": [SPECIAL.index(name)], "tokens": [name]}
                                   for name in ("[CLS]", "[SEP]")}}  # fmt: skip
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": template if special_tokens else None, "decoder": None,
        "model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {word: i for i, word in enumerate([*SPECIAL, *WORDS])}},
    }  # fmt: skip


def dense_weight(rows: int, columns: int) -> torch.Tensor:
    """Numbers that the test of the goldens makes too."""
    row, column = torch.arange(rows).unsqueeze(1), torch.arange(columns)
    return ((row * 37 + column * 11) % 23 - 11).float() / 23


def dense(inputs: int, outputs: int) -> Json:
    """A matrix alone."""
    identity = "torch.nn.modules.linear.Identity"
    return {"in_features": inputs, "out_features": outputs, "bias": False, "activation_function": identity}


def load(directory: Path) -> SentenceTransformer:
    return SentenceTransformer(str(directory), device="cpu", model_kwargs={"attn_implementation": "eager"})


def make_cases() -> list[Case]:
    prompts = {"query": "query: ", "document": "passage: ", "topic": "the topic: "}
    settings = "config_sentence_transformers.json"
    normalized = ["Transformer", "Pooling", "Normalize"]
    roles = [Call(), Call({"role": "query"}), Call({"role": "document"}), Call({"prompt_name": "topic"}), Call({"prompt": "a red "})]
    all_modes = {"1_Pooling/config.json": {"pooling_mode": MODES}}
    without_prompt = {"1_Pooling/config.json": {"pooling_mode": MODES, "include_prompt": False}}
    cases = [
        Case("prompts", files={settings: {"prompts": prompts}}, calls=roles),
        Case("default prompt", files={settings: {"prompts": prompts, "default_prompt_name": "topic"}}, calls=roles),
        Case("passage prompt", files={settings: {"prompts": {"query": "query: ", "passage": "passage: "}}}, calls=roles[:3]),
        Case("prompts left out", files=without_prompt | {settings: {"prompts": prompts}}, calls=roles),
        Case("default prompt left out", files=without_prompt | {settings: {"prompts": prompts, "default_prompt_name": "query"}}),
        Case("prompts left out, no special tokens", "gpt2", False, files=without_prompt | {settings: {"prompts": prompts}},
             calls=[Call(), Call({"role": "query"}), Call({"prompt": "z [UNK]"})]),
        Case("truncate_dim", files={settings: {"truncate_dim": 5}}, modules=normalized,
             calls=[Call(), Call({"dimensions": 3}), Call({"dimensions": 7, "normalize": True}), Call({"normalize": False})]),
        Case("truncate_dim over the size", files={settings: {"truncate_dim": 500}}),
        Case("not normalized", calls=[Call(), Call({"normalize": True}), Call({"dimensions": 4}),
                                      Call({"dimensions": 4, "normalize": True})]),
        Case("lower case", files={"sentence_bert_config.json": {"do_lower_case": True, "max_seq_length": 16}},
             calls=[Call(texts=["[MASK] Hello", "HELLO Quick [SEP] fox", "[mask] Hello"])]),
        Case("lower case of an older version", files={"sentence_roberta_config.json": {"do_lower_case": True, "max_seq_length": 6}},
             calls=[Call(texts=["Quick Hello", TEXTS[-1]])]),
        Case("limit of the tokenizer", files={"tokenizer_config.json": {"model_max_length": 7}}),
        Case("limit of the positions", files={"tokenizer_config.json": {"model_max_length": 10**30}},
             calls=[Call(texts=[" ".join(WORDS * 2)])]),
        Case("cut on the left", files={"tokenizer_config.json": {"model_max_length": 7, "truncation_side": "left"}}),
        Case("no modules", modules=None, files={"tokenizer_config.json": {"model_max_length": 10}},
             calls=[Call(), *(Call({"pooling": mode}) for mode in MODES), Call({"normalize": True}), Call({"pooling": "cls", "normalize": True})]),
        Case("no modules, causal", "gpt-neo", False, modules=None),
        Case("no modules, no special tokens", "gpt2", False, modules=None, calls=[Call(texts=["a b", "", "hello", "  "])]),
        Case("texts without tokens", "gpt2", False, modules=normalized,
             files={"1_Pooling/config.json": {"pooling_mode": ["mean", "weightedmean", "mean_sqrt_len_tokens", "lasttoken"]}},
             calls=[Call(texts=["a b", "", "hello", " "])]),
        Case("all kinds of pooling", files=all_modes),
    ]  # fmt: skip
    cases += embedder_cases(prompts, roles)
    for similarity in ("cosine", "dot", "euclidean", "manhattan"):
        cases.append(Case(f"similarity {similarity}", files={settings: {"prompts": prompts, "similarity_fn_name": similarity}}, calls=[]))
    return cases


def embedder_cases(prompts: dict[str, str], roles: list[Call]) -> list[Case]:
    """The layouts of the embedders that people use."""
    settings, pooling = "config_sentence_transformers.json", "1_Pooling/config.json"
    sized = roles + [Call({"dimensions": 5, "normalize": True, "role": "query"})]
    left = {"tokenizer_config.json": {"padding_side": "left"}}
    instruct = {settings: {"prompts": {"query": "the topic : a b c \nquery: ", "document": ""}}}
    return [
        Case("EmbeddingGemma", "gemma3-both-ways", modules=["Transformer", "Pooling", "Dense", "Dense", "Normalize"],
             files={settings: {"prompts": prompts}, "2_Dense/config.json": dense(12, 20), "3_Dense/config.json": dense(20, 12)},
             calls=sized),
        Case("Qwen3-Embedding", "qwen3", modules=["Transformer", "Pooling", "Normalize"],
             files=left | instruct | {pooling: {"pooling_mode": "lasttoken"}}, calls=sized[:3] + sized[-1:]),
        Case("E5-mistral", "mistral", modules=["Transformer", "Pooling", "Normalize"],
             files=left | {pooling: {"pooling_mode": "lasttoken"}}, calls=[Call(), Call({"prompt": "the topic : a b c \nquery: "})]),
        Case("BGE-M3", "roberta-masked-lm", modules=["Transformer", "Pooling", "Normalize"], files={pooling: {"pooling_mode": "cls"}}),
    ]  # fmt: skip


def similarities(directory: Path, queries: list[str], documents: list[str]) -> torch.Tensor:
    """[queries, documents]"""
    model = load(directory)
    return model.similarity(model.encode_query(queries), model.encode_document(documents))
