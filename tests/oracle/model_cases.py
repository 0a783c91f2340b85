"""The tiny models that the checks compare: sizes, and for each case a family, a head and fields of config.json.

    python models.py --list    # prints the cases
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from model_families import BERT_LIKE


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


# Unusual sizes: most head widths do not fill a vector of the processor, and Marian's sinusoids get an odd model width.
SIZES = [
    Size(heads=3, head_width=12, layers=3, vocabulary=101, feed_forward=50, positions=40),
    Size(heads=5, head_width=7, layers=2, vocabulary=130, feed_forward=91, positions=48),
    Size(heads=1, head_width=9, layers=1, vocabulary=67, feed_forward=13, positions=33),
    Size(heads=4, head_width=32, layers=2, vocabulary=307, feed_forward=300, positions=70),
]
SMALL = Size(heads=3, head_width=4, layers=2, vocabulary=41, feed_forward=19, positions=24)  # for committed files


@dataclass(frozen=True)
class Case:
    """A family, its head, and the fields of config.json that differ from other cases of the family."""

    family: str
    head: str
    settings: dict[str, Any] = field(default_factory=dict)


def heads(family: str, prefix: str, names: str) -> dict[str, Case]:
    """A case for each of the family's heads: "roberta-multiple-choice" for "ForMultipleChoice"."""

    def dashed(head: str) -> str:
        return re.sub("(?<=[a-z])(?=[A-Z])", "-", head.removeprefix("For")).lower()

    def settings(head: str) -> dict[str, Any]:
        causal = family in BERT_LIKE and head.endswith(("ForCausalLM", "LMHeadModel"))
        return {"num_labels": 3} if "Classification" in head else {"is_decoder": True} if causal else {}

    return {f"{family.replace('_', '-')}-{dashed(name)}": Case(family, prefix + name, settings(name)) for name in names.split()}


# Heads that many families have.
SCORES = "ForSequenceClassification ForTokenClassification ForQuestionAnswering ForMultipleChoice"
LLAMA_HEADS = "Model ForCausalLM ForSequenceClassification ForTokenClassification ForQuestionAnswering"
TOKENS = "Model ForCausalLM ForSequenceClassification ForTokenClassification"

# Values of rope_scaling.
LLAMA_3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 12}
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 10}

# Relatives of BERT, GPT, T5 and Marian, and others.
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

# Relatives of Llama.
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

# Decoders that may have ALiBi, ModernBERT, and the encoders of remote_encoders.py.
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
