"""Tiny random checkpoints as transformers writes them.

    python models.py --list
    python models.py gpt2-relu --seed 3 DIRECTORY

Sizes are odd on purpose (head widths that fill no vector, an odd model width for Marian's sinusoids), and no
parameter is left at zero or one, so that nothing hides behind a bias or a norm that does nothing.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import transformers
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_attn_mask_utils import AttentionMaskConverter
from transformers.models.t5.modeling_t5 import T5LayerNorm
from transformers.models.xglm import modeling_xglm

import remote_configs
import remote_heads

transformers.logging.set_verbosity_error()


def type_as(tensor: torch.Tensor, other: torch.Tensor | None = None, *, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Transformer-XL of transformers 4.57 calls it with a dtype, which torch does not take."""
    return TYPE_AS(tensor, other) if other is not None else tensor.to(dtype)


TYPE_AS = torch.Tensor.type_as
torch.Tensor.type_as = type_as  # type: ignore[assignment]


def softmax(scores: torch.Tensor, dim: int | None = None, *more: Any, dtype: torch.dtype | None = None, **others: Any) -> torch.Tensor:
    """Some originals ask for float32 whatever they are. There the lowest float64 is -infinity, and a row that sees nothing is NaN."""
    if scores.dtype == torch.float64:
        dtype = None
    if dim == -1 and scores.isneginf().all(-1).any():
        scores = scores.clamp(min=torch.finfo(scores.dtype).min)
    return SOFTMAX(scores, dim, *more, dtype=dtype, **others)


def causal_mask(shape: Any, dtype: torch.dtype, *more: Any, **others: Any) -> torch.Tensor:
    """It holds the lowest number of dtype, in a tensor of the default type."""
    default = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        return CAUSAL_MASK(shape, dtype, *more, **others)
    finally:
        torch.set_default_dtype(default)


SOFTMAX = nn.functional.softmax
nn.functional.softmax = softmax  # type: ignore[assignment]
CAUSAL_MASK = AttentionMaskConverter._make_causal_mask
AttentionMaskConverter._make_causal_mask = staticmethod(causal_mask)
torch.set_num_threads(1)  # more threads make models this small slower, and with one thread sums keep their
                          # order


@dataclass(frozen=True)
class Size:
    heads: int
    head_width: int
    layers: int
    vocabulary: int
    feed_forward: int
    positions: int

    @property
    def width(self) -> int:
        return self.heads * self.head_width


SIZES = [
    Size(heads=3, head_width=12, layers=3, vocabulary=101, feed_forward=50, positions=40),
    Size(heads=5, head_width=7, layers=2, vocabulary=130, feed_forward=91, positions=48),
    Size(heads=1, head_width=9, layers=1, vocabulary=67, feed_forward=13, positions=33),
    Size(heads=4, head_width=32, layers=2, vocabulary=307, feed_forward=300, positions=70),
]
SMALL = Size(heads=3, head_width=4, layers=2, vocabulary=41, feed_forward=19, positions=24)  # for committed files


@dataclass(frozen=True)
class Case:
    """A family, its head, and the fields of config.json that make this case what it is."""

    family: str
    head: str
    settings: dict[str, Any] = field(default_factory=dict)


class AttendGPT3Config(transformers.GPT2Config):
    model_type = "attend-gpt3"


class AttendGPT3LMHeadModel(transformers.GPT2LMHeadModel):
    """GPT-2 whose every second layer sees the last `window_size` tokens only: there is no original to compare with."""

    config_class = AttendGPT3Config

    def __init__(self, config: AttendGPT3Config) -> None:
        super().__init__(config)
        for block in self.transformer.h[1::2]:
            block.attn.forward = banded(block.attn.forward, config.window_size)


def banded(attend: Any, window: int) -> Any:
    def forward(hidden_states: torch.Tensor, *arguments: Any, attention_mask: torch.Tensor | None, **more: Any) -> Any:
        length = hidden_states.shape[1]
        lowest = torch.finfo(hidden_states.dtype).min
        unseen = torch.ones(length, length, dtype=torch.bool).tril(-window)
        if attention_mask is None:
            attention_mask = hidden_states.new_zeros(1, 1, length, length).masked_fill(unseen.new_ones(length, length).triu(1), lowest)
        return attend(hidden_states, *arguments, attention_mask=attention_mask.masked_fill(unseen, lowest), **more)

    return forward


transformers.AutoConfig.register("attend-gpt3", AttendGPT3Config)


def without_linear_biases(self: Any, *arguments: Any) -> Any:
    """Falcon's mask of transformers 4.57 has ALiBi's biases already, which eager attention adds once more."""
    *others, _ = arguments
    return FALCON_MASK(self, *others, None)


FALCON_MASK = transformers.FalconModel._update_causal_mask
transformers.FalconModel._update_causal_mask = without_linear_biases


class TransfoXLLMHeadModel(transformers.TransfoXLLMHeadModel, transformers.GenerationMixin):
    """transformers 4.57 has forgotten that it generates, and that its memories are no cache."""

    @classmethod
    def _supports_default_dynamic_cache(cls) -> bool:
        return False


class XglmTorch:
    """XGLM limits scores by torch.max, which halves the gradient where a score equals the limit, as all scores of a row do
    that sees nothing."""

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)

    def max(self, scores: torch.Tensor, lowest: torch.Tensor) -> torch.Tensor:
        return scores.clamp(min=lowest.item())


