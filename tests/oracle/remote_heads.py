"""Heads on the encoders of remote_encoders.py."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from transformers import BertConfig
from transformers.activations import ACT2FN
from transformers.loss.loss_utils import ForSequenceClassificationLoss
from transformers.modeling_outputs import MaskedLMOutput, SequenceClassifierOutput, TokenClassifierOutput

from remote_configs import FAMILIES, NewConfig, NomicBertConfig
from remote_encoders import JinaBertModel, Modules, NewModel, NomicBertModel, Remote, Tensor, tree


class Headed(Remote):
    """A body, and a head that reads its last states."""

    pooled = False

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        setattr(self, self.base_model_prefix, self.body(config, pooled=self.pooled))
        table = self.get_input_embeddings().weight
        for name, module in tree(self.head_parts(config, table.shape[1], table.shape[0])).items():
            self.add_module(name, module)
        self.post_init()

    def get_input_embeddings(self) -> Any:
        return getattr(self, self.base_model_prefix).get_input_embeddings()

    def forward(self, labels: Tensor | None = None, **given: Any) -> Any:
        made = getattr(self, self.base_model_prefix)(**given)
        logits = self.scores(made)
        loss = None if labels is None else self.loss_of(logits, labels)
        return self.output(loss=loss, logits=logits, hidden_states=made.hidden_states, attentions=made.attentions)

    def loss_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class Predicts(Headed):
    """Scores of the vocabulary. `places` has the names of the matrix, the norm and the last matrix."""

    output = MaskedLMOutput

    def head_parts(self, config: Any, width: int, vocabulary: int) -> Modules:
        dense, norm, last = self.places
        epsilon = getattr(config, "layer_norm_epsilon", None) or config.layer_norm_eps
        return {dense: nn.Linear(width, width, bias=self.has_bias(config)), norm: nn.LayerNorm(width, eps=epsilon),
                last: nn.Linear(width, vocabulary, bias=self.has_bias(config))}  # fmt: skip

    def has_bias(self, config: Any) -> bool:
        return getattr(config, "mlp_fc1_bias", True)

    def get_output_embeddings(self) -> Any:
        return self.get_submodule(self.places[2])

    def scores(self, made: Any) -> Tensor:
        dense, norm, last = map(self.get_submodule, self.places)
        return last(norm(self.activation(dense(made.last_hidden_state))))

    def activation(self, x: Tensor) -> Tensor:
        return ACT2FN[self.config.hidden_act](x)


class NomicBertForPreTraining(Predicts):
    config_class, base_model_prefix, body = NomicBertConfig, "bert", NomicBertModel
    places = [f"cls.predictions.{name}" for name in ("transform.dense", "transform.layer_norm", "decoder")]
    _tied_weights_keys = ["cls.predictions.decoder.weight"]

    def activation(self, x: Tensor) -> Tensor:
        name = self.config.activation_function
        return functional.silu(x) if name == "swiglu" else functional.gelu(x, approximate="tanh" if name.startswith("gelu_") else "none")


class NewForMaskedLM(Predicts):
    config_class, base_model_prefix, body = NewConfig, "new", NewModel
    places = [f"lm_head.{name}" for name in ("dense", "norm", "decoder")]
    _tied_weights_keys = ["lm_head.decoder.weight"]


class JinaBertForMaskedLM(Predicts):
    config_class, base_model_prefix, body = BertConfig, "bert", JinaBertModel
    places = [f"cls.predictions.{name}" for name in ("transform.dense", "transform.LayerNorm", "decoder")]
    _tied_weights_keys = ["cls.predictions.decoder.weight"]

    def __init__(self, config: Any) -> None:
        super().__init__(config)
        decoder = self.get_output_embeddings()
        self.cls["predictions"].bias = nn.Parameter(torch.zeros_like(decoder.bias))  # outside of the matrix, as in BERT
        decoder.bias = None

    def scores(self, made: Any) -> Tensor:
        return super().scores(made) + self.cls["predictions"].bias


class Classifies(Headed):
    output, pooled = SequenceClassifierOutput, True

    def head_parts(self, config: Any, width: int, vocabulary: int) -> Modules:
        return {"classifier": nn.Linear(width, config.num_labels)}

    def scores(self, made: Any) -> Tensor:
        return self.classifier(made.pooler_output)

    def loss_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        return ForSequenceClassificationLoss(labels, logits, self.config)


class Tags(Classifies):
    output, pooled = TokenClassifierOutput, False

    def scores(self, made: Any) -> Tensor:
        return self.classifier(made.last_hidden_state)

    def loss_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        return Headed.loss_of(self, logits, labels)


def head_of(kind: type, name: str, body: Any) -> type:
    return type(name, (kind,), {"config_class": body.config_class, "base_model_prefix": body.base_model_prefix, "body": body})


HEADS: dict[str, type] = {
    each.__name__: each for each in (
        NomicBertModel, NewModel, JinaBertModel, NomicBertForPreTraining, NewForMaskedLM, JinaBertForMaskedLM,
        head_of(Classifies, "NomicBertForSequenceClassification", NomicBertModel),
        head_of(Classifies, "NewForSequenceClassification", NewModel), head_of(Tags, "NewForTokenClassification", NewModel),
        head_of(Classifies, "JinaBertForSequenceClassification", JinaBertModel),
        head_of(Tags, "JinaBertForTokenClassification", JinaBertModel),
    )
}  # fmt: skip


def heads_of(family: str) -> dict[str, type]:
    return {name: each for name, each in HEADS.items() if name.startswith(FAMILIES[family])}
