"""The config of a case in a size. Each group of families has a function."""

from __future__ import annotations

import dataclasses
from typing import Any

import transformers

import remote_configs
from model_cases import YARN, Case, Size
from model_families import BERT_LIKE, FAIRSEQ_DECODERS, GPT_LIKE, LINEAR_LIKE, LLAMA_LIKE, MARIAN_LIKE, PART_OF_HEADS, T5_LIKE
from originals import AttendGPT3Config

# The field with the number of experts.
EXPERTS = {"mixtral": "num_local_experts", "gpt_oss": "num_local_experts", "qwen2_moe": "num_experts", "qwen3_moe": "num_experts", "olmoe": "num_experts"}


def make_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    if case.family in GPT_LIKE and case.head.endswith("ForSequenceClassification"):  # several texts need one
        case = dataclasses.replace(case, settings={"pad_token_id": 0} | case.settings)
    if case.family in LLAMA_LIKE:
        return make_llama_config(case, size)
    if case.family in LINEAR_LIKE:
        return make_linear_config(case, size)
    if case.family == "modernbert":
        return make_modernbert_config(case, size)
    if case.family in remote_configs.FAMILIES:
        return remote_configs.remote_config(case.family, case.settings, size)
    if case.family in BERT_LIKE:
        return make_bert_config(case, size)
    if case.family in GPT_LIKE:
        return make_gpt_config(case, size)
    if case.family in T5_LIKE:
        return make_t5_config(case, size)
    if case.family in ("xlnet", "transfo-xl"):
        return make_xl_config(case, size)
    if case.family in ("vit", "vit_msn"):
        return make_vit_config(case, size)
    if case.family == "xlm":
        return make_xlm_config(case, size)
    return make_marian_config(case, size)


def make_bert_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    if case.family == "roformer" and size.head_width % 2:
        size = dataclasses.replace(size, head_width=size.head_width + 1)
    fields: dict[str, Any] = dict(
        vocab_size=size.vocabulary, hidden_size=size.width, num_hidden_layers=size.layers,
        num_attention_heads=size.heads, intermediate_size=size.feed_forward,
        max_position_embeddings=size.positions, type_vocab_size=2,
    )  # fmt: skip
    if case.family == "distilbert":
        fields = dict(
            vocab_size=size.vocabulary, dim=size.width, n_layers=size.layers, n_heads=size.heads,
            hidden_dim=size.feed_forward, max_position_embeddings=size.positions,
        )  # fmt: skip
    if case.family == "deberta-v2":
        fields |= dict(
            relative_attention=True, position_buckets=4, max_relative_positions=11, share_att_key=True,
            norm_rel_ebd="layer_norm", pos_att_type=["p2c", "c2p"], position_biased_input=False, type_vocab_size=0,
        )  # fmt: skip
    if case.family == "deberta":
        fields |= dict(
            relative_attention=True, max_relative_positions=9, pos_att_type=["p2c", "c2p"],
            position_biased_input=False, type_vocab_size=0,
        )  # fmt: skip
    if case.family == "mpnet":
        del fields["type_vocab_size"]
    if case.family == "big_bird":  # texts of eight tokens are sparse with blocks of one
        fields |= dict(block_size=1, num_random_blocks=1)
    if case.family in ("electra", "albert"):
        fields["embedding_size"] = size.width - 2
        fields["num_hidden_layers"] = max(  # fewer do not run in the original
            size.layers, case.settings.get("num_hidden_groups", 1), case.settings.get("inner_group_num", 1)
        )
    settings = {name: size.width if value is None else value for name, value in case.settings.items()}
    return BERT_LIKE[case.family](**(fields | settings))


