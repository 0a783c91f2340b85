"""Rules that draw the fields of one family, or of a group of families. They replace those of field_rules.py."""

from __future__ import annotations

from typing import Any

from field_rules import ACTIVATIONS, RULES, Draw, Drawn, Fields, Rule, activation, dropout, epsilon, flag, mostly, pick, same


def attention_types(draw: Draw, fields: Fields) -> list[Any]:
    return [[[draw.choice(["global", "local"]) for _ in range(fields["num_layers"])], 1]]


def cutoffs(draw: Draw, fields: Fields) -> list[int]:
    return sorted(draw.sample(range(10, fields["vocab_size"] - 5), draw.randint(0, 2)))


def tie_projs(draw: Draw, fields: Fields) -> list[bool]:
    return [draw.random() < 0.6 for _ in range(len(fields["cutoffs"]) + 1)]


DECODES = {"is_decoder": flag, "add_cross_attention": lambda draw, fields: fields["is_decoder"] and draw.random() < 0.6}
DEBERTA = {
    "type_vocab_size": pick(0, 0, 2), "relative_attention": mostly, "max_relative_positions": pick(-1, 5, 11),
    "position_biased_input": flag, "pos_att_type": pick(None, ["c2p"], ["p2c"], ["c2p", "p2c"], "p2c|c2p"),
    "pooler_hidden_size": same("hidden_size"), "legacy": mostly,
    "tie_word_embeddings": lambda draw, fields: fields["legacy"] and draw.random() < 0.7,  # otherwise it does not run
}  # fmt: skip
SEQUENCES = {
    "decoder_attention_heads": lambda draw, fields: draw.choice([1, fields["heads"]]),
    "num_hidden_layers": same("encoder_layers"), "pad_token_id": pick(1), "eos_token_id": pick(2),
    "decoder_start_token_id": pick(2, 0), "forced_eos_token_id": pick(None, 2),
}  # fmt: skip


def key_heads(draw: Draw, fields: Fields) -> int:
    return draw.choice([n for n in range(1, fields["heads"] + 1) if fields["heads"] % n == 0])


def part_of(fields: Drawn) -> float:
    return fields["partial_rotary_factor"] if "partial_rotary_factor" in fields.rules else 1.0