modeling_xglm.torch = XglmTorch()


OWN_HEADS: dict[str, type] = {
    "AttendGPT3LMHeadModel": AttendGPT3LMHeadModel, "TransfoXLLMHeadModel": TransfoXLLMHeadModel, **remote_heads.HEADS,
}  # fmt: skip


def head_class(name: str) -> Any:
    return OWN_HEADS.get(name) or getattr(transformers, name)


BERT_LIKE = {
    "bert": transformers.BertConfig,
    "roberta": transformers.RobertaConfig,
    "xlm-roberta": transformers.XLMRobertaConfig,
    "distilbert": transformers.DistilBertConfig,
    "electra": transformers.ElectraConfig,
    "albert": transformers.AlbertConfig,
    "deberta": transformers.DebertaConfig,
    "deberta-v2": transformers.DebertaV2Config,
    "big_bird": transformers.BigBirdConfig,
    "camembert": transformers.CamembertConfig,
    "data2vec-text": transformers.Data2VecTextConfig,
    "ernie": transformers.ErnieConfig,
    "megatron-bert": transformers.MegatronBertConfig,
    "mpnet": transformers.MPNetConfig,
    "roberta-prelayernorm": transformers.RobertaPreLayerNormConfig,
    "roformer": transformers.RoFormerConfig,
    "xlm-roberta-xl": transformers.XLMRobertaXLConfig,
}

LLAMA_LIKE: dict[str, type[transformers.PretrainedConfig]] = {
    "llama": transformers.LlamaConfig,
    "mistral": transformers.MistralConfig,
    "qwen2": transformers.Qwen2Config,
    "qwen2_moe": transformers.Qwen2MoeConfig,
    "qwen3": transformers.Qwen3Config,
    "qwen3_moe": transformers.Qwen3MoeConfig,
    "cohere": transformers.CohereConfig,
    "gemma": transformers.GemmaConfig,
    "gemma2": transformers.Gemma2Config,
    "gemma3_text": transformers.Gemma3TextConfig,
    "gpt_neox": transformers.GPTNeoXConfig,
    "granite": transformers.GraniteConfig,
    "gpt_oss": transformers.GptOssConfig,
    "mixtral": transformers.MixtralConfig,
    "olmo2": transformers.Olmo2Config,
    "olmo3": transformers.Olmo3Config,
    "olmoe": transformers.OlmoeConfig,
    "phi": transformers.PhiConfig,
    "phi3": transformers.Phi3Config,
    "smollm3": transformers.SmolLM3Config,
    "stablelm": transformers.StableLmConfig,
    "starcoder2": transformers.Starcoder2Config,
}

# Decoders that may have ALiBi, with their own field names.
LINEAR_LIKE: dict[str, type[transformers.PretrainedConfig]] = {
    "bloom": transformers.BloomConfig,
    "falcon": transformers.FalconConfig,
    "mpt": transformers.MptConfig,
}

# Those whose positions begin after the padding id.
ROBERTA_LIKE = ("roberta", "xlm-roberta", "camembert", "data2vec-text", "mpnet", "roberta-prelayernorm", "xlm-roberta-xl")
FAIRSEQ_DECODERS = ("opt", "xglm", "biogpt")
GPT_LIKE = ("gpt2", "attend-gpt3", "gpt_neo", "gptj", "codegen", "openai-gpt", "ctrl", *FAIRSEQ_DECODERS)
T5_LIKE = {"t5": transformers.T5Config, "mt5": transformers.MT5Config, "umt5": transformers.UMT5Config}
MARIAN_LIKE = {
    "marian": transformers.MarianConfig,
    "bart": transformers.BartConfig,
    "m2m_100": transformers.M2M100Config,
    "mbart": transformers.MBartConfig,
    "plbart": transformers.PLBartConfig,
    "pegasus": transformers.PegasusConfig,
    "blenderbot": transformers.BlenderbotConfig,
    "blenderbot-small": transformers.BlenderbotSmallConfig,
}
SCORES = "ForSequenceClassification ForTokenClassification ForQuestionAnswering ForMultipleChoice"


def heads(family: str, prefix: str, names: str) -> dict[str, Case]:
    """A case for each of the family's heads: "roberta-multiple-choice" for "ForMultipleChoice"."""

    def dashed(head: str) -> str:
        return re.sub("(?<=[a-z])(?=[A-Z])", "-", head.removeprefix("For")).lower()

    def settings(head: str) -> dict[str, Any]:
        causal = family in BERT_LIKE and head.endswith(("ForCausalLM", "LMHeadModel"))
        return {"num_labels": 3} if "Classification" in head else {"is_decoder": True} if causal else {}

    return {f"{family.replace('_', '-')}-{dashed(name)}": Case(family, prefix + name, settings(name)) for name in names.split()}