def make_gpt_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields: dict[str, Any] = dict(
        vocab_size=size.vocabulary, n_embd=size.width, n_layer=size.layers, n_head=size.heads, n_positions=size.positions,
    )  # fmt: skip
    if case.family == "gpt2":
        return transformers.GPT2Config(**(fields | dict(bos_token_id=1, eos_token_id=1) | case.settings))
    if case.family == "attend-gpt3":
        return AttendGPT3Config(**(fields | dict(bos_token_id=1, eos_token_id=1, window_size=4) | case.settings))
    if case.family == "gpt_neo":
        fields = dict(
            vocab_size=size.vocabulary, hidden_size=size.width, num_layers=size.layers, num_heads=size.heads,
            max_position_embeddings=size.positions, window_size=4, intermediate_size=size.feed_forward,
            attention_types=[[["local", "global", "local", "local"][: size.layers], 1]],
        )  # fmt: skip
        return transformers.GPTNeoConfig(**(fields | case.settings), bos_token_id=1, eos_token_id=1)
    if case.family == "gptj":
        rotary = size.head_width // 2 * 2 if "rotary_dim" in case.settings else max(2, size.head_width // 4 * 2)
        fields |= dict(rotary_dim=rotary, n_inner=size.feed_forward, bos_token_id=1, eos_token_id=1)
        return transformers.GPTJConfig(**(case.settings | fields))
    if case.family == "codegen":  # four groups of heads
        size = dataclasses.replace(size, heads=4)
        fields |= dict(n_embd=size.width, n_head=4, n_ctx=size.positions, rotary_dim=max(2, size.head_width // 4 * 2))
        fields |= dict(n_inner=size.feed_forward, bos_token_id=1, eos_token_id=1)
        return transformers.CodeGenConfig(**(fields | case.settings))
    if case.family in FAIRSEQ_DECODERS:
        return make_fairseq_config(case, size)
    if case.family == "ctrl":
        return transformers.CTRLConfig(**fields, dff=size.feed_forward, **case.settings)
    return transformers.OpenAIGPTConfig(**(fields | case.settings))


def make_fairseq_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields: dict[str, Any] = dict(vocab_size=size.vocabulary, max_position_embeddings=size.positions)
    if case.family == "xglm":
        if size.width % 2:  # the original's sines and cosines need pairs
            size = dataclasses.replace(size, head_width=size.head_width + 1)
        fields |= dict(d_model=size.width, num_layers=size.layers, attention_heads=size.heads, ffn_dim=size.feed_forward)
        return transformers.XGLMConfig(**(fields | case.settings))
    fields |= dict(hidden_size=size.width, num_hidden_layers=size.layers, num_attention_heads=size.heads)
    if case.family == "opt":
        return transformers.OPTConfig(**(fields | dict(ffn_dim=size.feed_forward) | case.settings))
    return transformers.BioGptConfig(**(fields | dict(intermediate_size=size.feed_forward) | case.settings))


def make_linear_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    width = size.head_width + size.head_width % 2  # halves of heads are rotated
    fields: dict[str, Any] = dict(vocab_size=size.vocabulary, bos_token_id=1, eos_token_id=1)
    if case.head.endswith("ForSequenceClassification"):  # several texts need one
        fields["pad_token_id"] = 0
    if case.family == "bloom":
        fields |= dict(hidden_size=size.heads * width, n_layer=size.layers, n_head=size.heads)
    if case.family == "mpt":
        fields |= dict(d_model=size.heads * width, n_layers=size.layers, n_heads=size.heads, max_seq_len=size.positions)
    if case.family == "falcon":
        fields |= dict(
            hidden_size=size.heads * width, num_hidden_layers=size.layers, num_attention_heads=size.heads,
            ffn_hidden_size=size.feed_forward, max_position_embeddings=size.positions,
        )  # fmt: skip
    settings = dict(case.settings)
    if settings.get("num_kv_heads", 0) is None:
        settings["num_kv_heads"] = size.heads // 2 if size.heads % 2 == 0 else 1
    return LINEAR_LIKE[case.family](**(fields | settings))


def make_modernbert_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields = dict(
        vocab_size=size.vocabulary, hidden_size=size.heads * (size.head_width + size.head_width % 2), num_hidden_layers=size.layers,
        num_attention_heads=size.heads, intermediate_size=size.feed_forward, max_position_embeddings=size.positions,
        pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2, local_attention=4,
        global_attn_every_n_layers=2,
    )  # fmt: skip
    return transformers.ModernBertConfig(**(fields | case.settings))


def make_llama_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    width = size.head_width + size.head_width % 2  # halves of heads are rotated
    fields: dict[str, Any] = dict(
        vocab_size=size.vocabulary, hidden_size=size.heads * width, num_hidden_layers=size.layers,
        num_attention_heads=size.heads, num_key_value_heads=size.heads // 2 if size.heads % 2 == 0 else 1,
        intermediate_size=size.feed_forward, max_position_embeddings=size.positions, bos_token_id=1, eos_token_id=1,
    )  # fmt: skip
    if case.head.endswith("ForSequenceClassification"):  # several texts need one
        fields["pad_token_id"] = 0
    if case.family == "qwen3" or case.family.startswith("gemma"):
        fields["head_dim"] = width + 2
    if case.family in ("mistral", "gemma2", "gemma3_text", "olmo3"):
        fields["sliding_window"] = 4
    if case.family in ("gemma2", "gemma3_text"):
        fields |= {"query_pre_attn_scalar": 7, "layer_types": (["sliding_attention", "full_attention"] * 2)[: size.layers]}
    if case.family in EXPERTS:
        fields |= {EXPERTS[case.family]: 5, "num_experts_per_tok": 2}
    if case.family in ("qwen2_moe", "qwen3_moe"):
        fields |= {"moe_intermediate_size": 10, "shared_expert_intermediate_size": 14}
    if case.family == "gpt_oss":
        fields |= {"head_dim": width + 2, "sliding_window": 4}
        fields |= {"rope_scaling": YARN | {"truncate": False}}
    if case.family in PART_OF_HEADS:
        fields |= {"hidden_size": size.heads * 8, "partial_rotary_factor": 0.5}
    if case.family == "gpt_neox":
        fields |= {"rotary_pct": 0.5}
        del fields["num_key_value_heads"], fields["partial_rotary_factor"]
    if case.family == "phi3":
        lists = {"short_factor": [1.0, 1.5], "long_factor": [2.0, 3.5]}
        fields |= {"rope_scaling": {"type": "longrope"} | lists}
    if case.family in ("phi3", "smollm3", "olmo2", "olmo3", "olmoe"):  # the defaults exceed this small vocabulary
        fields["pad_token_id"] = 0
    return LLAMA_LIKE[case.family](**(fields | case.settings))


def make_t5_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields: dict[str, Any] = dict(
        vocab_size=size.vocabulary, d_model=size.width, d_kv=size.head_width, d_ff=size.feed_forward,
        num_layers=size.layers, num_heads=size.heads, relative_attention_num_buckets=8,
        relative_attention_max_distance=13, decoder_start_token_id=0,
    )  # fmt: skip
    return T5_LIKE[case.family](**(fields | case.settings))


def make_xl_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    if size.width % 2:  # the originals' sines and cosines need pairs
        size = dataclasses.replace(size, head_width=size.head_width + 1)
    if case.family == "xlnet":
        fields: dict[str, Any] = dict(
            vocab_size=size.vocabulary, d_model=size.width, n_layer=size.layers, n_head=size.heads,
            d_inner=size.feed_forward,
        )  # fmt: skip
        return transformers.XLNetConfig(**(fields | case.settings))
    third = size.vocabulary // 3
    fields = dict(
        vocab_size=size.vocabulary, cutoffs=[third, 2 * third], d_model=size.width, d_embed=size.width,
        n_head=size.heads, d_head=size.head_width, d_inner=size.feed_forward, div_val=2, n_layer=size.layers,
        mem_len=6, clamp_len=9, same_length=False,
    )  # fmt: skip
    return transformers.TransfoXLConfig(**(fields | case.settings))


def make_vit_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields: dict[str, Any] = dict(
        hidden_size=size.width, num_hidden_layers=size.layers, num_attention_heads=size.heads,
        intermediate_size=size.feed_forward, image_size=17, patch_size=4,
    )  # fmt: skip
    if case.family == "vit_msn":
        return transformers.ViTMSNConfig(**(fields | case.settings))
    return transformers.ViTConfig(**(fields | {"encoder_stride": 4} | case.settings))


def make_xlm_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields = dict(
        vocab_size=size.vocabulary, emb_dim=size.width, n_layers=size.layers, n_heads=size.heads, n_langs=3,
        max_position_embeddings=size.positions,
    )  # fmt: skip
    return transformers.XLMConfig(**(fields | case.settings))


def make_marian_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    settings = dict(case.settings)
    unequal = settings.pop("unequal", False)
    fields: dict[str, Any] = dict(
        vocab_size=size.vocabulary, d_model=size.width, max_position_embeddings=size.positions,
        encoder_layers=size.layers, encoder_attention_heads=size.heads, encoder_ffn_dim=size.feed_forward,
        decoder_layers=size.layers + unequal, decoder_attention_heads=1 if unequal else size.heads,
        decoder_ffn_dim=size.feed_forward + 9 * unequal,
        pad_token_id=size.vocabulary - 1, decoder_start_token_id=size.vocabulary - 1, eos_token_id=0,
        forced_eos_token_id=0,
    )  # fmt: skip
    if case.family != "marian":  # fairseq's ids
        fields |= dict(pad_token_id=1, eos_token_id=2, decoder_start_token_id=2, forced_eos_token_id=None)
    if case.family == "pegasus":
        fields |= dict(pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
    if case.family.startswith("blenderbot"):
        fields |= dict(pad_token_id=0, eos_token_id=2, decoder_start_token_id=1)
    return MARIAN_LIKE[case.family](**(fields | settings))
