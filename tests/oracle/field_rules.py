"""Rules that draw the fields of a random configuration, by name. Rules of single families are in family_rules.py."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from transformers.activations import ACT2CLS

Draw = random.Random
Fields = dict[str, Any]
Rule = Callable[[Draw, Fields], Any]

# PReLU and xIELU have their own weights, which no checkpoint of these families contains.
ACTIVATIONS = sorted(set(ACT2CLS) - {"prelu", "xielu"})


class Drawn(dict[str, Any]):
    """Fields that are drawn at their first use, by another rule or in turn."""

    def __init__(self, draw: Draw, rules: dict[str, Rule]) -> None:
        super().__init__()
        self.draw, self.rules = draw, rules

    def __missing__(self, name: str) -> Any:
        self[name] = self.rules[name](self.draw, self)
        return self[name]


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
