"""Configs of the encoders in remote_encoders.py. Fields have the names of the checkpoints."""

from __future__ import annotations

from typing import Any

from transformers import AutoConfig, BertConfig, PretrainedConfig


class NomicBertConfig(PretrainedConfig):
    model_type = "nomic_bert"


class NewConfig(PretrainedConfig):
    model_type = "new"


NOMIC: dict[str, Any] = {
    "activation_function": "swiglu", "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
    "rotary_emb_interleaved": False, "rotary_scaling_factor": None, "max_trained_positions": 2048, "qkv_proj_bias": False,
    "mlp_fc1_bias": False, "mlp_fc2_bias": False, "pad_vocab_size_multiple": 1, "pad_token_id": 0, "type_vocab_size": 2,
    "initializer_range": 0.02,
}  # fmt: skip
GTE: dict[str, Any] = {
    "hidden_act": "gelu", "layer_norm_eps": 1e-12, "layer_norm_type": "layer_norm", "position_embedding_type": "rope",
    "rope_theta": 500.0, "rope_scaling": None, "pack_qkv": True, "pad_token_id": 0, "type_vocab_size": 0, "initializer_range": 0.02,
}  # fmt: skip
JINA: dict[str, Any] = {"position_embedding_type": "alibi", "feed_forward_type": "geglu"}
FAMILIES = {"nomic_bert": "Nomic", "new": "New", "jina_bert": "Jina"}  # the classes begin with these names


def remote_config(family: str, settings: dict[str, Any], size: Any) -> PretrainedConfig:
    """`size` is a Size of model_cases.py. A head's width becomes a multiple of four: halves of heads, or of half a head, are
    rotated."""
    width = size.heads * -(-size.head_width // 4) * 4
    if family == "nomic_bert":
        fields = NOMIC | dict(vocab_size=size.vocabulary, n_embd=width, n_layer=size.layers, n_head=size.heads, n_inner=size.feed_forward,
                              n_positions=size.positions)  # fmt: skip
        return NomicBertConfig(**(fields | settings))
    fields = dict(vocab_size=size.vocabulary, hidden_size=width, num_hidden_layers=size.layers, num_attention_heads=size.heads,
                  intermediate_size=size.feed_forward, max_position_embeddings=size.positions)  # fmt: skip
    return NewConfig(**(GTE | fields | settings)) if family == "new" else BertConfig(**(JINA | fields | settings))


AutoConfig.register("nomic_bert", NomicBertConfig)
AutoConfig.register("new", NewConfig)
