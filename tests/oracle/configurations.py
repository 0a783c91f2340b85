"""Random configurations: every field of every config class of our families, and every head class.

    python configurations.py bert --seed 3 DIRECTORY

A field has a rule in RULES, or one of its family's in OWN. One without is an error, so that none is forgotten
when transformers gets another.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import inspect
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.activations import ACT2CLS
from transformers.modeling_utils import no_init_weights

from model_families import PART_OF_HEADS
from models import randomize
from originals import head_class

Draw = random.Random
Fields = dict[str, Any]
Rule = Callable[[Draw, Fields], Any]

CLASSES: dict[str, type] = {
    "albert": transformers.AlbertConfig, "bart": transformers.BartConfig, "bert": transformers.BertConfig,
    "big_bird": transformers.BigBirdConfig, "ctrl": transformers.CTRLConfig, "deberta": transformers.DebertaConfig,
    "deberta-v2": transformers.DebertaV2Config, "distilbert": transformers.DistilBertConfig,
    "electra": transformers.ElectraConfig, "gpt2": transformers.GPT2Config, "gpt_neo": transformers.GPTNeoConfig,
    "gptj": transformers.GPTJConfig, "llama": transformers.LlamaConfig, "m2m_100": transformers.M2M100Config, "marian": transformers.MarianConfig,
    "cohere": transformers.CohereConfig, "gemma": transformers.GemmaConfig, "gemma2": transformers.Gemma2Config,
    "gemma3_text": transformers.Gemma3TextConfig, "gpt_neox": transformers.GPTNeoXConfig,
    "granite": transformers.GraniteConfig, "olmo2": transformers.Olmo2Config, "olmo3": transformers.Olmo3Config,
    "phi": transformers.PhiConfig, "phi3": transformers.Phi3Config, "smollm3": transformers.SmolLM3Config,
    "stablelm": transformers.StableLmConfig, "starcoder2": transformers.Starcoder2Config,
    "gpt_oss": transformers.GptOssConfig, "mixtral": transformers.MixtralConfig, "olmoe": transformers.OlmoeConfig,
    "qwen2_moe": transformers.Qwen2MoeConfig, "qwen3_moe": transformers.Qwen3MoeConfig,
    "mistral": transformers.MistralConfig, "qwen2": transformers.Qwen2Config, "qwen3": transformers.Qwen3Config,
    "openai-gpt": transformers.OpenAIGPTConfig, "roberta": transformers.RobertaConfig, "t5": transformers.T5Config,
    "transfo-xl": transformers.TransfoXLConfig, "vit": transformers.ViTConfig, "xlm": transformers.XLMConfig,
    "xlm-roberta": transformers.XLMRobertaConfig, "xlnet": transformers.XLNetConfig,
    "biogpt": transformers.BioGptConfig, "blenderbot": transformers.BlenderbotConfig,
    "blenderbot-small": transformers.BlenderbotSmallConfig, "camembert": transformers.CamembertConfig,
    "codegen": transformers.CodeGenConfig, "data2vec-text": transformers.Data2VecTextConfig,
    "ernie": transformers.ErnieConfig, "mbart": transformers.MBartConfig,
    "megatron-bert": transformers.MegatronBertConfig, "mpnet": transformers.MPNetConfig, "mt5": transformers.MT5Config,
    "opt": transformers.OPTConfig, "pegasus": transformers.PegasusConfig, "plbart": transformers.PLBartConfig,
    "roberta-prelayernorm": transformers.RobertaPreLayerNormConfig, "roformer": transformers.RoFormerConfig,
    "umt5": transformers.UMT5Config, "vit_msn": transformers.ViTMSNConfig, "xglm": transformers.XGLMConfig,
    "xlm-roberta-xl": transformers.XLMRobertaXLConfig,
    "bloom": transformers.BloomConfig, "falcon": transformers.FalconConfig, "mpt": transformers.MptConfig,
    "modernbert": transformers.ModernBertConfig,
    "encoder-decoder": transformers.EncoderDecoderConfig,
    "vision-encoder-decoder": transformers.VisionEncoderDecoderConfig,
}  # fmt: skip

# Pairs of models: possible encoders and decoders.
COMPOSED = {
    "encoder-decoder": {
        "albert": "AlbertModel", "bert": "BertModel", "big_bird": "BigBirdModel", "deberta": "DebertaModel",
        "deberta-v2": "DebertaV2Model", "distilbert": "DistilBertModel", "electra": "ElectraModel",
        "roberta": "RobertaModel", "xlm": "XLMModel", "xlm-roberta": "XLMRobertaModel", "xlnet": "XLNetModel",
    },
    "vision-encoder-decoder": {"vit": "ViTModel"},
}  # fmt: skip
WRITERS = {
    # Not BigBird, whose decoder reads an encoder instead of its own text.
    "bart": "BartForCausalLM", "bert": "BertLMHeadModel", "electra": "ElectraForCausalLM",
    "gpt2": "GPT2LMHeadModel", "marian": "MarianForCausalLM", "roberta": "RobertaForCausalLM",
    "xlm-roberta": "XLMRobertaForCausalLM",
}  # fmt: skip

# PReLU and xIELU have their own weights, which no checkpoint of these families contains.
ACTIVATIONS = sorted(set(ACT2CLS) - {"prelu", "xielu"})


def heads_of(family: str) -> list[str]:
    """Every model of the family that transformers has, by name."""
    modeling = importlib.import_module(CLASSES[family].__module__.replace(".configuration_", ".modeling_"))
    exported = [getattr(modeling, name) for name in modeling.__all__ if name not in NO_MODELS]
    return [
        each.__name__ for each in exported
        if isinstance(each, type) and issubclass(each, transformers.PreTrainedModel) and "pretrained" not in each.__name__.lower()
    ]  # fmt: skip


# Parts of other models.
NO_MODELS = {"AdaptiveEmbedding", "Gemma3ForConditionalGeneration", "Gemma3Model", "Gemma3ForSequenceClassification"}


def pick(*values: Any) -> Rule:
    return lambda draw, fields: draw.choice(values)


def same(name: str) -> Rule:
    return lambda draw, fields: fields[name]


dropout, epsilon, flag = pick(0.0, 0.1, 0.4), pick(1e-12, 1e-6, 1e-3), pick(False, True)
activation = pick(*ACTIVATIONS)
mostly = pick(False, True, True)
layers = pick(1, 2, 3)


def width(draw: Draw, fields: Fields) -> int:
    return fields["heads"] * fields["head_width"]


def heads(draw: Draw, fields: Fields) -> int:
    return fields["heads"]


def attention_types(draw: Draw, fields: Fields) -> list[Any]:
    return [[[draw.choice(["global", "local"]) for _ in range(fields["num_layers"])], 1]]


# A rule may read other fields, `heads` and `head_width`.
RULES: dict[str, Rule] = {
    "vocab_size": lambda draw, fields: draw.randint(60, 150),
    **dict.fromkeys(["hidden_size", "d_model", "n_embd", "dim", "emb_dim"], width),
    **dict.fromkeys(["num_attention_heads", "attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads"], heads),
    **dict.fromkeys(["num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers"], layers),
    **dict.fromkeys(["intermediate_size", "hidden_dim", "d_inner", "encoder_ffn_dim", "decoder_ffn_dim", "ffn_dim", "dff", "d_ff"],
                    lambda draw, fields: draw.randint(7, 60)),
    "n_inner": lambda draw, fields: draw.choice([None, draw.randint(7, 60)]),
    **dict.fromkeys(["max_position_embeddings", "n_positions"], lambda draw, fields: draw.randint(24, 60)),
    "type_vocab_size": pick(1, 2, 3),
    **dict.fromkeys(["hidden_dropout_prob", "attention_probs_dropout_prob", "dropout", "attention_dropout", "qa_dropout",
                     "activation_dropout", "seq_classif_dropout", "resid_pdrop", "embd_pdrop", "attn_pdrop", "dropatt",
                     "resid_dropout", "embed_dropout", "dropout_rate", "classifier_dropout_prob", "pooler_dropout",
                     "summary_first_dropout", "summary_last_dropout", "encoder_layerdrop", "decoder_layerdrop", "layerdrop"], dropout),
    "classifier_dropout": pick(0.0, 0.3),
    **dict.fromkeys(["layer_norm_eps", "layer_norm_epsilon"], epsilon),
    **dict.fromkeys(["hidden_act", "activation", "activation_function", "ff_activation", "pooler_hidden_act", "pooler_act"],
                    activation),
    **dict.fromkeys(["initializer_range", "init_std", "embed_init_std", "init_range", "proj_init_std"], pick(0.02, 0.1)),
    "initializer_factor": pick(1.0, 0.5),
    "init": pick("normal"),
    "use_cache": flag,
    "position_embedding_type": pick("absolute", "absolute", "relative_key", "relative_key_query"),
    "embedding_size": lambda draw, fields: draw.choice([fields["hidden_size"], draw.randint(3, 30)]),
    "scale_embedding": flag,
    "summary_type": pick("last", "first", "mean", "cls_index"),
    "summary_use_proj": mostly,
    "summary_activation": lambda draw, fields: draw.choice([None, "tanh", draw.choice(ACTIVATIONS)]),
    "summary_proj_to_labels": mostly,
    **dict.fromkeys(["start_n_top", "end_n_top"], pick(1, 3, 5)),
    "d_kv": pick(3, 5, 8), "d_head": pick(3, 4, 8),
    "mem_len": pick(0, 3, 7),
    "clamp_len": pick(-1, 3, 9),
    "same_length": flag,
    # of the base class
    "tie_word_embeddings": mostly, "chunk_size_feed_forward": pick(0, 1), "output_attentions": flag,
    "output_hidden_states": flag, "add_cross_attention": pick(False), "is_decoder": pick(False),
    "num_labels": pick(1, 2, 3, 5),
    "problem_type": pick(None),
}  # fmt: skip


def cutoffs(draw: Draw, fields: Fields) -> list[int]:
    return sorted(draw.sample(range(10, fields["vocab_size"] - 5), draw.randint(0, 2)))


def tie_projs(draw: Draw, fields: Fields) -> list[bool]:
    return [draw.random() < 0.6 for _ in range(len(fields["cutoffs"]) + 1)]


DECODES = {"is_decoder": flag, "add_cross_attention": lambda draw, fields: fields["is_decoder"] and draw.random() < 0.6}
DEBERTA = {
    "type_vocab_size": pick(0, 0, 2), "relative_attention": mostly, "max_relative_positions": pick(-1, 5, 11),
    "position_biased_input": flag, "pos_att_type": pick(None, ["c2p"], ["p2c"], ["c2p", "p2c"], "p2c|c2p"),
    "pooler_hidden_size": same("hidden_size"), "legacy": mostly,
    "tie_word_embeddings": lambda draw, fields: fields["legacy"] and draw.random() < 0.7,  # otherwise it does
                                                                                           # not run
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


EVEN_HEADS = ("falcon", "modernbert", "llama", "mistral", "qwen2", "qwen3", "cohere", "granite", "olmo2", "olmo3", "smollm3", "starcoder2", "mixtral", "olmoe",
              "gpt_oss", "qwen2_moe", "qwen3_moe")  # fmt: skip
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

# Fields that are derived from others, or that no tensor depends on.
FOLLOWING = {"attention_layers", "dense_act_fn", "is_gated_act", "_sliding_window_pattern"}


class Drawn(dict[str, Any]):
    """Fields that are drawn when they are asked for, by another rule or in turn."""

    def __init__(self, draw: Draw, rules: dict[str, Rule]) -> None:
        super().__init__()
        self.draw, self.rules = draw, rules

    def __missing__(self, name: str) -> Any:
        self[name] = self.rules[name](self.draw, self)
        return self[name]


def draw_fields(family: str, head: str, draw: Draw) -> Fields:
    kind = CLASSES[family]
    base = set(transformers.PretrainedConfig().to_dict())
    own = set(kind().to_dict()) - base - FOLLOWING
    rules = {name: rule for name, rule in RULES.items() if name in own or name in base or name in ("num_labels",)}
    # Relatives of Llama share rules, also for fields that only some of them have.
    rules |= {name: rule for name, rule in OWN.get(family, {}).items() if name not in SHARED or name in own or name in base}
    missing = own - set(rules)
    if missing:
        raise RuntimeError(f"{family}: no rule for {sorted(missing)}")
    fields = Drawn(draw, rules)
    fields |= {"heads": draw.randint(1, 4), "head_width": draw.randint(3, 10)}
    if family == "codegen":  # four groups of heads
        fields["heads"] = draw.choice([4, 8])
    if family in ("xlnet", "transfo-xl", "m2m_100", "xglm", "roformer", *EVEN_HEADS):  # the originals' sines and cosines need pairs
        fields["head_width"] = draw.choice([4, 6, 8])
    if family in PART_OF_HEADS:
        fields["head_width"] = draw.choice([8, 16])
    for name in sorted(rules, key=lambda name: name == "max_position_embeddings" and "rope_scaling" in rules):
        fields[name]  # is drawn
    if family == "transfo-xl" and head.endswith("ForSequenceClassification"):
        fields["d_embed"] = fields["d_model"]  # otherwise its original does not run
    if fields.get("is_decoder") is False and head.endswith(("ForCausalLM", "LMHeadModel")) and draw.random() < 0.7:
        fields["is_decoder"] = "is_decoder" in OWN[family]
        if fields["is_decoder"] and family == "big_bird":
            fields["attention_type"] = "original_full"
    if family == "vit" and head.endswith("MaskedImageModeling"):
        fields |= {"image_size": 20, "patch_size": 4}
    if head.endswith("DoubleHeadsModel"):  # otherwise its original treats choices as tokens
        fields |= {"summary_type": "cls_index", "summary_use_proj": True, "summary_proj_to_labels": True}
    if head in ("XLMForMultipleChoice", "XLNetForMultipleChoice", "XLNetForSequenceClassification"):
        fields["summary_proj_to_labels"] = head.startswith("XLM")
        fields["summary_use_proj"] |= head.startswith("XLM")
    if "encoder_hidden_states" not in inspect.signature(head_class(head).forward).parameters:
        fields["add_cross_attention"] = False
    if "ForQuestionAnswering" in head:  # otherwise it does not run
        fields["num_labels"] = 2
    if head.endswith("ForSequenceClassification") and fields["num_labels"] > 1:
        fields["problem_type"] = draw.choice([None, "regression", "multi_label_classification"])
    unused = ("heads", "head_width", "output_attentions", "output_hidden_states")
    return {name: value for name, value in fields.items() if name not in unused}


def draw_part(family: str, head: str, draw: Draw, **more: Any) -> Fields:
    """A config inside another, which may say that it was that of another head."""
    fields = draw_fields(family, head, draw)
    for name in ("num_labels", "problem_type"):
        fields.pop(name, None)
    return {"model_type": family, "architectures": draw.choice([None, [head]])} | fields | more


TIED = ("bert", "roberta", "xlm-roberta", "electra")  # whose encoders and decoders may share weights
UNLIKE = ("architectures", "is_decoder", "add_cross_attention", "tie_word_embeddings", "attention_type")


def draw_composed(family: str, draw: Draw) -> Fields:
    reader, writer = draw.choice(sorted(COMPOSED[family])), draw.choice(sorted(WRITERS))
    encoder = draw_part(reader, COMPOSED[family][reader], draw, is_decoder=False, add_cross_attention=False)
    decoder = draw_part(writer, WRITERS[writer], draw, is_decoder=True, add_cross_attention=True)
    tied = reader in TIED and draw.random() < 0.4
    if tied:  # only models of one size run
        writer = reader
        size = {name: decoder_value for name, decoder_value in encoder.items() if name not in UNLIKE}
        decoder = draw_part(writer, WRITERS[writer], draw, is_decoder=True, add_cross_attention=True) | size
    start, pad, end = draw.sample(range(decoder["vocab_size"]), 3)
    return {
        "encoder": encoder, "decoder": decoder, "decoder_start_token_id": start, "pad_token_id": pad,
        "eos_token_id": draw.choice([end, decoder.get("eos_token_id", end)]),
        "tie_word_embeddings": draw.random() < 0.5,  # the decoder has its own field for it
        "tie_encoder_decoder": tied,
    }  # fmt: skip


def fresh_model(head: str, config: transformers.PretrainedConfig) -> transformers.PreTrainedModel:
    if config.model_type != "stablelm":
        return head_class(head)(config)
    with no_init_weights():  # the original cannot initialize its norms of queries and keys, only load them
        model = head_class(head)(config)
    model.tie_weights()
    return model


def make_configuration(family: str, head: str, seed: int, directory: Path, **weights: Any) -> Fields:
    """Writes a model of random fields; returns them. Raises what the original raises where it has none of this kind."""
    draw = Draw(f"{family} {head} {seed}")
    fields = draw_composed(family, draw) if family in COMPOSED else draw_fields(family, head, draw)
    config = CLASSES[family](**copy.deepcopy(fields))
    model = fresh_model(head, config)
    randomize(model, torch.Generator().manual_seed(seed), **weights)
    try:
        model.save_pretrained(directory, safe_serialization=True)
    except RuntimeError:  # it shares tensors that its class does not declare
        model.save_pretrained(directory, safe_serialization=False)
    return fields


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", choices=CLASSES)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--head", help="its class; else the heads are printed")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.head is None or options.directory is None:
        print(*heads_of(options.family), sep="\n")
    else:
        print(make_configuration(options.family, options.head, options.seed, options.directory))


if __name__ == "__main__":
    main()
