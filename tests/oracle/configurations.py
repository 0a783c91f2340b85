"""Random configurations: every field of every config class of our families, and every head class.

    python configurations.py bert --seed 3 DIRECTORY

Each field has a rule: RULES of field_rules.py, or OWN of family_rules.py. A field without a rule is an error, so that a
new field of transformers is not forgotten.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import inspect
from pathlib import Path
from typing import Any

import torch
import transformers
from transformers.modeling_utils import no_init_weights

from family_rules import OWN, SHARED
from field_rules import RULES, Draw, Drawn, Fields
from model_families import PART_OF_HEADS
from models import randomize
from originals import head_class

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

# Parts of other models.
NO_MODELS = {"AdaptiveEmbedding", "Gemma3ForConditionalGeneration", "Gemma3Model", "Gemma3ForSequenceClassification"}


def heads_of(family: str) -> list[str]:
    """Every model of the family that transformers has, by name."""
    modeling = importlib.import_module(CLASSES[family].__module__.replace(".configuration_", ".modeling_"))
    exported = [getattr(modeling, name) for name in modeling.__all__ if name not in NO_MODELS]
    return [
        each.__name__ for each in exported
        if isinstance(each, type) and issubclass(each, transformers.PreTrainedModel) and "pretrained" not in each.__name__.lower()
    ]  # fmt: skip


# Fields that are derived from others, or that no tensor depends on.
FOLLOWING = {"attention_layers", "dense_act_fn", "is_gated_act", "_sliding_window_pattern"}
# Families whose heads have an even width.
EVEN_HEADS = ("falcon", "modernbert", "llama", "mistral", "qwen2", "qwen3", "cohere", "granite", "olmo2", "olmo3", "smollm3", "starcoder2", "mixtral", "olmoe",
              "gpt_oss", "qwen2_moe", "qwen3_moe")  # fmt: skip


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
    """A config inside another one. It may contain the architecture of a head."""
    fields = draw_fields(family, head, draw)
    for name in ("num_labels", "problem_type"):
        fields.pop(name, None)
    return {"model_type": family, "architectures": draw.choice([None, [head]])} | fields | more


TIED = ("bert", "roberta", "xlm-roberta", "electra")  # their encoders and decoders may share weights
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
    """Writes a model with random fields and returns the fields. Raises the original's error if it cannot make such a model."""
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
