"""Tiny random models and what CTranslate2's converter makes of them, and the same numbers given back to transformers.

make(case, kind, seed, directory) writes original/ and KIND/. The original then has, where its weights have been, what the
file's integers and shorter numbers stand for by the definition of the format: an integer times the inverse of its scale.
"""

from __future__ import annotations

import dataclasses
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from ctranslate2.converters import TransformersConverter
from safetensors.torch import load_file, save_file

import slow_tokenizers
from model_cases import Case, Size
from model_configs import make_config
from models import randomize

KINDS = ["float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16"]
CASES = {
    "marian": Case("marian", "MarianMTModel", {"activation_function": "swish", "scale_embedding": True}),
    "marian-relu": Case("marian", "MarianMTModel", {"activation_function": "relu", "scale_embedding": False}),
    "marian-separate": Case("marian", "MarianMTModel", {"activation_function": "gelu", "scale_embedding": True,
                                                        "share_encoder_decoder_embeddings": False}),
    "marian-untied": Case("marian", "MarianMTModel", {"activation_function": "swish", "tie_word_embeddings": False}),
    "m2m-100": Case("m2m_100", "M2M100ForConditionalGeneration", {"scale_embedding": True}),
    "bart": Case("bart", "BartForConditionalGeneration", {"normalize_before": False}),
    "bart-scaled": Case("bart", "BartForConditionalGeneration", {"normalize_before": False, "scale_embedding": True,
                                                                 "activation_function": "relu"}),
    "t5": Case("t5", "T5ForConditionalGeneration", {"num_decoder_layers": 3}),
    "t5-gated": Case("t5", "T5ForConditionalGeneration", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}),
    "gpt2": Case("gpt2", "GPT2LMHeadModel", {"n_inner": 51}),
    "gpt2-untied": Case("gpt2", "GPT2LMHeadModel", {"tie_word_embeddings": False, "activation_function": "relu"}),
    "bert": Case("bert", "BertModel", {"layer_norm_eps": 1e-3}),
}  # fmt: skip
TOKENIZERS = {"m2m-100": "m2m_100", "bart": "roberta", "bart-scaled": "roberta", "bert": "bert"}
NOT_COPIED = {"config.json", "generation_config.json", "model.safetensors"}
SIZES = [
    Size(heads=3, head_width=12, layers=2, vocabulary=0, feed_forward=50, positions=40),
    Size(heads=2, head_width=16, layers=2, vocabulary=0, feed_forward=45, positions=33),
    Size(heads=4, head_width=8, layers=1, vocabulary=0, feed_forward=64, positions=48),
]
SMALL = Size(heads=2, head_width=8, layers=1, vocabulary=0, feed_forward=20, positions=24)  # for committed files


def family(case: str) -> str:
    return CASES[case].family


