"""Encoders whose code is part of their checkpoints, not of transformers: NomicBERT, GTE v1.5 and JinaBERT v2.

They follow the definitions. Tensors have the names of the checkpoints. Configs are in remote_configs.py, heads in
remote_heads.py.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import BertConfig, PreTrainedModel
from transformers.activations import ACT2FN
from transformers.modeling_outputs import BaseModelOutputWithPooling

from remote_configs import NewConfig, NomicBertConfig

Modules = dict[str, nn.Module]
Tensor = torch.Tensor


def tree(modules: Modules) -> nn.ModuleDict:
    """Modules by dotted names."""
    parts: dict[str, Any] = {}
    for name, module in modules.items():
        first, _, rest = name.partition(".")
        if rest:
            parts.setdefault(first, {})[rest] = module
        else:
            parts[first] = module
    return nn.ModuleDict({name: tree(part) if isinstance(part, dict) else part for name, part in parts.items()})


def turned(x: Tensor, angles: Tensor, halves: bool) -> Tensor:
    """Rotates the first numbers of heads [B, H, T, D] in pairs, by angles [T, pairs] or [B, 1, T, pairs]."""
    count = 2 * angles.shape[-1]
    part, rest = x[..., :count], x[..., count:]
    first, second = part.chunk(2, -1) if halves else (part[..., ::2], part[..., 1::2])
    cos, sin = angles.cos(), angles.sin()
    pairs = first * cos - second * sin, second * cos + first * sin
    return torch.cat([torch.cat(pairs, -1) if halves else torch.stack(pairs, -1).flatten(-2), rest], -1)


def frequencies(base: float, size: int) -> Tensor:
    return 1.0 / base ** (torch.arange(0, size, 2, dtype=torch.float32) / size)


def slopes(heads: int) -> Tensor:
    """ALiBi's slopes, for any number of heads."""
    power = 2 ** math.floor(math.log2(heads))
    of_power = [2 ** (-8 * (h + 1) / power) for h in range(power)]
    between = [2 ** (-4 * (h + 1) / power) for h in range(0, 2 * power, 2)]
    return torch.tensor((of_power + between)[:heads])


class Remote(PreTrainedModel):
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(0, self.config.initializer_range)
        if isinstance(module, nn.Linear) and module.bias is not None:
            module.bias.data.zero_()


class Body(Remote):
    """Embeddings, and layers with norms after the sublayers."""

    heads = "num_attention_heads"  # the field with their number
    layer_list = "encoder.layer"

    def __init__(self, config: Any, pooled: bool | None = None) -> None:
        super().__init__(config)
        parts = self.embedding_parts(config)
        for name, module in tree(parts).items():
            self.add_module(name, module)
        self.encoder = nn.Module()
        layers = nn.ModuleList([tree(self.layer_parts(config)) for _ in range(self.layer_count(config))])
        self.encoder.add_module(self.layer_list.removeprefix("encoder."), layers)
        if self.pools_alone if pooled is None else pooled:
            width = self.get_input_embeddings().weight.shape[1]
            self.pooler = tree({"dense": nn.Linear(width, width)})
        self.post_init()

    pools_alone = False  # whether the body without a head has a pooler

    def get_input_embeddings(self) -> Any:
        return self.embeddings["word_embeddings"]

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, token_type_ids: Tensor | None = None,
                position_ids: Tensor | None = None, **_: Any) -> BaseModelOutputWithPooling:  # fmt: skip
        table = self.embeddings
        x = table["word_embeddings"](input_ids)
        if "token_type_embeddings" in table:
            x = x + table["token_type_embeddings"](torch.zeros_like(input_ids) if token_type_ids is None else token_type_ids)
        x = self.embedding_norm(x)
        added = x.new_zeros(()) if attention_mask is None else (1 - attention_mask[:, None, None].to(x.dtype)) * torch.finfo(x.dtype).min
        added = added + self.distances(x)
        places = torch.arange(x.shape[1])[None] if position_ids is None else position_ids
        states, weights = [x], []
        for layer in self.encoder.get_submodule(self.layer_list.removeprefix("encoder.")):
            x, seen = self.layer_result(layer, x, added, places[:, None])
            states.append(x)
            weights.append(seen)
        pooled = self.pooler["dense"](x[:, 0]).tanh() if hasattr(self, "pooler") else None
        return BaseModelOutputWithPooling(x, pooled, tuple(states), tuple(weights))

    def distances(self, x: Tensor) -> Tensor:
        return x.new_zeros(())

    def attended(self, stacked: Tensor, added: Tensor, angles: Tensor | None = None, halves: bool = True) -> tuple[Tensor, Tensor]:
        """The result of attention and its weights, for queries, keys and values [B, T, 3 width]."""
        count = getattr(self.config, self.heads)
        query, key, value = (part.unflatten(-1, (count, -1)).transpose(1, 2) for part in stacked.chunk(3, -1))
        if angles is not None:
            query, key = (turned(part, angles.to(part.dtype), halves) for part in (query, key))
        scores = query @ key.transpose(2, 3) / query.shape[-1] ** 0.5 + added
        weights = functional.softmax(scores, dim=-1)
        return (weights @ value).transpose(1, 2).flatten(2), weights


