"""Tiny random Llamas and relatives in GGUF files, laid out as llama.cpp's convert_hf_to_gguf.py does it.

check_gguf.py compares attend with the originals that these files are made of.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import transformers
from gguf import MODEL_ARCH as Arch
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

import slow_tokenizers
from make_tokenizer_goldens import CORPUS

LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 12}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 10}


@dataclass(frozen=True)
class Decoder:
    arch: Arch
    config: type[transformers.PretrainedConfig]
    head: str
    tokenizer: str
    fields: dict[str, Any] = field(default_factory=dict)


CASES = {
    "llama": Decoder(Arch.LLAMA, transformers.LlamaConfig, "LlamaForCausalLM", "llama"),
    "llama-smollm": Decoder(Arch.LLAMA, transformers.LlamaConfig, "LlamaForCausalLM", "smollm", {"tie_word_embeddings": True}),
    "llama-3": Decoder(Arch.LLAMA, transformers.LlamaConfig, "LlamaForCausalLM", "llama-bpe",
                       {"rope_scaling": LLAMA_3, "rope_theta": 500000.0, "head_dim": 24, "attention_bias": True, "mlp_bias": True}),
    "llama-linear": Decoder(Arch.LLAMA, transformers.LlamaConfig, "LlamaForCausalLM", "tekken",
                            {"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
    "qwen2": Decoder(Arch.QWEN2, transformers.Qwen2Config, "Qwen2ForCausalLM", "qwen2"),
    "qwen2-yarn": Decoder(Arch.QWEN2, transformers.Qwen2Config, "Qwen2ForCausalLM", "qwen2", {"rope_scaling": YARN}),
    "qwen3": Decoder(Arch.QWEN3, transformers.Qwen3Config, "Qwen3ForCausalLM", "qwen2", {"head_dim": 32, "tie_word_embeddings": True}),
    "phi2": Decoder(Arch.PHI2, transformers.PhiConfig, "PhiForCausalLM", "gpt-2", {"partial_rotary_factor": 0.5}),
    "phi3": Decoder(Arch.PHI3, transformers.Phi3Config, "Phi3ForCausalLM", "llama",
                    {"original_max_position_embeddings": 8, "sliding_window": 6}),
    "gemma": Decoder(Arch.GEMMA, transformers.GemmaConfig, "GemmaForCausalLM", "gemma", {"head_dim": 32, "tie_word_embeddings": True}),
    "gemma2": Decoder(Arch.GEMMA2, transformers.Gemma2Config, "Gemma2ForCausalLM", "gemma",
                      {"head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 4, "attn_logit_softcapping": 1.5,
                       "final_logit_softcapping": 2.0, "tie_word_embeddings": True}),
    "gemma3": Decoder(Arch.GEMMA3, transformers.Gemma3TextConfig, "Gemma3ForCausalLM", "gemma",
                      {"head_dim": 32, "query_pre_attn_scalar": 32, "sliding_window": 4, "rope_theta": 1000000.0,
                       "rope_scaling": {"rope_type": "linear", "factor": 8.0}, "tie_word_embeddings": True}),
    "olmo2": Decoder(Arch.OLMO2, transformers.Olmo2Config, "Olmo2ForCausalLM", "olmo"),
    "smollm3": Decoder(Arch.SMOLLM3, transformers.SmolLM3Config, "SmolLM3ForCausalLM", "llama-bpe", {"tie_word_embeddings": True}),
    "granite": Decoder(Arch.GRANITE, transformers.GraniteConfig, "GraniteForCausalLM", "refact",
                       {"embedding_multiplier": 2.0, "attention_multiplier": 0.4, "residual_multiplier": 0.7, "logits_scaling": 3.0,
                        "tie_word_embeddings": True}),
    "command-r": Decoder(Arch.COMMAND_R, transformers.CohereConfig, "CohereForCausalLM", "command-r", {"logit_scale": 0.25, "tie_word_embeddings": True}),
    "stablelm": Decoder(Arch.STABLELM, transformers.StableLmConfig, "StableLmForCausalLM", "stablelm2",
                        {"partial_rotary_factor": 0.25, "use_qkv_bias": True}),
    "starcoder2": Decoder(Arch.STARCODER2, transformers.Starcoder2Config, "Starcoder2ForCausalLM", "starcoder"),
    "gptneox": Decoder(Arch.GPTNEOX, transformers.GPTNeoXConfig, "GPTNeoXForCausalLM", "olmo", {"rotary_pct": 0.25}),
    "gptneox-serial": Decoder(Arch.GPTNEOX, transformers.GPTNeoXConfig, "GPTNeoXForCausalLM", "gpt-4o",
                              {"rotary_pct": 1.0, "use_parallel_residual": False}),
}  # fmt: skip
PAIRS = (Arch.LLAMA, Arch.SMOLLM3, Arch.GRANITE)  # the converter interleaves the halves of their queries and
                                                  # keys
GEMMAS = (Arch.GEMMA, Arch.GEMMA2, Arch.GEMMA3)

LLAMA_3_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
QWEN_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
TEKKEN_WORDS = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*|\p{{N}}"
                r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")  # fmt: skip
ENDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
GPT_4O_WORDS = (rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{ENDS}|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{ENDS}|\p{{N}}{{1,3}}"
                r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")  # fmt: skip
WORDS = {"llama-bpe": LLAMA_3_WORDS, "qwen2": QWEN_WORDS, "stablelm2": QWEN_WORDS, "tekken": TEKKEN_WORDS, "gpt-4o": GPT_4O_WORDS}
DIGITS_APART = ("smollm", "starcoder", "refact", "command-r")
BEGINS = ("llama-bpe", "tekken")


def make_bpe(kind: str, directory: Path) -> Any:
    tokenizer = Tokenizer(models.BPE(ignore_merges=kind in BEGINS))
    if kind in WORDS:
        split = pre_tokenizers.Split(Regex(WORDS[kind]), "isolated")
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    elif kind in DIGITS_APART:
        digits = pre_tokenizers.Digits(individual_digits=True)
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    else:
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if kind == "qwen2":
        tokenizer.normalizer = normalizers.NFC()
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=420, special_tokens=["<s>", "</s>", "<pad>"], show_progress=False,
                                  initial_alphabet=pre_tokenizers.ByteLevel.alphabet())  # fmt: skip
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainer)
    if kind in BEGINS:
        tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B:1", special_tokens=[("<s>", 0)])
    directory.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(directory / "tokenizer.json"))
    slow_tokenizers.write(directory / "tokenizer_config.json", {
        "tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>",
        "clean_up_tokenization_spaces": False})  # fmt: skip
    return slow_tokenizers.load(directory)


def make_gemma(directory: Path) -> Any:
    directory.mkdir(parents=True, exist_ok=True)
    runs = ["\n", "\n\n", "\n\n\n", "\t", "\t\t", "▁▁", "▁▁▁", "▁▁▁▁", "<b>"]
    slow_tokenizers.spm(directory / "tokenizer.model", rules="identity", model_type="bpe", byte_fallback=True, vocab_size=520,
                        remove_extra_whitespaces=False, add_dummy_prefix=False, pad_id=0, eos_id=1, bos_id=2, unk_id=3,
                        pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", user_defined_symbols=runs)  # fmt: skip
    slow_tokenizers.write(directory / "tokenizer_config.json", {"tokenizer_class": "GemmaTokenizer"})
    return slow_tokenizers.load(directory)


def make_tokenizer(case: str, directory: Path) -> Any:
    kind = CASES[case].tokenizer
    if kind == "gemma":
        return make_gemma(directory)
    return slow_tokenizers.build("llama", directory) if kind == "llama" else make_bpe(kind, directory)


def write_bpe(writer: gguf.GGUFWriter, kind: str, directory: Path, vocabulary: int) -> None:
    parsed = json.loads((directory / "tokenizer.json").read_text())
    by_id = {number: token for token, number in parsed["model"]["vocab"].items()}
    special = {token["id"] for token in parsed["added_tokens"]}
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre(kind)
    writer.add_token_list([by_id.get(i, f"[PAD{i}]") for i in range(vocabulary)])
    writer.add_token_types([gguf.TokenType.UNUSED if i not in by_id else
                            gguf.TokenType.CONTROL if i in special else gguf.TokenType.NORMAL for i in range(vocabulary)])  # fmt: skip
    merges = parsed["model"]["merges"]
    writer.add_token_merges([merge if isinstance(merge, str) else " ".join(merge) for merge in merges])
    for add, token in ((writer.add_bos_token_id, 0), (writer.add_eos_token_id, 1), (writer.add_pad_token_id, 2)):
        add(token)


def write_pieces(writer: gguf.GGUFWriter, kind: str, directory: Path, vocabulary: int) -> None:
    model = sentencepiece_model_pb2.ModelProto.FromString((directory / "tokenizer.model").read_bytes())
    padding = range(len(model.pieces), vocabulary)
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    # The converter writes the spaces of added tokens as such.
    texts = [piece.piece.replace("▁", " ") if piece.type == piece.USER_DEFINED else piece.piece for piece in model.pieces]
    writer.add_token_list(texts + [f"[PAD{i}]" for i in padding])
    scores = [-1000.0 if piece.type == piece.USER_DEFINED else piece.score for piece in model.pieces]
    writer.add_token_scores(scores + [-1000.0 for _ in padding])
    # Gemma's unknown token is a control token there.
    types = [gguf.TokenType.CONTROL if kind == "gemma" and piece.type == piece.UNKNOWN else piece.type for piece in model.pieces]
    writer.add_token_types(types + [gguf.TokenType.UNUSED for _ in padding])
    if kind == "gemma":
        writer.add_add_space_prefix(False)
    ids = {piece.piece: i for i, piece in enumerate(model.pieces)}
    for add, texts in ((writer.add_bos_token_id, ("<s>", "<bos>")), (writer.add_eos_token_id, ("</s>", "<eos>")),
                       (writer.add_unk_token_id, ("<unk>",)), (writer.add_pad_token_id, ("<pad>",))):  # fmt: skip
        for text in texts:
            if text in ids:
                add(ids[text])


def write_tokenizer(writer: gguf.GGUFWriter, case: str, directory: Path, vocabulary: int) -> None:
    kind = CASES[case].tokenizer
    (write_pieces if kind in ("llama", "gemma") else write_bpe)(writer, kind, directory, vocabulary)


def make_config(case: str, vocabulary: int, width: int, layers: int) -> transformers.PretrainedConfig:
    decoder = CASES[case]
    fields = dict(vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, num_key_value_heads=2,
                  intermediate_size=2 * width, max_position_embeddings=48, bos_token_id=0, eos_token_id=1, pad_token_id=None,
                  tie_word_embeddings=False)  # fmt: skip
    if decoder.tokenizer in ("llama", "gemma"):
        fields |= {"bos_token_id": 2 if decoder.tokenizer == "gemma" else 1, "eos_token_id": 1 if decoder.tokenizer == "gemma" else 2}
    if case == "phi3":
        pairs = width // 8
        scaling = {"short_factor": [1.0 + i / pairs for i in range(pairs)], "long_factor": [2.0 + i for i in range(pairs)]}
        fields |= {"rope_scaling": {"type": "longrope"} | scaling, "pad_token_id": 0}
    if decoder.arch == Arch.GPTNEOX:
        del fields["num_key_value_heads"]
    return decoder.config(**(fields | decoder.fields))


def make_model(case: str, config: transformers.PretrainedConfig) -> Any:
    return getattr(transformers, CASES[case].head)(config)


def head_size(config: transformers.PretrainedConfig) -> int:
    return getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads


def write_metadata(writer: gguf.GGUFWriter, case: str, config: transformers.PretrainedConfig) -> None:
    arch, head = CASES[case].arch, head_size(config)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_embedding_length(config.hidden_size)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    if arch != Arch.GPTNEOX:
        writer.add_head_count_kv(config.num_key_value_heads)
        writer.add_rope_freq_base(config.rope_theta)
    if "head_dim" in CASES[case].fields:
        writer.add_key_length(head)
        writer.add_value_length(head)
    for name in ("rms_norm_eps", "layer_norm_eps", "norm_epsilon"):
        if hasattr(config, name):
            (writer.add_layer_norm_rms_eps if name == "rms_norm_eps" else writer.add_layer_norm_eps)(getattr(config, name))
    part = getattr(config, "rotary_pct", None) if arch == Arch.GPTNEOX else getattr(config, "partial_rotary_factor", None)
    if arch not in GEMMAS:
        writer.add_rope_dimension_count(int(head * (part or 1.0)))
    if getattr(config, "use_parallel_residual", None) is not None:
        writer.add_parallel_residual(config.use_parallel_residual)
    if arch in (Arch.PHI3, Arch.GEMMA2, Arch.GEMMA3):
        writer.add_sliding_window(config.sliding_window)
    if arch == Arch.GEMMA2:
        writer.add_attn_logit_softcapping(config.attn_logit_softcapping)
        writer.add_final_logit_softcapping(config.final_logit_softcapping)
    if arch == Arch.GRANITE:
        writer.add_attention_scale(config.attention_multiplier)
        writer.add_embedding_scale(config.embedding_multiplier)
        writer.add_residual_scale(config.residual_multiplier)
        writer.add_logit_scale(config.logits_scaling)
    if arch == Arch.COMMAND_R:
        writer.add_logit_scale(config.logit_scale)
        writer.add_rope_scaling_type(gguf.RopeScalingType.NONE)
    scaling = getattr(config, "rope_scaling", None) or {}
    kind = scaling.get("rope_type", scaling.get("type"))
    if kind in ("linear", "yarn"):
        writer.add_rope_scaling_type(gguf.RopeScalingType(kind))
        writer.add_rope_scaling_factor(scaling["factor"])
    if kind == "yarn":
        writer.add_rope_scaling_orig_ctx_len(scaling["original_max_position_embeddings"])
    if arch == Arch.PHI3:
        writer.add_rope_scaling_orig_ctx_len(config.original_max_position_embeddings)
        factor, original = config.max_position_embeddings / config.original_max_position_embeddings, config.original_max_position_embeddings
        writer.add_rope_scaling_attn_factors(math.sqrt(1 + math.log(factor) / math.log(original)))


def factors(case: str, config: transformers.PretrainedConfig) -> dict[str, np.ndarray]:
    """Tensors that the converter computes."""
    scaling = getattr(config, "rope_scaling", None) or {}
    if case == "phi3":
        return {f"rope_factors_{name}.weight": np.array(scaling[f"{name}_factor"], np.float32) for name in ("long", "short")}
    if scaling.get("rope_type") != "llama3":
        return {}
    divisors, head = [], head_size(config)
    for i in range(0, head, 2):
        length = 2 * math.pi * config.rope_theta ** (i / head)
        original, factor = scaling["original_max_position_embeddings"], scaling["factor"]
        low, high = scaling["low_freq_factor"], scaling["high_freq_factor"]
        kept = (original / length - low) / (high - low)
        divisors.append(1 if length < original / high else factor if length > original / low else 1 / ((1 - kept) / factor + kept))
    return {"rope_freqs.weight": np.array(divisors, np.float32)}


def rows(case: str, name: str, config: transformers.PretrainedConfig, count: int) -> np.ndarray | None:
    """In which order the converter puts a tensor's rows."""
    arch, heads = CASES[case].arch, config.num_attention_heads
    order = np.arange(count)
    if arch in PAIRS and ".q_proj." in name or arch in PAIRS and ".k_proj." in name:
        own = heads if ".q_proj." in name else config.num_key_value_heads
        return order.reshape(own, 2, -1).swapaxes(1, 2).reshape(-1)
    if arch == Arch.GPTNEOX and ".query_key_value." in name:
        return order.reshape(heads, 3, -1).swapaxes(0, 1).reshape(-1)
    return None


def shift(case: str, name: str) -> float:
    return 1.0 if CASES[case].arch in GEMMAS and name.endswith("norm.weight") else 0.0