def bert_tokenizer(directory: Path) -> Any:
    from tokenizers import BertWordPieceTokenizer

    from make_tokenizer_goldens import CORPUS

    trainer = BertWordPieceTokenizer(lowercase=True)
    trainer.train_from_iterator(CORPUS.splitlines(), vocab_size=300, show_progress=False)
    tokens = sorted(trainer.get_vocab(), key=trainer.get_vocab().get)
    (directory / "vocab.txt").write_text("".join(token + "\n" for token in tokens))
    slow_tokenizers.write(directory / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": True})
    return slow_tokenizers.load(directory)


def make_tokenizer(case: str, directory: Path) -> Any:
    directory.mkdir(parents=True, exist_ok=True)
    name = TOKENIZERS.get(case, case.split("-")[0])
    return bert_tokenizer(directory) if name == "bert" else slow_tokenizers.build(name, directory)


def make_original(case: str, seed: int, directory: Path, size: Size) -> tuple[Any, Any]:
    tokenizer = make_tokenizer(case, directory)
    vocabulary = len(tokenizer)
    if case == "m2m-100":
        vocabulary += 8  # its tokenizer counts this many words that do not exist
    if case.startswith("t5"):
        vocabulary += 3  # more rows than tokens
    config = make_config(CASES[case], dataclasses.replace(size, vocabulary=vocabulary))
    if family(case) == "gpt2":
        config.bos_token_id = config.eos_token_id = tokenizer.eos_token_id
    model = getattr(transformers, CASES[case].head)(config)
    if family(case) == "t5":
        config.max_length = 12
    randomize(model, torch.Generator().manual_seed(seed), mixing=True)
    with torch.no_grad():
        if family(case) == "marian":  # padding begins the decoder with zeros and is never written
            for table in {id(t): t for t in (model.get_input_embeddings(), model.model.encoder.embed_tokens,
                                             model.model.decoder.embed_tokens, model.lm_head)}.values():  # fmt: skip
                table.weight[-1] = 0
            model.final_logits_bias[0, -1] = 0
    model.eval().save_pretrained(directory)
    return model, tokenizer


def make(case: str, kind: str, seed: int, directory: Path, size: Size | None = None) -> tuple[Path, Path]:
    original, converted = directory / "original", directory / kind
    make_original(case, seed, original, size or SIZES[seed % len(SIZES)])
    files = [path.name for path in original.iterdir() if path.name not in NOT_COPIED]
    TransformersConverter(str(original), copy_files=files).convert(str(converted), quantization=kind)
    give_back(case, converted / "model.bin", original)
    return original, converted


# ---- the file ---------------------------------------------------------------------------------------------

TYPES = [np.float32, np.int8, np.int16, np.int32, np.float16, np.uint16]  # the last are bfloat16's bits


def read(path: Path) -> tuple[str, int, dict[str, tuple[int, np.ndarray]], dict[str, str]]:
    """The spec's name and revision, variables by name (number of the type, numbers), aliases."""
    data, at = path.read_bytes(), 0

    def number(form: str) -> int:
        nonlocal at
        (value,) = struct.unpack_from(form, data, at)
        at += struct.calcsize(form)
        return value

    def text() -> str:
        nonlocal at
        size = number("H")
        at += size
        return data[at - size : at - 1].decode()

    assert number("I") == 6
    spec, revision = text(), number("I")
    variables: dict[str, tuple[int, np.ndarray]] = {}
    for _ in range(number("I")):
        name = text()
        shape = [number("I") for _ in range(number("B"))]
        kind, size = number("B"), number("I")
        variables[name] = (kind, np.frombuffer(data, TYPES[kind], size // TYPES[kind]().itemsize, at).reshape(shape))
        at += size
    aliases = {text(): text() for _ in range(number("I"))}
    assert at == len(data)
    return spec, revision, variables, aliases


def dequantized(path: Path) -> dict[str, torch.Tensor]:
    """All variables as float32, aliases included."""
    _, _, variables, aliases = read(path)
    numbers = {}
    for name, (kind, array) in variables.items():
        if name.endswith("_scale") and name.removesuffix("_scale") in variables:
            continue
        value = (array.astype(np.uint32) << 16).view(np.float32) if kind == 5 else array.astype(np.float32)
        if kind in (1, 2) and array.ndim > 0:
            factor = np.float32(1) / variables[name + "_scale"][1]
            value = value * (factor[:, None] if kind == 1 else factor)
        numbers[name] = torch.from_numpy(np.array(value, np.float32))
    return numbers | {alias: numbers[name] for alias, name in aliases.items()}


def give_back(case: str, path: Path, original: Path) -> None:
    """Puts the file's numbers into the original's checkpoint, from what its loader says it does with each module."""
    file, state = dequantized(path), load_file(original / "model.safetensors")
    before = dict(state)

    def put(name: str, value: torch.Tensor) -> None:
        if name not in state:
            return
        whole = state[name]
        if value.shape != whole.shape:  # a row of padding at the end, or unused rows at the start
            begin = whole.shape[0] - value.shape[0] if "embed_positions" in name else 0
            whole = whole.clone()
            whole[begin : begin + value.shape[0]] = value
            value = whole
        state[name] = value.contiguous()

    for theirs, ours, parts, turned in modules(case):
        for leaf, ending in (("weight", "weight"), ("bias", "bias"), ("gamma", "weight"), ("beta", "bias"), ("encodings", "weight")):
            value = file.get(f"{theirs}/{leaf}")
            if value is None:
                continue
            for part, piece in zip(parts or [""], value.chunk(len(parts or [""]))):
                name = f"{ours}.{part}.{ending}" if part else f"{ours}.{ending}"
                put(name, piece.T if turned and piece.ndim == 2 else piece)
    for stack in ("encoder", "decoder"):
        if (bias := file.get(f"{stack}/layer_0/self_attention/relative_attention_bias")) is not None:
            put(f"{stack}.block.0.layer.0.SelfAttention.relative_attention_bias.weight", bias)
    if (bias := file.get("decoder/projection/bias")) is not None:
        whole = state["final_logits_bias"].clone()
        whole[0, : bias.shape[0]] = bias
        state["final_logits_bias"] = whole
    save_file(state, original / "model.safetensors", metadata={"format": "pt"})
    if path.parent.name == "float32" and any(not torch.equal(before[name], value) for name, value in state.items()):
        raise RuntimeError(f"{case}: the float32 numbers are not the original ones")


def modules(case: str) -> list[tuple[str, str, list[str], bool]]:
    """The file's module, the checkpoint's, the parts that were put together, and whether it was turned."""
    kind, rows = family(case), []
    qkv = {"t5": ["q", "k", "v"], "bert": ["query", "key", "value"]}.get(kind, ["q_proj", "k_proj", "v_proj"])
    if kind == "gpt2":
        rows = [("decoder/embeddings", "transformer.wte", [], False), ("decoder/position_encodings", "transformer.wpe", [], False),
                ("decoder/layer_norm", "transformer.ln_f", [], False), ("decoder/projection", "lm_head", [], False)]  # fmt: skip
    elif kind == "bert":
        rows = [("encoder/embeddings_0", "embeddings.word_embeddings", [], False),
                ("encoder/embeddings_1", "embeddings.token_type_embeddings", [], False),
                ("encoder/position_encodings", "embeddings.position_embeddings", [], False),
                ("encoder/layernorm_embedding", "embeddings.LayerNorm", [], False), ("pooler_dense", "pooler.dense", [], False)]  # fmt: skip
    else:
        body = "" if kind == "t5" else "model."
        rows = [("decoder/embeddings", body + "shared", [], False), ("decoder/projection", "lm_head", [], False),
                ("encoder/embeddings_0", body + "encoder.embed_tokens", [], False),
                ("decoder/embeddings", body + "decoder.embed_tokens", [], False)]  # fmt: skip
        for stack in ("encoder", "decoder"):
            last = "final_layer_norm" if kind == "t5" else "layer_norm"
            rows += [(f"{stack}/layer_norm", f"{body}{stack}.{last}", [], False),
                     (f"{stack}/layernorm_embedding", f"{body}{stack}.layernorm_embedding", [], False)]  # fmt: skip
            if kind == "bart":
                rows.append((f"{stack}/position_encodings", f"model.{stack}.embed_positions", [], False))
    for stack in ("encoder", "decoder"):
        for i in range(4):
            theirs = f"{stack}/layer_{i}"
            own, cross, feed = f"{theirs}/self_attention/", f"{theirs}/attention/", f"{theirs}/ffn/"
            if kind == "gpt2":
                ours = f"transformer.h.{i}"
                rows += [(own + "layer_norm", ours + ".ln_1", [], False), (own + "linear_0", ours + ".attn.c_attn", [], True),
                         (own + "linear_1", ours + ".attn.c_proj", [], True), (feed + "layer_norm", ours + ".ln_2", [], False),
                         (feed + "linear_0", ours + ".mlp.c_fc", [], True), (feed + "linear_1", ours + ".mlp.c_proj", [], True)]  # fmt: skip
            elif kind == "bert":
                ours = f"encoder.layer.{i}"
                rows += [(own + "linear_0", ours + ".attention.self", qkv, False),
                         (own + "linear_1", ours + ".attention.output.dense", [], False),
                         (own + "layer_norm", ours + ".attention.output.LayerNorm", [], False),
                         (feed + "linear_0", ours + ".intermediate.dense", [], False),
                         (feed + "linear_1", ours + ".output.dense", [], False),
                         (feed + "layer_norm", ours + ".output.LayerNorm", [], False)]  # fmt: skip
            elif kind == "t5":
                ours = f"{stack}.block.{i}.layer."
                last = ours + ("2" if stack == "decoder" else "1")
                rows += [(own + "linear_0", ours + "0.SelfAttention", qkv, False), (own + "linear_1", ours + "0.SelfAttention.o", [], False),
                         (own + "layer_norm", ours + "0.layer_norm", [], False), (cross + "layer_norm", ours + "1.layer_norm", [], False),
                         (cross + "linear_0", ours + "1.EncDecAttention.q", [], False),
                         (cross + "linear_1", ours + "1.EncDecAttention", ["k", "v"], False),
                         (cross + "linear_2", ours + "1.EncDecAttention.o", [], False), (feed + "layer_norm", last + ".layer_norm", [], False),
                         (feed + "linear_0", last + ".DenseReluDense.wi", [], False), (feed + "linear_0", last + ".DenseReluDense.wi_0", [], False),
                         (feed + "linear_0_noact", last + ".DenseReluDense.wi_1", [], False),
                         (feed + "linear_1", last + ".DenseReluDense.wo", [], False)]  # fmt: skip
            else:
                ours = f"model.{stack}.layers.{i}."
                rows += [(own + "linear_0", ours + "self_attn", qkv, False), (own + "linear_1", ours + "self_attn.out_proj", [], False),
                         (own + "layer_norm", ours + "self_attn_layer_norm", [], False),
                         (cross + "linear_0", ours + "encoder_attn.q_proj", [], False),
                         (cross + "linear_1", ours + "encoder_attn", qkv[1:], False),
                         (cross + "linear_2", ours + "encoder_attn.out_proj", [], False),
                         (cross + "layer_norm", ours + "encoder_attn_layer_norm", [], False),
                         (feed + "linear_0", ours + "fc1", [], False), (feed + "linear_1", ours + "fc2", [], False),
                         (feed + "layer_norm", ours + "final_layer_norm", [], False)]  # fmt: skip
    return rows