class NomicBertModel(Body):
    config_class, base_model_prefix, heads, layer_list = NomicBertConfig, "bert", "n_head", "encoder.layers"

    def layer_count(self, config: Any) -> int:
        return config.n_layer

    def embedding_parts(self, config: Any) -> Modules:
        size = -(-config.vocab_size // config.pad_vocab_size_multiple) * config.pad_vocab_size_multiple
        parts: Modules = {"embeddings.word_embeddings": nn.Embedding(size, config.n_embd, padding_idx=config.pad_token_id)}
        if config.type_vocab_size > 0:
            parts["embeddings.token_type_embeddings"] = nn.Embedding(config.type_vocab_size, config.n_embd)
        return parts | {"emb_ln": nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)}

    def layer_parts(self, config: Any) -> Modules:
        width, inner = config.n_embd, config.n_inner
        gated = config.activation_function in ("glu", "swiglu", "geglu")
        if gated:
            inner = -(-inner // 256) * 256
        ins: Modules = {f"mlp.{name}": nn.Linear(width, inner, bias=config.mlp_fc1_bias) for name in (("fc11", "fc12") if gated else ("fc1",))}
        return ins | {
            "mlp.fc2": nn.Linear(inner, width, bias=config.mlp_fc2_bias),
            "attn.Wqkv": nn.Linear(width, 3 * width, bias=config.qkv_proj_bias),
            "attn.out_proj": nn.Linear(width, width, bias=config.qkv_proj_bias),
            "norm1": nn.LayerNorm(width, eps=config.layer_norm_epsilon),
            "norm2": nn.LayerNorm(width, eps=config.layer_norm_epsilon),
        }

    def embedding_norm(self, x: Tensor) -> Tensor:
        return self.emb_ln(x)

    def layer_result(self, layer: Any, x: Tensor, added: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        config = self.config
        size = int(config.n_embd // config.n_head * config.rotary_emb_fraction)
        # The base grows with each text. In the checkpoints' code it grows with the longest text of a batch.
        seen = (added > -1).expand(len(x), 1, 1, x.shape[1])[:, 0, 0] * torch.arange(1, x.shape[1] + 1)
        angles = torch.stack([torch.arange(x.shape[1]).float()[:, None] * frequencies(self.base_for(length, size), size)
                              for length in seen.max(1).values.tolist()])[:, None]  # fmt: skip
        result, weights = self.attended(layer["attn"]["Wqkv"](x), added, angles, not config.rotary_emb_interleaved)
        x = layer["norm1"](x + layer["attn"]["out_proj"](result))
        mlp, act = layer["mlp"], {"glu": torch.sigmoid, "swiglu": functional.silu}.get(config.activation_function, functional.gelu)
        inner = mlp["fc11"](x) * act(mlp["fc12"](x)) if "fc11" in mlp else act(mlp["fc1"](x))
        return layer["norm2"](x + mlp["fc2"](inner)), weights

    def base_for(self, length: int, size: int) -> float:
        factor, known = self.config.rotary_scaling_factor, self.config.max_trained_positions
        if not factor or length <= known:
            return self.config.rotary_emb_base
        return self.config.rotary_emb_base * (factor * length / known - (factor - 1)) ** (size / (size - 2))


class BertWidths(Body):
    """BERT's config fields and embeddings."""

    def layer_count(self, config: Any) -> int:
        return config.num_hidden_layers

    def embedding_parts(self, config: Any) -> Modules:
        width = config.hidden_size
        parts: Modules = {"embeddings.word_embeddings": nn.Embedding(config.vocab_size, width, padding_idx=config.pad_token_id)}
        if config.type_vocab_size > 0:
            parts["embeddings.token_type_embeddings"] = nn.Embedding(config.type_vocab_size, width)
        return parts | {"embeddings.LayerNorm": nn.LayerNorm(width, eps=config.layer_norm_eps)}

    def embedding_norm(self, x: Tensor) -> Tensor:
        return self.embeddings["LayerNorm"](x)


class NewModel(BertWidths):
    config_class, base_model_prefix = NewConfig, "new"

    def layer_parts(self, config: Any) -> Modules:
        width, inner = config.hidden_size, config.intermediate_size
        names, count = (["qkv_proj"], 3) if config.pack_qkv else (["q_proj", "k_proj", "v_proj"], 1)
        return {f"attention.{name}": nn.Linear(width, count * width) for name in names} | {
            "attention.o_proj": nn.Linear(width, width),
            "mlp.up_gate_proj": nn.Linear(width, 2 * inner, bias=False),
            "mlp.down_proj": nn.Linear(inner, width),
            "attn_ln": nn.LayerNorm(width, eps=config.layer_norm_eps),
            "mlp_ln": nn.LayerNorm(width, eps=config.layer_norm_eps),
        }

    def rotary(self) -> Tensor:
        config, size = self.config, self.config.hidden_size // self.config.num_attention_heads
        scaling = config.rope_scaling
        if not scaling:
            return frequencies(config.rope_theta, size)
        factor, mixed = scaling["factor"], scaling.get("mixed_b")
        if mixed is None:
            return frequencies(config.rope_theta * factor, size) / factor ** (2 / size)
        step = math.log(factor) / (size / 2) ** mixed
        return frequencies(config.rope_theta, size) / (step * torch.arange(1, size // 2 + 1).float() ** mixed).exp()

    def layer_result(self, layer: Any, x: Tensor, added: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        attention, mlp = layer["attention"], layer["mlp"]
        names = ["qkv_proj"] if "qkv_proj" in attention else ["q_proj", "k_proj", "v_proj"]
        stacked = torch.cat([attention[name](x) for name in names], -1)
        result, weights = self.attended(stacked, added, places[..., None].float() * self.rotary())
        x = layer["attn_ln"](x + attention["o_proj"](result))
        up, gate = mlp["up_gate_proj"](x).chunk(2, -1)
        return layer["mlp_ln"](x + mlp["down_proj"](ACT2FN[self.config.hidden_act](gate) * up)), weights


class JinaBertModel(BertWidths):
    config_class, base_model_prefix, pools_alone = BertConfig, "bert", True

    def layer_parts(self, config: Any) -> Modules:
        width, inner = config.hidden_size, config.intermediate_size
        parts: Modules = {f"attention.self.{name}": nn.Linear(width, width) for name in ("query", "key", "value")}
        parts |= {"attention.output.dense": nn.Linear(width, width)}
        parts |= {"attention.output.LayerNorm": nn.LayerNorm(width, eps=config.layer_norm_eps)}
        norm = nn.LayerNorm(width, eps=config.layer_norm_eps)
        if config.feed_forward_type == "original":
            return parts | {"intermediate.dense": nn.Linear(width, inner), "output.dense": nn.Linear(inner, width), "output.LayerNorm": norm}
        return parts | {"mlp.gated_layers": nn.Linear(width, 2 * inner, bias=False), "mlp.wo": nn.Linear(inner, width), "mlp.layernorm": norm}

    def distances(self, x: Tensor) -> Tensor:
        places = torch.arange(x.shape[1])
        far = (places[None] - places[:, None]).abs()
        return -slopes(self.config.num_attention_heads).to(x.dtype)[:, None, None] * far

    def layer_result(self, layer: Any, x: Tensor, added: Tensor, places: Tensor) -> tuple[Tensor, Tensor]:
        own, output, config = layer["attention"]["self"], layer["attention"]["output"], self.config
        result, weights = self.attended(torch.cat([own[name](x) for name in ("query", "key", "value")], -1), added)
        x = output["LayerNorm"](x + output["dense"](result))
        if config.feed_forward_type == "original":
            inner = layer["output"]["dense"](ACT2FN[config.hidden_act](layer["intermediate"]["dense"](x)))
            return layer["output"]["LayerNorm"](x + inner), weights
        mlp, act = layer["mlp"], {"geglu": functional.gelu, "reglu": functional.relu}[config.feed_forward_type]
        gate, up = mlp["gated_layers"](x).chunk(2, -1)
        return mlp["layernorm"](x + mlp["wo"](act(gate) * up)), weights
