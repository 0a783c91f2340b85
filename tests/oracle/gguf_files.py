"""Tiny random models in GGUF files: GPT-2, GPT-J, BERT and T5. Those of gguf_decoders.py are written here too.

Tensors have the names of llama.cpp's convert_hf_to_gguf.py (gguf's own table of names). Tokenizers are trained on our
corpus. Blocks that the package gguf cannot make (Q2_K to Q6_K, IQ1 to IQ4) are random.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
import transformers
from gguf import GGMLQuantizationType as Type
from sentencepiece import sentencepiece_model_pb2

import gguf_decoders
import slow_tokenizers
from make_tokenizer_goldens import CORPUS
from models import randomize

TYPES = [Type.F32, Type.F16, Type.BF16, Type.Q8_0, Type.Q4_0, Type.Q4_1, Type.Q5_0, Type.Q5_1, Type.Q4_K, Type.Q5_K, Type.Q6_K,
         Type.Q2_K, Type.Q3_K, Type.IQ4_NL, Type.IQ4_XS, Type.MXFP4, Type.IQ2_XXS, Type.IQ2_XS, Type.IQ2_S, Type.IQ3_XXS, Type.IQ3_S,
         Type.IQ1_S, Type.IQ1_M]
CASES = ["gpt2", "gpt2-untied", "gptj", "bert", "bert-cased", "t5", "t5-gated", "t5encoder", *gguf_decoders.CASES]
# The positions of a block's float16, and their size, so that numbers have a standard deviation of about 0.05: with larger
# ones a model would amplify rounding.
SCALES = {Type.Q4_K: ([0, 2], 7e-5), Type.Q5_K: ([0, 2], 7e-5), Type.Q6_K: ([208], 4e-5), Type.Q2_K: ([80, 82], 1e-3),
          Type.Q3_K: ([108], 1e-3), Type.IQ4_NL: ([0], 7e-4), Type.IQ4_XS: ([0], 4e-5), Type.IQ2_XXS: ([0], 1e-3),
          Type.IQ2_XS: ([0], 1e-3), Type.IQ2_S: ([0], 1e-3), Type.IQ3_XXS: ([0], 3e-4), Type.IQ3_S: ([0], 3e-4),
          Type.IQ1_S: ([0], 2e-3), Type.IQ1_M: ([], 0)}  # fmt: skip


def quantize(rng: np.random.Generator, numbers: np.ndarray, kind: Type) -> np.ndarray:
    """The blocks of [rows, columns] numbers, or random blocks if the package cannot make this type."""
    if kind in SCALES:
        count, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, (numbers.size // count, size), dtype=np.uint8)
        places, unit = SCALES[kind]
        for place in places:
            scale = (rng.normal(size=len(blocks)) * unit).astype(np.float16)
            blocks[:, place : place + 2] = scale[:, None].view(np.uint8)
        if kind == Type.IQ1_M:  # its float16 is in the highest bits of four words: a small one, of any sign
            blocks[:, 49::2] &= 0x0F
            blocks[:, [51, 53]] |= rng.integers(0, 16, (len(blocks), 2), dtype=np.uint8) << 4
            blocks[:, 55] |= rng.choice(np.array([0x10, 0x90], np.uint8), len(blocks))
        return blocks.reshape(numbers.shape[0], -1)
    return gguf.quants.quantize(np.ascontiguousarray(numbers, np.float32), kind)


def make_bert_tokenizer(directory: Path, cased: bool) -> Any:
    from tokenizers import BertWordPieceTokenizer

    trainer = BertWordPieceTokenizer(lowercase=not cased)
    trainer.train_from_iterator(CORPUS.splitlines(), vocab_size=400, show_progress=False)
    tokens = sorted(trainer.get_vocab(), key=trainer.get_vocab().get)
    (directory / "vocab.txt").write_text("".join(token + "\n" for token in tokens))
    slow_tokenizers.write(directory / "tokenizer_config.json", {"tokenizer_class": "BertTokenizer", "do_lower_case": not cased})
    return slow_tokenizers.load(directory)


def make_tokenizer(case: str, directory: Path) -> Any:
    directory.mkdir(parents=True, exist_ok=True)
    if case in gguf_decoders.CASES:
        return gguf_decoders.make_tokenizer(case, directory)
    if case.startswith("bert"):
        return make_bert_tokenizer(directory, case == "bert-cased")
    return slow_tokenizers.build("t5" if case.startswith("t5") else "gpt2", directory)


def make_config(case: str, vocabulary: int, width: int, layers: int) -> Any:
    if case in gguf_decoders.CASES:
        return gguf_decoders.make_config(case, vocabulary, width, layers)
    # Heads of a quarter of the width; feed-forward layers of another width; both a multiple of a block.
    gpt = dict(vocab_size=vocabulary, n_embd=width, n_layer=layers, n_head=4, n_positions=48, n_inner=2 * width,
               bos_token_id=0, eos_token_id=0, tie_word_embeddings=case == "gpt2")  # fmt: skip
    if case in ("gpt2", "gpt2-untied"):
        return transformers.GPT2Config(**gpt)
    if case == "gptj":
        return transformers.GPTJConfig(**gpt, rotary_dim=width // 8)
    if case.startswith("bert"):
        return transformers.BertConfig(
            vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4,
            intermediate_size=2 * width, max_position_embeddings=48,
        )  # fmt: skip
    gated = case == "t5-gated"
    return transformers.T5Config(
        vocab_size=vocabulary, d_model=width, d_kv=width // 4, d_ff=2 * width, num_layers=layers, num_heads=4,
        num_decoder_layers=layers + (case == "t5"), relative_attention_num_buckets=8, decoder_start_token_id=0,
        feed_forward_proj="gated-gelu" if gated else "relu", tie_word_embeddings=not gated,
    )  # fmt: skip


def make_model(case: str, config: Any) -> Any:
    if case in gguf_decoders.CASES:
        return gguf_decoders.make_model(case, config)
    if case.startswith("bert"):
        return transformers.BertModel(config, add_pooling_layer=False)
    head = {"gpt2": "GPT2LMHeadModel", "gpt2-untied": "GPT2LMHeadModel", "gptj": "GPTJForCausalLM",
            "t5encoder": "T5EncoderModel"}.get(case, "T5ForConditionalGeneration")  # fmt: skip
    return getattr(transformers, head)(config)


ARCHITECTURES = {"gpt2": gguf.MODEL_ARCH.GPT2, "gptj": gguf.MODEL_ARCH.GPTJ, "bert": gguf.MODEL_ARCH.BERT,
                 "t5": gguf.MODEL_ARCH.T5, "t5encoder": gguf.MODEL_ARCH.T5ENCODER}  # fmt: skip


def architecture(case: str) -> str:
    return case.split("-")[0]


def arch_of(case: str) -> gguf.MODEL_ARCH:
    return gguf_decoders.CASES[case].arch if case in gguf_decoders.CASES else ARCHITECTURES[architecture(case)]


def write_metadata(writer: gguf.GGUFWriter, case: str, config: Any) -> None:
    if case in gguf_decoders.CASES:
        return gguf_decoders.write_metadata(writer, case, config)
    arch = architecture(case)
    writer.add_context_length(48)
    if arch in ("gpt2", "gptj"):
        writer.add_block_count(config.n_layer)
        writer.add_embedding_length(config.n_embd)
        writer.add_feed_forward_length(config.n_inner)
        writer.add_head_count(config.n_head)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        if arch == "gptj":
            writer.add_rope_dimension_count(config.rotary_dim)
    elif arch == "bert":
        writer.add_block_count(config.num_hidden_layers)
        writer.add_embedding_length(config.hidden_size)
        writer.add_feed_forward_length(config.intermediate_size)
        writer.add_head_count(config.num_attention_heads)
        writer.add_layer_norm_eps(config.layer_norm_eps)
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.CLS if case == "bert-cased" else gguf.PoolingType.MEAN)
    else:
        writer.add_block_count(config.num_layers)
        writer.add_embedding_length(config.d_model)
        writer.add_feed_forward_length(config.d_ff)
        writer.add_head_count(config.num_heads)
        writer.add_key_length(config.d_kv)
        writer.add_value_length(config.d_kv)
        writer.add_layer_norm_eps(config.layer_norm_epsilon)
        writer.add_layer_norm_rms_eps(config.layer_norm_epsilon)
        writer.add_relative_attn_buckets_count(config.relative_attention_num_buckets)
        if arch == "t5":
            writer.add_decoder_block_count(config.num_decoder_layers)
            writer.add_decoder_start_token_id(config.decoder_start_token_id)


def write_gpt2_tokenizer(writer: gguf.GGUFWriter, directory: Path, vocabulary: int) -> None:
    tokens = json.loads((directory / "vocab.json").read_text())
    by_id = {number: token for token, number in tokens.items()}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-2")
    writer.add_token_list([by_id.get(i, f"[PAD{i}]") for i in range(vocabulary)])
    kinds = [gguf.TokenType.UNUSED if i not in by_id else
             gguf.TokenType.CONTROL if by_id[i] == "<|endoftext|>" else gguf.TokenType.NORMAL for i in range(vocabulary)]  # fmt: skip
    writer.add_token_types(kinds)
    writer.add_token_merges((directory / "merges.txt").read_text().splitlines()[1:])
    for add in (writer.add_bos_token_id, writer.add_eos_token_id, writer.add_unk_token_id):
        add(tokens["<|endoftext|>"])


def write_bert_tokenizer(writer: gguf.GGUFWriter, directory: Path) -> None:
    tokens = (directory / "vocab.txt").read_text().splitlines()
    special = [token.startswith("[") and token.endswith("]") for token in tokens]
    writer.add_tokenizer_model("bert")
    writer.add_token_type_count(2)
    writer.add_token_list(
        [token if whole else token[2:] if token.startswith("##") else "\u2581" + token for token, whole in zip(tokens, special)]
    )
    writer.add_token_types([gguf.TokenType.CONTROL if whole else gguf.TokenType.NORMAL for whole in special])
    ids = {token: i for i, token in enumerate(tokens)}
    writer.add_unk_token_id(ids["[UNK]"])
    writer.add_sep_token_id(ids["[SEP]"])
    writer.add_pad_token_id(ids["[PAD]"])
    writer.add_mask_token_id(ids["[MASK]"])


def write_t5_tokenizer(writer: gguf.GGUFWriter, directory: Path, vocabulary: int) -> None:
    model = sentencepiece_model_pb2.ModelProto.FromString((directory / "spiece.model").read_bytes())
    padding = range(len(model.pieces), vocabulary)
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece.piece for piece in model.pieces] + [f"[PAD{i}]" for i in padding])
    writer.add_token_scores([piece.score for piece in model.pieces] + [-10000.0 for _ in padding])
    writer.add_token_types([piece.type for piece in model.pieces] + [gguf.TokenType.UNUSED for _ in padding])
    writer.add_add_space_prefix(model.normalizer_spec.add_dummy_prefix)
    writer.add_remove_extra_whitespaces(model.normalizer_spec.remove_extra_whitespaces)
    if model.normalizer_spec.precompiled_charsmap:
        writer.add_precompiled_charsmap(model.normalizer_spec.precompiled_charsmap)
    writer.add_eos_token_id(1)
    writer.add_unk_token_id(2)
    writer.add_pad_token_id(0)


def make(case: str, kind: Type, seed: int, directory: Path, width: int | None = None, layers: int = 2) -> Path:
    """Writes original/ (the dequantized model, its tokenizer) and model.gguf, and returns the path of model.gguf."""
    rng = np.random.default_rng(seed)
    original = directory / "original"
    tokenizer = make_tokenizer(case, original)
    width = width or (256 if gguf.GGML_QUANT_SIZES[kind][0] == 256 else 64)
    vocabulary = len(tokenizer) + 3  # some models have more rows than tokens
    config = make_config(case, vocabulary, width, layers)
    model = make_model(case, config)
    randomize(model, torch.Generator().manual_seed(seed))
    arch, decodes = arch_of(case), case in gguf_decoders.CASES
    names = gguf.get_tensor_name_map(arch, max(layers, getattr(config, "num_decoder_layers", 0) or 0) + 1)
    path = directory / "model.gguf"
    writer = gguf.GGUFWriter(path, gguf.MODEL_ARCH_NAMES[arch])
    write_metadata(writer, case, config)
    if decodes:
        gguf_decoders.write_tokenizer(writer, case, original, vocabulary)
        for name, numbers in gguf_decoders.factors(case, config).items():
            writer.add_tensor(name, numbers)
    elif case.startswith("bert"):
        write_bert_tokenizer(writer, original)
    elif case.startswith("t5"):
        write_t5_tokenizer(writer, original, vocabulary)
    else:
        write_gpt2_tokenizer(writer, original, vocabulary)

    state = model.state_dict()
    kept: set[int] = set()
    with torch.no_grad():
        for name, parameter in state.items():
            if parameter.data_ptr() in kept or name.endswith(("position_ids", ".attn.bias", ".attn.masked_bias")):
                continue
            kept.add(parameter.data_ptr())
            theirs = names.get_name(name, try_suffixes=(".weight", ".bias"))
            if theirs is None:
                raise RuntimeError(f"{case}: gguf has no name for {name}")
            turned = arch == gguf.MODEL_ARCH.GPT2 and name.endswith((".c_attn.weight", ".c_proj.weight", ".c_fc.weight"))
            numbers = (parameter.T if turned else parameter).float().contiguous().numpy()
            order = gguf_decoders.rows(case, name, config, len(numbers)) if decodes else None
            offset = gguf_decoders.shift(case, name) if decodes else 0.0
            if order is not None:
                numbers = numbers[order]
            numbers = numbers + np.float32(offset)
            whole = numbers.ndim < 2 or numbers.shape[-1] % gguf.GGML_QUANT_SIZES[kind][0] or "attn_rel_b" in theirs
            use = Type.F32 if whole else kind
            data = quantize(rng, numbers, use)
            writer.add_tensor(theirs, data, raw_dtype=use)
            read = gguf.quants.dequantize(data, use).reshape(numbers.shape) - np.float32(offset)
            back = torch.from_numpy(read if order is None else read[np.argsort(order)])
            parameter.copy_(back.T if turned else back)
            if case == "gpt2" and theirs == "token_embd.weight" and seed % 2:  # as older converters did
                writer.add_tensor("output.weight", data, raw_dtype=use)
    model.save_pretrained(original)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