CASES: dict[str, Case] = {
    "bert-masked-lm": Case("bert", "BertForMaskedLM"),
    "bert-masked-lm-untied": Case("bert", "BertForMaskedLM", {"tie_word_embeddings": False, "hidden_act": "gelu_new"}),
    "bert-masked-lm-relu": Case("bert", "BertForMaskedLM", {"hidden_act": "relu", "layer_norm_eps": 1e-3}),
    "bert-classifier": Case("bert", "BertForSequenceClassification", {"num_labels": 3, "type_vocab_size": 3}),
    "bert-classifier-two": Case("bert", "BertForSequenceClassification"),
    "bert-regression": Case("bert", "BertForSequenceClassification", {"num_labels": 1}),
    "bert-regression-three": Case(
        "bert", "BertForSequenceClassification", {"num_labels": 3, "problem_type": "regression"}
    ),
    "bert-multi-label": Case(
        "bert", "BertForSequenceClassification", {"num_labels": 4, "problem_type": "multi_label_classification"}
    ),
    "bert-multi-label-inferred": Case("bert", "BertForSequenceClassification", {"num_labels": 5}),
    "bert-model": Case("bert", "BertModel"),
    **heads("bert", "Bert", "ForPreTraining ForNextSentencePrediction ForTokenClassification ForQuestionAnswering "
            "ForMultipleChoice"),
    **heads("bert", "Bert", "LMHeadModel"),
    "bert-causal": Case("bert", "BertModel", {"is_decoder": True}),
    **heads("roberta", "Roberta", f"Model ForMaskedLM ForCausalLM {SCORES}"),
    **heads("xlm-roberta", "XLMRoberta", "ForMaskedLM ForCausalLM ForSequenceClassification"),
    **heads("distilbert", "DistilBert", f"Model ForMaskedLM {SCORES}"),
    **heads("electra", "Electra", f"Model ForPreTraining ForMaskedLM ForCausalLM {SCORES}"),
    "electra-same-width": Case("electra", "ElectraForMaskedLM", {"embedding_size": None, "hidden_act": "relu"}),
    **heads("albert", "Albert", f"Model ForPreTraining ForMaskedLM {SCORES}"),
    "albert-groups": Case("albert", "AlbertForMaskedLM", {"num_hidden_groups": 2}),
    "albert-inner-layers": Case("albert", "AlbertForMaskedLM", {"inner_group_num": 2}),
    "gpt2": Case("gpt2", "GPT2LMHeadModel"),
    "gpt2-inverse-layer": Case("gpt2", "GPT2LMHeadModel", {"scale_attn_by_inverse_layer_idx": True}),
    "gpt2-unscaled": Case("gpt2", "GPT2LMHeadModel", {"scale_attn_weights": False}),
    "gpt2-upcast": Case(
        "gpt2", "GPT2LMHeadModel", {"reorder_and_upcast_attn": True, "scale_attn_by_inverse_layer_idx": True}
    ),
    "gpt2-inner": Case("gpt2", "GPT2LMHeadModel", {"n_inner": 51, "layer_norm_epsilon": 1e-3}),
    "gpt2-relu": Case("gpt2", "GPT2LMHeadModel", {"activation_function": "relu"}),
    "gpt2-gelu": Case("gpt2", "GPT2LMHeadModel", {"activation_function": "gelu"}),
    "gpt2-untied": Case("gpt2", "GPT2LMHeadModel", {"tie_word_embeddings": False}),
    **heads("gpt2", "GPT2", "DoubleHeadsModel ForSequenceClassification ForTokenClassification ForQuestionAnswering"),
    "gpt2-regression-padding": Case("gpt2", "GPT2ForSequenceClassification", {"num_labels": 1, "pad_token_id": 5}),
    "attend-gpt3": Case("attend-gpt3", "AttendGPT3LMHeadModel"),
    "openai-gpt": Case("openai-gpt", "OpenAIGPTLMHeadModel"),
    "openai-gpt-model": Case("openai-gpt", "OpenAIGPTModel", {"afn": "relu"}),
    **heads("openai-gpt", "OpenAIGPT", "DoubleHeadsModel ForSequenceClassification"),
    "ctrl": Case("ctrl", "CTRLLMHeadModel"),
    "ctrl-model": Case("ctrl", "CTRLModel"),
    **heads("ctrl", "CTRL", "ForSequenceClassification"),
    "gpt-neo": Case("gpt_neo", "GPTNeoForCausalLM"),
    "gpt-neo-model": Case("gpt_neo", "GPTNeoModel"),
    **heads("gpt_neo", "GPTNeo", "ForSequenceClassification ForTokenClassification ForQuestionAnswering"),
    "gptj": Case("gptj", "GPTJForCausalLM"),
    "gptj-all-rotated": Case("gptj", "GPTJForCausalLM", {"rotary_dim": None}),
    "t5": Case("t5", "T5ForConditionalGeneration"),
    "t5-gated": Case(
        "t5", "T5ForConditionalGeneration", {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": False}
    ),
    "t5-unequal": Case("t5", "T5Model", {"d_kv": 5, "num_decoder_layers": 1, "relative_attention_num_buckets": 6}),
    **heads("t5", "T5", "ForSequenceClassification ForTokenClassification ForQuestionAnswering"),
    "t5-encoder": Case("t5", "T5EncoderModel", {"feed_forward_proj": "gated-silu"}),
    **heads("deberta-v2", "DebertaV2", f"Model ForMaskedLM {SCORES}"),
    "deberta-v2-xl": Case(
        "deberta-v2", "DebertaV2ForMaskedLM",
        {"share_att_key": False, "conv_kernel_size": 3, "conv_act": "gelu", "type_vocab_size": 2},
    ),
    "deberta-v2-linear": Case(
        "deberta-v2", "DebertaV2Model",
        {"position_buckets": -1, "pos_att_type": ["c2p"], "position_biased_input": True, "norm_rel_ebd": "none"},
    ),
    "deberta-v2-absolute": Case(
        "deberta-v2", "DebertaV2Model",
        {"relative_attention": False, "pos_att_type": [], "position_biased_input": True, "norm_rel_ebd": "none"},
    ),
    **heads("deberta", "Deberta", "Model ForMaskedLM ForSequenceClassification ForTokenClassification "
            "ForQuestionAnswering"),
    "deberta-content-to-position": Case("deberta", "DebertaModel", {"pos_att_type": ["c2p"], "type_vocab_size": 2,
                                                                    "position_biased_input": True}),
    **heads("big_bird", "BigBird", "Model ForPreTraining ForMaskedLM ForSequenceClassification "
            "ForTokenClassification ForMultipleChoice ForQuestionAnswering"),
    "big-bird-causal": Case("big_bird", "BigBirdForCausalLM", {"is_decoder": True, "attention_type": "original_full"}),
    "big-bird-full": Case("big_bird", "BigBirdForMaskedLM", {"attention_type": "original_full", "use_bias": False,
                                                             "rescale_embeddings": True, "hidden_act": "gelu"}),
    "transfo-xl": Case("transfo-xl", "TransfoXLLMHeadModel"),
    "transfo-xl-same-length": Case("transfo-xl", "TransfoXLLMHeadModel", {"same_length": True, "clamp_len": 4}),
    "transfo-xl-one-table": Case("transfo-xl", "TransfoXLLMHeadModel", {"div_val": 1}),
    "transfo-xl-model": Case("transfo-xl", "TransfoXLModel", {"mem_len": 0}),
    "transfo-xl-sequence-classification": Case(
        "transfo-xl", "TransfoXLForSequenceClassification", {"num_labels": 3, "pad_token_id": 5}
    ),
    "xlnet": Case("xlnet", "XLNetLMHeadModel"),
    "xlnet-model": Case("xlnet", "XLNetModel", {"clamp_len": 3, "ff_activation": "relu"}),
    **heads("xlnet", "XLNet", f"{SCORES} ForQuestionAnsweringSimple"),
    "xlnet-short-memory": Case("xlnet", "XLNetLMHeadModel", {"mem_len": 4, "clamp_len": 5}),
    "xlnet-without-memory": Case("xlnet", "XLNetLMHeadModel", {"use_mems_eval": False}),
    **heads("gptj", "GPTJ", "ForSequenceClassification ForQuestionAnswering"),
    **heads("mpnet", "MPNet", f"Model ForMaskedLM {SCORES}"),
    **heads("camembert", "Camembert", f"Model ForMaskedLM ForCausalLM {SCORES}"),
    **heads("data2vec-text", "Data2VecText", f"Model ForMaskedLM ForCausalLM {SCORES}"),
    **heads("ernie", "Ernie", f"Model ForMaskedLM ForCausalLM ForPreTraining ForNextSentencePrediction {SCORES}"),
    "ernie-tasks": Case("ernie", "ErnieForMaskedLM", {"use_task_id": True}),
    **heads("megatron-bert", "MegatronBert",
            f"Model ForMaskedLM ForCausalLM ForPreTraining ForNextSentencePrediction {SCORES}"),
    **heads("roberta-prelayernorm", "RobertaPreLayerNorm", f"Model ForMaskedLM ForCausalLM {SCORES}"),
    **heads("xlm-roberta-xl", "XLMRobertaXL", f"Model ForMaskedLM ForCausalLM {SCORES}"),
    **heads("roformer", "RoFormer", f"Model ForMaskedLM ForCausalLM {SCORES}"),
    "mt5": Case("mt5", "MT5ForConditionalGeneration"),
    **heads("mt5", "MT5", "Model EncoderModel ForSequenceClassification ForTokenClassification ForQuestionAnswering"),
    "umt5": Case("umt5", "UMT5ForConditionalGeneration"),
    **heads("umt5", "UMT5", "Model EncoderModel ForSequenceClassification ForTokenClassification ForQuestionAnswering"),
    "mbart": Case("mbart", "MBartForConditionalGeneration"),
    **heads("mbart", "MBart", "Model ForSequenceClassification ForQuestionAnswering"),
    "plbart": Case("plbart", "PLBartForConditionalGeneration"),
    **heads("plbart", "PLBart", "Model ForSequenceClassification"),
    "pegasus": Case("pegasus", "PegasusForConditionalGeneration", {"scale_embedding": True}),
    **heads("pegasus", "Pegasus", "Model"),
    "blenderbot": Case("blenderbot", "BlenderbotForConditionalGeneration"),
    **heads("blenderbot", "Blenderbot", "Model"),
    "blenderbot-small": Case("blenderbot-small", "BlenderbotSmallForConditionalGeneration"),
    **heads("blenderbot-small", "BlenderbotSmall", "Model"),
    "opt": Case("opt", "OPTForCausalLM"),
    "opt-350m": Case("opt", "OPTForCausalLM", {"do_layer_norm_before": False, "word_embed_proj_dim": 10}),
    **heads("opt", "OPT", "Model ForSequenceClassification ForQuestionAnswering"),
    "xglm": Case("xglm", "XGLMForCausalLM"),
    **heads("xglm", "XGLM", "Model"),
    "biogpt": Case("biogpt", "BioGptForCausalLM"),
    **heads("biogpt", "BioGpt", "Model ForSequenceClassification ForTokenClassification"),
    "codegen": Case("codegen", "CodeGenForCausalLM"),
    **heads("codegen", "CodeGen", "Model"),
    **heads("vit_msn", "ViTMSN", "Model ForImageClassification"),
    "bart": Case("bart", "BartForConditionalGeneration"),
    "bart-scaled": Case("bart", "BartForConditionalGeneration", {"scale_embedding": True, "activation_function": "relu"}),
    **heads("bart", "Bart", "Model ForSequenceClassification ForQuestionAnswering"),
    "m2m-100": Case("m2m_100", "M2M100ForConditionalGeneration", {"scale_embedding": True}),
    **heads("vit", "ViT", "Model ForImageClassification ForMaskedImageModeling"),
    "vit-gelu-new": Case("vit", "ViTModel", {"qkv_bias": False, "hidden_act": "gelu_new", "pooler_act": "relu"}),
    "vit-rectangle": Case("vit", "ViTForImageClassification", {"image_size": [15, 23], "patch_size": [4, 5]}),
    **heads("xlm", "XLM", "WithLMHeadModel Model ForSequenceClassification ForTokenClassification ForMultipleChoice "
            "ForQuestionAnsweringSimple ForQuestionAnswering"),
    "xlm-relu": Case("xlm", "XLMWithLMHeadModel", {"gelu_activation": False, "n_langs": 1}),
    "xlm-causal": Case("xlm", "XLMWithLMHeadModel", {"causal": True}),
    "xlm-sinusoidal": Case("xlm", "XLMWithLMHeadModel", {"sinusoidal_embeddings": True, "use_lang_emb": False}),
    "marian": Case("marian", "MarianMTModel", {"activation_function": "swish", "scale_embedding": True}),
    "marian-unscaled": Case("marian", "MarianMTModel", {"activation_function": "relu"}),
    "marian-gelu": Case("marian", "MarianMTModel", {"activation_function": "gelu", "scale_embedding": True}),
    "marian-unequal": Case("marian", "MarianMTModel", {"activation_function": "swish", "unequal": True}),
    "marian-separate": Case(
        "marian",
        "MarianMTModel",
        {"activation_function": "swish", "share_encoder_decoder_embeddings": False, "scale_embedding": True},
    ),
}


PART_OF_HEADS = ("gpt_neox", "phi", "phi3", "stablelm")  # an even number of dimensions is rotated
LLAMA_HEADS = "Model ForCausalLM ForSequenceClassification ForTokenClassification ForQuestionAnswering"
TOKENS = "Model ForCausalLM ForSequenceClassification ForTokenClassification"
EXPERTS = {"mixtral": "num_local_experts", "gpt_oss": "num_local_experts", "qwen2_moe": "num_experts", "qwen3_moe": "num_experts", "olmoe": "num_experts"}
LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 12}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 10}
CASES |= {
    **heads("llama", "Llama", LLAMA_HEADS), **heads("mistral", "Mistral", LLAMA_HEADS),
    **heads("qwen2", "Qwen2", LLAMA_HEADS), **heads("qwen3", "Qwen3", LLAMA_HEADS),
    "llama": Case("llama", "LlamaForCausalLM", {"tie_word_embeddings": True}),
    "mistral": Case("mistral", "MistralForCausalLM"),
    "qwen2": Case("qwen2", "Qwen2ForCausalLM"),
    "qwen3": Case("qwen3", "Qwen3ForCausalLM"),
    **heads("gemma", "Gemma", TOKENS), **heads("gemma2", "Gemma2", TOKENS), **heads("gemma3_text", "Gemma3", "ForCausalLM"),
    **heads("gemma3_text", "Gemma3Text", "Model ForSequenceClassification"),
    **heads("phi", "Phi", TOKENS), **heads("phi3", "Phi3", TOKENS), **heads("smollm3", "SmolLM3", LLAMA_HEADS),
    **heads("granite", "Granite", "Model"), **heads("olmo2", "Olmo2", "Model"), **heads("olmo3", "Olmo3", "Model"),
    **heads("gpt_neox", "GPTNeoX", LLAMA_HEADS), **heads("stablelm", "StableLm", TOKENS),
    **heads("starcoder2", "Starcoder2", TOKENS), **heads("cohere", "Cohere", "Model"),
    "gemma": Case("gemma", "GemmaForCausalLM"),
    "gemma2": Case("gemma2", "Gemma2ForCausalLM", {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 2.0}),
    "gemma3": Case("gemma3_text", "Gemma3ForCausalLM", {"rope_scaling": {"rope_type": "linear", "factor": 8.0}}),
    "gemma3-both-ways": Case("gemma3_text", "Gemma3TextModel", {"use_bidirectional_attention": True}),
    "phi": Case("phi", "PhiForCausalLM"),
    "phi-normed": Case("phi", "PhiForCausalLM", {"qk_layernorm": True}),
    "phi3": Case("phi3", "Phi3ForCausalLM", {"original_max_position_embeddings": 7}),
    "smollm3": Case("smollm3", "SmolLM3ForCausalLM", {"no_rope_layer_interval": 2}),
    "granite": Case("granite", "GraniteForCausalLM", {"embedding_multiplier": 2.0, "attention_multiplier": 0.4,
                                                      "residual_multiplier": 0.7, "logits_scaling": 3.0}),
    **heads("mixtral", "Mixtral", LLAMA_HEADS), **heads("qwen2_moe", "Qwen2Moe", LLAMA_HEADS),
    **heads("qwen3_moe", "Qwen3Moe", LLAMA_HEADS), **heads("olmoe", "Olmoe", "Model"), **heads("gpt_oss", "GptOss", TOKENS),
    "mixtral": Case("mixtral", "MixtralForCausalLM", {"output_router_logits": True, "router_aux_loss_coef": 0.3}),
    "qwen2-moe": Case("qwen2_moe", "Qwen2MoeForCausalLM", {"decoder_sparse_step": 2}),
    "qwen2-moe-balanced": Case("qwen2_moe", "Qwen2MoeForCausalLM", {"output_router_logits": True, "router_aux_loss_coef": 0.3,
                                                                    "norm_topk_prob": True, "mlp_only_layers": [0]}),
    "qwen3-moe": Case("qwen3_moe", "Qwen3MoeForCausalLM", {"output_router_logits": True, "router_aux_loss_coef": 0.3}),
    "olmoe": Case("olmoe", "OlmoeForCausalLM", {"clip_qkv": 0.8, "norm_topk_prob": True}),
    "gpt-oss": Case("gpt_oss", "GptOssForCausalLM", {"output_router_logits": True, "router_aux_loss_coef": 0.3}),
    "gpt-oss-plain": Case("gpt_oss", "GptOssForCausalLM", {"rope_scaling": None}),
    "olmo2": Case("olmo2", "Olmo2ForCausalLM"),
    "olmo3": Case("olmo3", "Olmo3ForCausalLM", {"layer_types": None, "rope_scaling": YARN}),
    "gpt-neox": Case("gpt_neox", "GPTNeoXForCausalLM"),
    "gpt-neox-one-by-one": Case("gpt_neox", "GPTNeoXForCausalLM", {"use_parallel_residual": False, "rotary_pct": 1.0}),
    "stablelm": Case("stablelm", "StableLmForCausalLM", {"use_qkv_bias": True}),
    "stablelm-parallel": Case("stablelm", "StableLmForCausalLM", {"use_parallel_residual": True}),
    "starcoder2": Case("starcoder2", "Starcoder2ForCausalLM", {"sliding_window": 4}),
    "cohere": Case("cohere", "CohereForCausalLM"),
    "cohere-normed": Case("cohere", "CohereForCausalLM", {"use_qk_norm": True}),
    "llama-biases": Case("llama", "LlamaForCausalLM", {"attention_bias": True, "mlp_bias": True, "num_key_value_heads": None}),
    "llama-llama3": Case("llama", "LlamaForCausalLM", {"rope_scaling": LLAMA_3, "rope_theta": 500000.0}),
    "llama-linear": Case("llama", "LlamaForCausalLM", {"rope_scaling": {"type": "linear", "factor": 2.5}}),
    "llama-dynamic": Case("llama", "LlamaForCausalLM", {"rope_scaling": {"type": "dynamic", "factor": 2.0}, "max_position_embeddings": 8}),
    "llama-yarn": Case("llama", "LlamaForCausalLM", {"rope_scaling": YARN}),
    "qwen2-windows": Case("qwen2", "Qwen2ForCausalLM", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
}  # fmt: skip


CASES |= {
    **heads("bloom", "Bloom", LLAMA_HEADS), **heads("falcon", "Falcon", LLAMA_HEADS), **heads("mpt", "Mpt", LLAMA_HEADS),
    "bloom": Case("bloom", "BloomForCausalLM"),
    "bloom-adds-to-normed": Case("bloom", "BloomForCausalLM", {"apply_residual_connection_post_layernorm": True}),
    "falcon": Case("falcon", "FalconForCausalLM"),
    "falcon-grouped": Case("falcon", "FalconForCausalLM", {"new_decoder_architecture": True, "num_kv_heads": None, "bias": True}),
    "falcon-one-norm": Case("falcon", "FalconForCausalLM", {"new_decoder_architecture": True, "num_kv_heads": 1, "num_ln_in_parallel_attn": 1}),
    "falcon-linear": Case("falcon", "FalconForCausalLM", {"alibi": True, "multi_query": False, "parallel_attn": False, "bias": True}),
    "mpt": Case("mpt", "MptForCausalLM", {"attn_config": {"clip_qkv": 0.9, "softmax_scale": 0.4}}),
    "modernbert-masked-lm": Case("modernbert", "ModernBertForMaskedLM"),
    **heads("modernbert", "ModernBert", f"Model {SCORES}"),
    "modernbert-biases": Case("modernbert", "ModernBertForMaskedLM", {
        "norm_bias": True, "attention_bias": True, "mlp_bias": True, "classifier_bias": True, "decoder_bias": False}),
    "nomic-bert-model": Case("nomic_bert", "NomicBertModel"),
    "nomic-bert-pre-training": Case("nomic_bert", "NomicBertForPreTraining", {
        "rotary_emb_fraction": 0.5, "pad_vocab_size_multiple": 8, "n_layer": 1}),  # its gated layers are 256 wide
    "nomic-bert-plain": Case("nomic_bert", "NomicBertForPreTraining", {
        "activation_function": "gelu_new", "rotary_emb_interleaved": True, "qkv_proj_bias": True, "mlp_fc1_bias": True, "mlp_fc2_bias": True}),
    "nomic-bert-growing": Case("nomic_bert", "NomicBertModel", {"rotary_scaling_factor": 2, "max_trained_positions": 4, "type_vocab_size": 0}),
    "nomic-bert-sequence-classification": Case("nomic_bert", "NomicBertForSequenceClassification", {"num_labels": 3, "n_layer": 1}),
    "gte-masked-lm": Case("new", "NewForMaskedLM", {"rope_scaling": {"type": "ntk", "factor": 2.0}}),
    "gte-model": Case("new", "NewModel", {"pack_qkv": False, "type_vocab_size": 2, "rope_scaling": {"type": "ntk", "factor": 3.0, "mixed_b": 0.6}}),
    "gte-sequence-classification": Case("new", "NewForSequenceClassification", {"num_labels": 1}),
    "gte-token-classification": Case("new", "NewForTokenClassification", {"num_labels": 3}),
    "jina-bert-model": Case("jina_bert", "JinaBertModel"),
    "jina-bert-masked-lm": Case("jina_bert", "JinaBertForMaskedLM", {"hidden_act": "relu"}),
    "jina-bert-original": Case("jina_bert", "JinaBertForMaskedLM", {"feed_forward_type": "original"}),
    "jina-bert-reglu": Case("jina_bert", "JinaBertForTokenClassification", {"feed_forward_type": "reglu", "num_labels": 3}),
    **heads("jina_bert", "JinaBert", "ForSequenceClassification"),
    "modernbert-mean": Case("modernbert", "ModernBertForSequenceClassification", {"classifier_pooling": "mean", "num_labels": 3}),
}  # fmt: skip


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
    settings, width = dict(case.settings), size.head_width + size.head_width % 2  # halves of heads are
                                                                                  # rotated
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
    if case.family in ("phi3", "smollm3", "olmo2", "olmo3", "olmoe"):  # theirs exceed this small vocabulary
        fields["pad_token_id"] = 0
    return LLAMA_LIKE[case.family](**(fields | settings))


def make_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    if case.family in LLAMA_LIKE:
        return make_llama_config(case, size)
    if case.family in LINEAR_LIKE:
        return make_linear_config(case, size)
    if case.family == "modernbert":
        return make_modernbert_config(case, size)
    if case.family in remote_configs.FAMILIES:
        return remote_configs.remote_config(case.family, case.settings, size)
    if case.family in GPT_LIKE and case.head.endswith("ForSequenceClassification"):  # several texts need one
        case = dataclasses.replace(case, settings={"pad_token_id": 0} | case.settings)
    settings = dict(case.settings)
    if case.family == "roformer" and size.head_width % 2:
        size = dataclasses.replace(size, head_width=size.head_width + 1)
    if case.family in BERT_LIKE:
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
        if case.family == "big_bird":  # so small that texts of eight tokens are sparse
            fields |= dict(block_size=1, num_random_blocks=1)
        if case.family in ("electra", "albert"):
            fields["embedding_size"] = size.width - 2
            fields["num_hidden_layers"] = max(  # fewer do not run in the original
                size.layers, case.settings.get("num_hidden_groups", 1), case.settings.get("inner_group_num", 1)
            )
        settings = {name: size.width if value is None else value for name, value in settings.items()}
        return BERT_LIKE[case.family](**(fields | settings))
    if case.family in GPT_LIKE and case.family not in ("gpt2", "attend-gpt3"):
        return make_gpt_config(case, size)
    if case.family in ("gpt2", "attend-gpt3"):
        fields = dict(
            vocab_size=size.vocabulary, n_embd=size.width, n_layer=size.layers, n_head=size.heads,
            n_positions=size.positions, bos_token_id=1, eos_token_id=1,
        )  # fmt: skip
        if case.family == "attend-gpt3":
            fields["window_size"] = 4
        return (transformers.GPT2Config if case.family == "gpt2" else AttendGPT3Config)(**(fields | settings))
    if case.family in T5_LIKE:
        fields = dict(
            vocab_size=size.vocabulary, d_model=size.width, d_kv=size.head_width, d_ff=size.feed_forward,
            num_layers=size.layers, num_heads=size.heads, relative_attention_num_buckets=8,
            relative_attention_max_distance=13, decoder_start_token_id=0,
        )  # fmt: skip
        return T5_LIKE[case.family](**(fields | settings))
    if case.family in ("xlnet", "transfo-xl") and size.width % 2:  # the originals' sines and cosines need pairs
        size = dataclasses.replace(size, head_width=size.head_width + 1)
    if case.family == "xlnet":
        fields = dict(
            vocab_size=size.vocabulary, d_model=size.width, n_layer=size.layers, n_head=size.heads,
            d_inner=size.feed_forward,
        )  # fmt: skip
        return transformers.XLNetConfig(**(fields | settings))
    if case.family == "transfo-xl":
        third = size.vocabulary // 3
        fields = dict(
            vocab_size=size.vocabulary, cutoffs=[third, 2 * third], d_model=size.width, d_embed=size.width,
            n_head=size.heads, d_head=size.head_width, d_inner=size.feed_forward, div_val=2, n_layer=size.layers,
            mem_len=6, clamp_len=9, same_length=False,
        )  # fmt: skip
        return transformers.TransfoXLConfig(**(fields | settings))
    if case.family in ("vit", "vit_msn"):
        fields = dict(
            hidden_size=size.width, num_hidden_layers=size.layers, num_attention_heads=size.heads,
            intermediate_size=size.feed_forward, image_size=17, patch_size=4,
        )  # fmt: skip
        if case.family == "vit_msn":
            return transformers.ViTMSNConfig(**(fields | settings))
        return transformers.ViTConfig(**(fields | {"encoder_stride": 4} | settings))
    if case.family == "xlm":
        fields = dict(
            vocab_size=size.vocabulary, emb_dim=size.width, n_layers=size.layers, n_heads=size.heads, n_langs=3,
            max_position_embeddings=size.positions,
        )  # fmt: skip
        return transformers.XLMConfig(**(fields | settings))
    unequal = settings.pop("unequal", False)
    fields = dict(
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


def make_gpt_config(case: Case, size: Size) -> transformers.PretrainedConfig:
    fields: dict[str, Any] = dict(
        vocab_size=size.vocabulary, n_embd=size.width, n_layer=size.layers, n_head=size.heads, n_positions=size.positions,
    )  # fmt: skip
    if case.family == "gpt_neo":
        fields = dict(
            vocab_size=size.vocabulary, hidden_size=size.width, num_layers=size.layers, num_heads=size.heads,
            max_position_embeddings=size.positions, window_size=4, intermediate_size=size.feed_forward,
            attention_types=[[["global", "local", "local"][: size.layers], 1]],
        )  # fmt: skip
        fields["attention_types"] = [[["local", "global", "local", "local"][: size.layers], 1]]
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


def randomize(
    model: Any,
    generator: torch.Generator,
    *,
    embedding: float = 0.7,
    gain: float = 1.0,
    bias: float = 0.3,
    mixing: bool = False,
) -> None:
    """Gives every parameter and final_logits_bias values that matter.

    `embedding` and `bias` are standard deviations (of embeddings as the layers see them), `gain` is that of what a
    linear layer makes of inputs of variance 1. `mixing` turns the signs of norm weights at random, so that a head
    tied to the embeddings does not just give the last token back.
    """

    def normal(shape: torch.Size, deviation: float) -> torch.Tensor:
        return torch.randn(shape, generator=generator) * deviation

    if getattr(model.config, "scale_embedding", False):
        embedding *= getattr(model.config, "d_model", model.config.hidden_size) ** -0.5  # the model
                                                                                         # multiplies by it
                                                                                         # again
    done: set[int] = set()
    with torch.no_grad():
        for module in model.modules():
            for name, parameter in module.named_parameters(recurse=False):
                if id(parameter) in done or not parameter.requires_grad:  # tied; Marian's sinusoids
                    continue
                done.add(id(parameter))
                if isinstance(module, (nn.LayerNorm, T5LayerNorm)) or type(module).__name__.endswith(("RMSNorm", "LayerNorm")):
                    centre = normal(parameter.shape, 1.0).sign() if mixing else 1.0
                    parameter.copy_(normal(parameter.shape, bias) + (centre if name == "weight" else 0.0))
                elif isinstance(module, nn.Embedding):
                    parameter.copy_(normal(parameter.shape, embedding))
                elif parameter.ndim == 1:
                    parameter.copy_(normal(parameter.shape, bias))
                elif name == "gate_up_proj_bias":  # gpt-oss: some results must exceed its limits
                    parameter.copy_(normal(parameter.shape, 5.0))
                else:
                    # [in, out], or [in, heads, out]
                    conv1d = isinstance(module, transformers.pytorch_utils.Conv1D) or parameter.ndim == 3
                    fan_in = parameter.shape[0] if conv1d and "experts" not in type(module).__name__.lower() else parameter.shape[1]
                    parameter.copy_(normal(parameter.shape, gain * fan_in**-0.5))
        if hasattr(model, "final_logits_bias"):
            model.final_logits_bias.copy_(normal(model.final_logits_bias.shape, bias))


def make_model(case_name: str, seed: int, directory: Path, size: Size | None = None, **weights: Any) -> None:
    """Writes config.json, model.safetensors and (for models that generate) generation_config.json."""
    case = CASES[case_name]
    config = make_config(case, size or SIZES[seed % len(SIZES)])
    model: PreTrainedModel = head_class(case.head)(config)
    randomize(model, torch.Generator().manual_seed(seed), **weights)
    model.save_pretrained(directory, safe_serialization=True)


def load_model(directory: Path, dtype: torch.dtype = torch.float32) -> PreTrainedModel:
    """The original, as everything else compares with it: eager attention, no dropout."""
    config = transformers.AutoConfig.from_pretrained(directory)
    head = head_class(config.architectures[0])
    model, info = head.from_pretrained(
        directory, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    wrong = [info[key] for key in ("missing_keys", "unexpected_keys", "mismatched_keys", "error_msgs") if info[key]]
    if wrong:
        raise RuntimeError(f"{directory}: transformers cannot load this as {head.__name__}: {wrong}")
    return model.to(dtype).eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("case", nargs="?", choices=CASES)
    parser.add_argument("directory", nargs="?", type=Path)
    parser.add_argument("--seed", type=int, default=0, help="weights, and which of SIZES")
    parser.add_argument("--list", action="store_true", help="print the cases")
    options = parser.parse_args()
    if options.list:
        for name, case in CASES.items():
            print(f"{name:<28}{case.head:<32}{case.settings or ''}")
    elif options.case and options.directory:
        make_model(options.case, options.seed, options.directory)
    else:
        parser.error("give a case and a directory, or --list")


if __name__ == "__main__":
    main()
