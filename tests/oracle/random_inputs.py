"""Random inputs of a model, in a layout of layouts.py. They have the names of the arguments of the original's forward."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional
from transformers import PretrainedConfig

from common import Tensors
from model_families import GPT_LIKE, LINEAR_LIKE, LLAMA_LIKE, ROBERTA_LIKE

IGNORED = -100  # a label that does not count
# Bodies that do not make the decoder's inputs from the encoder's, as BART's does.
NEED_TARGETS = ("BlenderbotModel", "BlenderbotSmallModel", "M2M100Model", "MarianModel", "PegasusModel")


def is_paired(config: Any) -> bool:
    """Does the model have a source and a target? T5's encoder alone has the config of both."""
    alone = ("EncoderModel", "ForTokenClassification")
    return bool(config.is_encoder_decoder) and not config.architectures[0].endswith(alone)


def grows(config: Any) -> bool:
    """Does the rotary base grow with a text? Then no text is too long."""
    return "dynamic" in (getattr(config, "rope_scaling", None) or {}).values()


@dataclass
class InputMaker:
    """Random inputs for one model."""

    config: Any  # PretrainedConfig of one of the families
    generator: torch.Generator
    layout: str

    def positions(self) -> int:
        """The longest text. Families with relative positions have no such field, or -1."""
        config = self.config
        if grows(config):
            return 1000
        count = int(getattr(config, "max_position_embeddings", -1))
        first = (config.pad_token_id or 0) + 1 if config.model_type in ROBERTA_LIKE else 0
        return count - first if count > 0 else 1000

    def integers(self, low: int, high: int, shape: tuple[int, ...]) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.generator)

    def mask(self, rows: int, longest: int, layout: str) -> torch.Tensor:
        """[rows, longest]: one row is full, the others are padded on the layout's side."""
        lengths = self.integers(1, longest + 1, (rows, 1))
        lengths[self.integers(0, rows, (1,))] = longest
        if layout in ("plain", "single", "memory"):
            lengths[:] = longest
        columns = torch.arange(longest)
        if layout in ("left", "positions"):
            columns = columns.flip(0)
        return (columns < lengths).long()

    def token_labels(self, mask: torch.Tensor, vocabulary: int) -> torch.Tensor:
        """Labels for about half of the real positions, and for at least one in every row that can have one."""
        labels = self.integers(0, vocabulary, tuple(mask.shape))
        keep = self.integers(0, 2, tuple(mask.shape)).bool()
        last = (mask * torch.arange(1, mask.shape[1] + 1)).argmax(1)
        keep[torch.arange(len(last)), last] = True
        predicts_next = self.config.architectures[0].endswith(("ForCausalLM", "LMHeadModel"))
        if self.config.model_type in (*GPT_LIKE, *LLAMA_LIKE, *LINEAR_LIKE, "transfo-xl") or self.config.is_decoder or predicts_next:
            # The label of a row's first token belongs to the position before it: padding, if there is one.
            keep &= mask.cumsum(1) > 1
        return labels.masked_fill(~(keep & mask.bool()), IGNORED)

    def sentence_labels(self, rows: int) -> torch.Tensor:
        count, problem = self.config.num_labels, self.config.problem_type
        # Without problem_type the type of the labels decides; cases with more than three labels test this.
        if problem == "multi_label_classification" or count > 3:
            return self.integers(0, 2, (rows, count)).float()
        if count == 1 or problem == "regression":
            shape = (rows,) if count == 1 else (rows, count)
            return torch.randn(shape, generator=self.generator)
        return self.integers(0, count, (rows,))

    def ids(self, shape: tuple[int, ...]) -> torch.Tensor:
        """Any ids, also that of padding, unless the model reads it as padding although there is a mask."""
        ids = self.integers(0, self.config.vocab_size, shape)
        return ids.masked_fill(ids == self.config.pad_index, 0) if self.config.model_type == "xlm" else ids

    def images(self) -> Tensors:
        config, layout = self.config, self.layout
        rows = 1 if layout == "single" else int(self.integers(2, 5, (1,)))
        size, patch = (n if isinstance(n, list) else [n, n] for n in (config.image_size, config.patch_size))
        if layout == "larger" and size[0] == size[1]:  # the original interpolates only squares
            size = [size[0] + 5, size[1] + 5]
        pixels = torch.randn((rows, config.num_channels, *size), generator=self.generator)
        head = (config.architectures or ["ViTModel"])[0]
        if head.endswith("ForImageClassification") and layout != "single":
            return {"pixel_values": pixels, "labels": self.sentence_labels(rows)}
        if head.endswith("ForMaskedImageModeling") and layout == "plain":
            pixels = pixels[:, :, : size[0] // patch[0] * patch[0], : size[1] // patch[1] * patch[1]]
            patches = (size[0] // patch[0]) * (size[1] // patch[1])
            hidden = self.integers(0, 2, (rows, patches)).bool()
            return {"pixel_values": pixels.contiguous(), "bool_masked_pos": hidden}
        return {"pixel_values": pixels}

    def make(self) -> Tensors:
        config, layout = self.config, self.layout
        if config.model_type in ("vit", "vit_msn"):
            return self.images()
        if config.model_type in ("encoder-decoder", "vision-encoder-decoder"):
            return self.composed()
        rows = 1 if layout == "single" else int(self.integers(2, 5, (1,)))
        longest = int(self.integers(5, min(18, self.positions()) + 1, (1,)))
        pad = config.pad_token_id or 0
        mask = self.mask(rows, longest, layout)
        inputs = {"input_ids": self.ids(tuple(mask.shape)).masked_fill(mask == 0, pad)}
        if layout == "lengths":
            inputs["lengths"] = mask.sum(1)
        elif layout not in ("plain", "single", "memory"):
            inputs["attention_mask"] = mask
        if config.model_type == "xlm" and layout != "plain" and config.n_langs > 1:
            inputs["langs"] = self.integers(0, config.n_langs, tuple(mask.shape))
        if layout == "positions":
            inputs["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
        if is_paired(config):
            predicts = config.architectures[0].endswith(("ForConditionalGeneration", "MTModel", "T5Model"))
            return inputs | (self.make_targets(rows) if predicts else self.make_decoder_inputs(inputs["input_ids"], mask))
        if layout == "types":  # which are tokens here
            inputs["token_type_ids"] = self.integers(0, config.vocab_size, tuple(mask.shape)) * mask
        types = 3 if config.model_type == "xlnet" else getattr(config, "type_vocab_size", 0)
        # Without them transformers 4.57 makes zeros on an invalid device, for DeBERTa with types.
        if types > 0 and (layout != "plain" or config.model_type.startswith("deberta")):
            inputs["token_type_ids"] = self.integers(0, types, tuple(mask.shape)) * mask
        if layout == "memory" and config.mem_len != 0:
            for i in range(config.n_layer):
                memory = torch.randn((4, rows, config.d_model), generator=self.generator)
                inputs[f"mems.{i}"] = memory
        if layout == "permuted":
            inputs |= self.permuted(mask)
        elif layout != "single":
            inputs |= self.labels(config.architectures[0], mask)
        if config.architectures[0].endswith("MultipleChoice"):  # rows are the choices of one question
            inputs = {n: t if n == "labels" else t[None] for n, t in inputs.items()}
        if config.architectures[0].endswith("DoubleHeadsModel"):  # likewise, but GPT takes no mask per choice
            flat = ("attention_mask", "position_ids", "mc_labels")
            inputs = {n: t if n in flat else t[None] for n, t in inputs.items()}
        return inputs

    def permuted(self, mask: torch.Tensor) -> Tensors:
        """Some tokens hidden from others, and targets among the real ones."""
        rows, longest = mask.shape
        targets = max(1, min(int(mask.sum(1).min()), longest - 2))
        hidden = self.integers(0, 2, (rows, longest, longest)).float()
        columns = torch.stack(
            [row.nonzero().flatten()[torch.randperm(int(row.sum()), generator=self.generator)[:targets]] for row in mask]
        )
        inputs = {"perm_mask": hidden, "target_mapping": functional.one_hot(columns, longest).float()}
        if self.config.architectures[0] == "XLNetModel":
            return inputs
        return inputs | {"labels": self.integers(0, self.config.vocab_size, (rows, targets))}

    def labels(self, head: str, mask: torch.Tensor) -> Tensors:
        """The labels of a head, by the name of its architecture."""
        rows, vocabulary = mask.shape[0], self.config.vocab_size
        kind = head[head.rfind("For") :] if "For" in head else head
        if kind.endswith("DoubleHeadsModel"):
            last = (mask * torch.arange(mask.shape[1])).argmax(1)
            scored = {"mc_token_ids": last, "mc_labels": self.integers(0, rows, (1,))}
            return scored | {"labels": self.token_labels(mask, vocabulary)}
        if kind == "ForSequenceClassification":
            return {"labels": self.sentence_labels(rows)}
        if kind == "ForTokenClassification":
            return {"labels": self.token_labels(mask, self.config.num_labels)}
        if head in ("XLNetForQuestionAnswering", "XLMForQuestionAnswering"):
            inputs = {name: self.integers(0, mask.shape[1], (rows,)) for name in ("start_positions", "end_positions")}
            if self.layout != "left":
                inputs |= {"cls_index": self.integers(0, mask.shape[1], (rows,))}
                inputs |= {"is_impossible": self.integers(0, 2, (rows,)).float(), "p_mask": 1.0 - mask}
            return {} if self.layout == "right" else inputs
        if kind in ("ForQuestionAnswering", "ForQuestionAnsweringSimple"):
            ends = {f"{end}_positions": self.integers(0, mask.shape[1] + 2, (rows,)) for end in ("start", "end")}
            for positions in ends.values():
                # A position after the text has no effect. One position must have an effect.
                positions[0] %= mask.shape[1]
            return ends
        if kind == "ForMultipleChoice":
            return {"labels": self.integers(0, rows, (1,))}
        if kind == "ForNextSentencePrediction":
            return {"labels": self.integers(0, 2, (rows,))}
        if kind == "ForPreTraining" and self.config.model_type == "electra":
            return {"labels": self.integers(0, 2, tuple(mask.shape)) * mask}
        if kind == "ForPreTraining" and self.config.model_type != "nomic_bert":  # which predicts masked words alone
            second = "sentence_order_label" if self.config.model_type == "albert" else "next_sentence_label"
            return {"labels": self.token_labels(mask, vocabulary), second: self.integers(0, 2, (rows,))}
        return {} if head.endswith("Model") and "LMHead" not in head else {"labels": self.token_labels(mask, vocabulary)}

    def make_decoder_inputs(self, source: torch.Tensor, source_mask: torch.Tensor) -> Tensors:
        """For a decoder that predicts no tokens. Without ids of its own it reads the encoder's."""
        config, layout, head = self.config, self.layout, self.config.architectures[0]
        inputs, mask = {}, torch.ones_like(source)
        if head.endswith("ForSequenceClassification"):  # it scores the decoder at the only end token of a text
            source = source.masked_fill(source == config.eos_token_id, config.eos_token_id + 1)
            last = (source_mask * torch.arange(1, source.shape[1] + 1)).argmax(1, keepdim=True)
            inputs["input_ids"] = source.scatter(1, last, config.eos_token_id)
        elif layout in ("right", "left") or head in NEED_TARGETS:
            mask = self.mask(source.shape[0], int(self.integers(3, 12, (1,))), layout)
            ids = self.integers(0, config.vocab_size, tuple(mask.shape)).masked_fill(mask == 0, config.pad_token_id)
            inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
        return inputs | ({} if layout == "single" else self.labels(head, mask))

    def composed(self) -> Tensors:
        """The inputs of the encoder, and the targets of the decoder."""
        layout = {"targets": "right"}.get(self.layout, self.layout)
        if self.config.encoder.model_type == "big_bird" and layout == "left":  # as LAYOUTS says
            layout = "plain"
        if getattr(self.config.encoder, "causal", False) and layout == "left":  # as layouts_of says
            layout = "right"
        encoder, decoder = copy.deepcopy(self.config.encoder), copy.deepcopy(self.config.decoder)
        encoder.architectures = ["Model"]
        inputs = InputMaker(encoder, self.generator, layout).make()
        decoder.architectures = ["MTModel"]
        decoder.is_decoder = False  # labels are at the positions that predict them
        return inputs | InputMaker(decoder, self.generator, self.layout).make_targets(len(next(iter(inputs.values()))))

    def make_targets(self, rows: int) -> Tensors:
        config, layout = self.config, self.layout
        longest = int(self.integers(3, min(15, self.positions()) + 1, (1,)))
        mask = self.mask(rows, longest, layout)
        labels = self.token_labels(mask, config.vocab_size)
        if layout == "targets":
            return {"labels": labels}
        ids = self.integers(0, config.vocab_size, tuple(mask.shape)).masked_fill(mask == 0, config.pad_token_id)
        if layout == "single":
            return {"decoder_input_ids": ids}
        if config.architectures[0].endswith("T5Model"):
            return {"decoder_input_ids": ids, "decoder_attention_mask": mask}
        return {"decoder_input_ids": ids, "decoder_attention_mask": mask, "labels": labels}


def make_inputs(config: PretrainedConfig, layout: str, seed: int) -> Tensors:
    return InputMaker(config, torch.Generator().manual_seed(seed), layout).make()


def label_padding(inputs: Tensors, generator: torch.Generator) -> Tensors:
    """Labels also on padding. The originals' losses over tokens count them like all others."""
    side = "decoder_" if "decoder_input_ids" in inputs else ""
    labels, mask = inputs.get("labels"), inputs.get(f"{side}attention_mask")
    if labels is None or mask is None or labels.shape != mask.shape or labels.is_floating_point():
        return {}
    more = torch.randint(0, int(labels.max()) + 1, labels.shape, generator=generator)
    return {"labels": torch.where((labels < 0) & (torch.rand(labels.shape, generator=generator) < 0.5), more, labels)}


def has_loss(inputs: Tensors) -> bool:
    return any(name.endswith(("labels", "label", "start_positions", "bool_masked_pos")) for name in inputs)
