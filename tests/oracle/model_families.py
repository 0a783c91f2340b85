"""Groups of families that share config fields, positions or inputs."""

from __future__ import annotations

import transformers

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

# Families whose positions begin after the padding id.
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
# Families that rotate only a part of each head. The part has an even number of dimensions.
PART_OF_HEADS = ("gpt_neox", "phi", "phi3", "stablelm")