def rope_scaling(draw: Draw, fields: Drawn) -> dict[str, Any] | None:
    kind = draw.choice([None, None, "default", "linear", "dynamic", "yarn", "longrope", "llama3"])
    turned = int((fields.get("head_dim") or fields["head_width"]) * part_of(fields))
    if kind == "dynamic" and turned <= 2:
        kind = None
    if kind is None:
        return None
    scaling: dict[str, Any] = {draw.choice(["rope_type", "type"]) if kind != "default" else "rope_type": kind}
    if kind in ("linear", "dynamic", "yarn", "llama3"):
        scaling["factor"] = draw.choice([2.0, 4.0, 1.5])
    if kind == "yarn":
        scaling |= draw.choice([{}, {"attention_factor": 1.3}, {"mscale": 0.7, "mscale_all_dim": 1.1}, {"truncate": False}])
        scaling |= draw.choice([{}, {"beta_fast": 8.0, "beta_slow": 2.0}])
        scaling |= draw.choice([{}, {"original_max_position_embeddings": 12}])
    if kind == "longrope":
        scaling |= {name: [round(draw.uniform(1, 4), 3) for _ in range(turned // 2)] for name in ("short_factor", "long_factor")}
        scaling |= draw.choice([{}, {"attention_factor": 1.2}, {"factor": 3.0}]) or {"factor": 2.0}
    if kind == "llama3":
        scaling |= {"low_freq_factor": 1.0, "high_freq_factor": draw.choice([2.0, 4.0]), "original_max_position_embeddings": 12}
    return scaling


def layer_types(draw: Draw, fields: Fields) -> list[str] | None:
    count = fields["num_hidden_layers"]
    return draw.choice([None, [draw.choice(["full_attention", "sliding_attention"]) for _ in range(count)]])


LLAMA: dict[str, Rule] = {
    "num_key_value_heads": key_heads, "head_dim": pick(None, 4, 6, 10), "rms_norm_eps": epsilon,
    "rope_theta": pick(10000.0, 500000.0, 100.0), "rope_scaling": rope_scaling, "attention_bias": flag, "mlp_bias": flag,
    "pretraining_tp": pick(1), "bos_token_id": pick(1), "eos_token_id": pick(1), "pad_token_id": pick(0, 0, 0, None, 7),
    "max_position_embeddings": lambda draw, fields: draw.choice([8, 12, draw.randint(24, 60)])
    if "dynamic" in (fields.get("rope_scaling") or {}).values() else draw.randint(24, 60),
}  # fmt: skip
QWEN: dict[str, Rule] = LLAMA | {
    "use_sliding_window": flag, "sliding_window": pick(2, 3, 5), "max_window_layers": pick(0, 1, 2), "layer_types": layer_types,
}  # fmt: skip
GEMMA: dict[str, Rule] = LLAMA | {
    "head_dim": pick(4, 6, 10), "hidden_activation": activation, "query_pre_attn_scalar": pick(16, 5),
    "sliding_window": pick(2, 3, 5), "layer_types": layer_types, "attn_logit_softcapping": pick(None, 5.0, 1.5),
    "final_logit_softcapping": pick(None, 4.0, 1.0), "rope_local_base_freq": pick(10000.0, 50.0),
    "use_bidirectional_attention": pick(False), "pad_token_id": pick(0, None, 7),
}  # fmt: skip
multiplier = pick(1.0, 0.5, 2.5)


def chosen_experts(draw: Draw, fields: Drawn) -> int:
    count = fields["num_experts" if "num_experts" in fields.rules else "num_local_experts"]
    return draw.randint(1, min(3, count))


EXPERTS: dict[str, Rule] = LLAMA | {
    "num_experts_per_tok": chosen_experts, "output_router_logits": flag, "router_aux_loss_coef": pick(0.01, 0.5),
    "sliding_window": pick(None, 2, 3, 5),
}  # fmt: skip
QWEN_EXPERTS: dict[str, Rule] = EXPERTS | {
    "num_experts": pick(2, 4, 5), "moe_intermediate_size": pick(7, 16, 20), "shared_expert_intermediate_size": pick(9, 16),
    "norm_topk_prob": flag, "decoder_sparse_step": pick(1, 1, 2), "mlp_only_layers": pick([], [], [0], [1, 2]), "qkv_bias": flag,
    "use_sliding_window": flag, "sliding_window": pick(2, 3, 5), "max_window_layers": pick(0, 1, 2),
}  # fmt: skip


def no_rope_layers(draw: Draw, fields: Fields) -> list[int] | None:
    return draw.choice([None, [draw.randint(0, 1) for _ in range(fields["num_hidden_layers"])]])


def long_scaling(draw: Draw, fields: Drawn) -> dict[str, Any] | None:
    turned = int(fields["head_width"] * part_of(fields))
    lists = {name: [round(draw.uniform(1, 4), 3) for _ in range(turned // 2)] for name in ("short_factor", "long_factor")}
    return draw.choice([None, {"type": draw.choice(["longrope", "su", "yarn"])} | lists])


def falcon_key_heads(draw: Draw, fields: Fields) -> int | None:
    return key_heads(draw, fields) if fields["new_decoder_architecture"] else draw.choice([None, fields["heads"]])


SHARED = LLAMA | QWEN | GEMMA | EXPERTS | QWEN_EXPERTS
T5 = {
    "num_decoder_layers": pick(None, 1, 2), "relative_attention_num_buckets": pick(6, 8),
    "relative_attention_max_distance": pick(13, 20), "decoder_start_token_id": pick(0),
    "feed_forward_proj": lambda draw, fields: draw.choice(["", "gated-"]) + draw.choice(["relu", "gelu", "silu", "gelu_new", draw.choice(ACTIVATIONS)]),
}  # fmt: skip
BLENDERBOT = SEQUENCES | {
    "pad_token_id": pick(0), "decoder_start_token_id": pick(1), "encoder_no_repeat_ngram_size": pick(0, 3),
}  # fmt: skip
VIT = {
    "image_size": lambda draw, fields: draw.choice([17, 20, [15, 23]]), "patch_size": pick(4, [4, 5]),
    "num_channels": pick(1, 3), "qkv_bias": flag,
}  # fmt: skip
OWN: dict[str, dict[str, Rule]] = {
    "llama": LLAMA,
    "mistral": LLAMA | {"sliding_window": pick(None, 2, 3, 5)},
    "qwen2": QWEN, "qwen3": QWEN | {"head_dim": pick(4, 6, 10)},
    "gemma": GEMMA, "gemma2": GEMMA, "gemma3_text": GEMMA | {"use_bidirectional_attention": flag, "sliding_window_pattern": pick(6, 2, 3)},
    "granite": LLAMA | {
        "embedding_multiplier": multiplier, "attention_multiplier": multiplier, "residual_multiplier": multiplier,
        "logits_scaling": multiplier,
    },
    "olmo2": LLAMA, "olmo3": LLAMA | {"sliding_window": pick(2, 3, 5), "layer_types": layer_types},
    "smollm3": QWEN | {"no_rope_layers": no_rope_layers, "no_rope_layer_interval": pick(2, 3, 4)},
    "phi": LLAMA | {"partial_rotary_factor": pick(0.5, 1.0), "qk_layernorm": flag},
    "phi3": LLAMA | {
        "partial_rotary_factor": pick(0.5, 1.0), "sliding_window": pick(None, 2, 5), "rope_scaling": long_scaling,
        "original_max_position_embeddings": pick(7, 12, 20),
    },
    "stablelm": LLAMA | {
        "partial_rotary_factor": pick(0.5, 0.25), "use_qkv_bias": flag, "use_parallel_residual": flag,
        "qk_layernorm": flag, "hidden_dropout": dropout,
    },
    "starcoder2": LLAMA | {
        "norm_epsilon": epsilon, "sliding_window": pick(None, 2, 5), "use_bias": flag, "residual_dropout": dropout,
        "embedding_dropout": dropout,
    },
    "gpt_neox": LLAMA | {
        "rotary_pct": pick(0.5, 0.25, 1.0), "partial_rotary_factor": same("rotary_pct"), "rotary_emb_base": pick(10000, 50.0),
        "rope_theta": same("rotary_emb_base"), "hidden_dropout": dropout, "use_parallel_residual": flag,
    },
    "bloom": {
        "apply_residual_connection_post_layernorm": flag, "hidden_dropout": dropout, "pretraining_tp": pick(1, 2),
        "slow_but_exact": pick(False), "bos_token_id": pick(1), "eos_token_id": pick(1), "pad_token_id": pick(0, 0, None, 7),
    },
    "falcon": {
        "num_ln_in_parallel_attn": lambda draw, fields: draw.choice([None, 1, 2]) if fields["new_decoder_architecture"] else None,
        "hidden_dropout": dropout, "num_kv_heads": falcon_key_heads, "alibi": flag, "new_decoder_architecture": flag,
        "multi_query": flag, "parallel_attn": lambda draw, fields: fields["new_decoder_architecture"] or draw.random() < 0.5,
        "bias": flag, "rope_theta": LLAMA["rope_theta"], "rope_scaling": rope_scaling, "bos_token_id": pick(1),
        "eos_token_id": pick(1), "pad_token_id": pick(0, 0, None, 7), "max_position_embeddings": LLAMA["max_position_embeddings"],
        "ffn_hidden_size": lambda draw, fields: draw.choice([None, draw.randint(7, 60)]),
    },
    "mpt": {
        "attn_config": lambda draw, fields: draw.choice([None, {
            "attn_pdrop": draw.choice([0.0, 0.1]), "clip_qkv": draw.choice([None, 0.8]), "softmax_scale": draw.choice([None, 0.3]),
            "alibi": draw.random() < 0.5, "qk_ln": draw.random() < 0.3, "alibi_bias_max": draw.choice([8, 16]),
        }]),
        "expansion_ratio": pick(4, 2), "max_seq_len": lambda draw, fields: draw.randint(24, 60), "emb_pdrop": dropout,
        "learned_pos_emb": flag, "init_device": pick("cpu"), "logit_scale": pick(None, 2.0), "no_bias": flag, "verbose": pick(0),
        "embedding_fraction": pick(1.0), "norm_type": pick("low_precision_layernorm"), "bos_token_id": pick(1),
        "eos_token_id": pick(1), "pad_token_id": pick(0, 0, None, 7),
    },
    "modernbert": {
        "hidden_activation": activation, "initializer_cutoff_factor": pick(2.0), "norm_eps": epsilon, "norm_bias": flag,
        "bos_token_id": pick(1), "eos_token_id": pick(2), "cls_token_id": pick(1), "sep_token_id": pick(2), "pad_token_id": pick(0, 7, None),
        "global_rope_theta": pick(160000.0, 100.0), "local_rope_theta": pick(10000.0, 50.0, None), "attention_bias": flag,
        "global_attn_every_n_layers": pick(1, 2, 3), "local_attention": pick(2, 4, 5, 8), "embedding_dropout": dropout,
        "mlp_bias": flag, "mlp_dropout": dropout, "decoder_bias": flag, "classifier_pooling": pick("cls", "mean"),
        "classifier_bias": flag, "classifier_activation": activation, "deterministic_flash_attn": flag,
        "sparse_prediction": pick(False), "sparse_pred_ignore_index": pick(-100), "reference_compile": pick(False),
        "repad_logits_with_grad": flag,
    },
    "mixtral": EXPERTS | {"num_local_experts": pick(2, 4, 5), "router_jitter_noise": pick(0.0, 0.1)},
    "qwen2_moe": QWEN_EXPERTS, "qwen3_moe": QWEN_EXPERTS,
    "olmoe": QWEN_EXPERTS | {"clip_qkv": pick(None, 0.3, 2.0), "pad_token_id": pick(0, None, 7)},
    "gpt_oss": EXPERTS | {
        "num_local_experts": pick(2, 4, 5), "head_dim": pick(4, 6, 10), "sliding_window": pick(2, 3, 5), "layer_types": layer_types,
    },
    "cohere": LLAMA | {"logit_scale": pick(0.0625, 1.0, 2.0), "use_qk_norm": flag},
    "camembert": DECODES | {"pad_token_id": pick(1)}, "data2vec-text": DECODES | {"pad_token_id": pick(1)},
    "roberta-prelayernorm": DECODES | {"pad_token_id": pick(0, 1)}, "xlm-roberta-xl": DECODES | {"pad_token_id": pick(1)},
    "megatron-bert": DECODES | {
        "position_embedding_type": lambda draw, fields: "absolute" if fields["add_cross_attention"] else
        draw.choice(["absolute", "relative_key", "relative_key_query"]),
    },
    "roformer": DECODES | {"rotary_value": pick(False)},
    "ernie": DECODES | {"use_task_id": flag, "task_type_vocab_size": pick(1, 3)},
    "mpnet": {"relative_attention_num_buckets": pick(32, 32, 40), "pad_token_id": pick(1)},
    "mt5": T5, "umt5": T5, "mbart": SEQUENCES, "plbart": SEQUENCES, "blenderbot": BLENDERBOT,
    "blenderbot-small": {name: rule for name, rule in BLENDERBOT.items() if name != "encoder_no_repeat_ngram_size"},
    "pegasus": SEQUENCES | {
        "pad_token_id": pick(0), "eos_token_id": pick(1), "decoder_start_token_id": pick(0), "forced_eos_token_id": pick(None, 1),
    },
    "opt": {
        "do_layer_norm_before": mostly, "_remove_final_layer_norm": flag, "enable_bias": flag, "pad_token_id": pick(0, 1),
        "word_embed_proj_dim": lambda draw, fields: draw.choice([None, fields["hidden_size"], draw.randint(3, 30)]),
        "layer_norm_elementwise_affine": pick(True),  # otherwise the original cannot create the model
    },
    "xglm": {"pad_token_id": pick(0, 1), "decoder_start_token_id": pick(2), "add_cross_attention": flag},
    "biogpt": {"pad_token_id": pick(0, 1)},
    "codegen": {
        "rotary_dim": lambda draw, fields: draw.choice([2, fields["head_width"] // 2 * 2]), "n_ctx": same("n_positions"),
        "bos_token_id": pick(1), "eos_token_id": pick(1), "pad_token_id": pick(0),
    },
    "vit_msn": VIT,
    "bert": DECODES, "roberta": DECODES | {"pad_token_id": pick(0, 1)}, "xlm-roberta": DECODES | {"pad_token_id": pick(1)},
    "electra": DECODES,
    "albert": {
        "inner_group_num": pick(1, 2), "num_hidden_layers": pick(2, 3, 4),
        "num_hidden_groups": lambda draw, fields: draw.randint(1, fields["num_hidden_layers"] // fields["inner_group_num"]),
    },
    "big_bird": DECODES | {
        "block_size": pick(1, 2), "num_random_blocks": pick(1), "rescale_embeddings": flag, "use_bias": flag,
        "attention_type": lambda draw, fields: "original_full" if fields["is_decoder"] else
        draw.choice(["original_full", "block_sparse"]),
    },
    "deberta": DEBERTA,
    "deberta-v2": DEBERTA | {
        "embedding_size": lambda draw, fields: draw.choice([fields["hidden_size"], draw.randint(3, 30)])
        if fields["legacy"] else fields["hidden_size"],
        "position_buckets": pick(-1, 4, 6), "share_att_key": flag, "norm_rel_ebd": pick("none", "layer_norm"),
        "conv_kernel_size": pick(0, 0, 3), "conv_act": pick("tanh", "gelu"), "conv_groups": pick(1),
    },
    "distilbert": {"sinusoidal_pos_embds": flag},
    "gpt2": {
        "add_cross_attention": flag, "scale_attn_weights": flag, "scale_attn_by_inverse_layer_idx": flag,
        "reorder_and_upcast_attn": flag, "bos_token_id": pick(1), "eos_token_id": pick(1), "pad_token_id": pick(0),
    },
    "openai-gpt": {"afn": pick("gelu", "relu", "silu", "swish"), "pad_token_id": pick(0)},
    "ctrl": {"pad_token_id": pick(0)},
    "gpt_neo": {
        "window_size": pick(1, 3, 5), "attention_types": attention_types, "bos_token_id": pick(1),
        "eos_token_id": pick(1), "pad_token_id": pick(0), "intermediate_size": RULES["n_inner"],
    },
    "gptj": {
        "rotary_dim": lambda draw, fields: draw.choice([2, fields["head_width"] // 2 * 2]),
        "bos_token_id": pick(1), "eos_token_id": pick(1), "pad_token_id": pick(0),
    },
    "bart": SEQUENCES,
    "m2m_100": SEQUENCES,
    "marian": SEQUENCES | {
        "pad_token_id": lambda draw, fields: fields["vocab_size"] - 1, "eos_token_id": pick(0),
        "decoder_start_token_id": lambda draw, fields: fields["vocab_size"] - 1, "forced_eos_token_id": pick(None, 0),
        "share_encoder_decoder_embeddings": mostly,
        "decoder_vocab_size": same("vocab_size"),  # its decoder's table still has vocab_size rows
    },
    "t5": T5,
    "transfo-xl": {
        "cutoffs": cutoffs, "div_val": pick(1, 2), "tie_projs": tie_projs, "pre_lnorm": flag, "attn_type": pick(0),
        "untie_r": mostly, "d_embed": lambda draw, fields: draw.choice([fields["d_model"], draw.randint(4, 30)]),
        "sample_softmax": pick(-1, 0), "adaptive": pick(True), "pad_token_id": pick(5),
        "same_length": lambda draw, fields: fields["mem_len"] > 0 and draw.random() < 0.5,
    },
    "vit": VIT | {"pooler_output_size": pick(None, 6), "encoder_stride": pick(4)},
    "xlm": {
        "gelu_activation": flag, "sinusoidal_embeddings": flag, "causal": flag, "asm": pick(False), "n_langs": pick(1, 3),
        "use_lang_emb": mostly, "bos_index": pick(0), "eos_index": pick(1), "pad_index": pick(2), "unk_index": pick(3),
        "mask_index": pick(5), "is_encoder": pick(True), "mask_token_id": pick(0, 7), "lang_id": pick(0),
        "pad_token_id": pick(2),
    },
    "xlnet": {
        "d_head": lambda draw, fields: fields["d_model"] // fields["heads"], "untie_r": flag, "attn_type": pick("bi", "bi", "uni"),
        "mem_len": pick(None, 0, 3, 7), "reuse_len": pick(None, None, 2, 5), "bi_data": pick(False, False, True),
        "use_mems_eval": mostly, "use_mems_train": flag,
    },
}  # fmt: skip
