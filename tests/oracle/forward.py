"""What the original makes of a padded batch: logits, loss, states, attentions, gradients.

    python forward.py MODEL_DIRECTORY --layout right --seed 3 --inputs in.safetensors --expected out.safetensors

Inputs are named as the arguments of the Hugging Face forward, outputs as the fields of its ModelOutput
(`hidden_states.0`, ...) and `grad.<checkpoint name>`. Padded positions of the outputs are zero.
"""

from __future__ import annotations

import argparse
import copy
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch.nn import functional
from transformers import AutoConfig, PretrainedConfig

from common import Tensors
from model_families import BERT_LIKE, FAIRSEQ_DECODERS, GPT_LIKE, LINEAR_LIKE, LLAMA_LIKE, MARIAN_LIKE, ROBERTA_LIKE, T5_LIKE
from originals import load_model
from rotation_by_text import rotation_by_text

IGNORED = -100  # a label that does not count
# Bodies that do not make the decoder's inputs from the encoder's, as BART's does.
NEED_TARGETS = ("BlenderbotModel", "BlenderbotSmallModel", "M2M100Model", "MarianModel", "PegasusModel")

# How the batch is laid out. `single` and `plain` have no mask, `single` also no labels (so no loss);
# `positions` is left padding with generate()'s position ids (`left` alone counts padding, as the original
# does); `types` has token types, which GPT treats as tokens; `lengths` are XLM's instead of a mask; `larger`
# images than those a model was made for have interpolated positions; `targets` gives Marian only labels, from
# which it makes the decoder's inputs. `permuted` hides tokens from each other and predicts some (XLNet's
# second stream), `memory` continues from an earlier segment.
ENCODER_LAYOUTS = ["right", "left", "plain", "single"]
LAYOUTS = {
    **{family: ENCODER_LAYOUTS for family in BERT_LIKE},
    **{family: ["right", "left", "positions", "types", "plain", "single"] for family in GPT_LIKE},
    **{family: ["right", "left", "positions", "plain", "single"] for family in LLAMA_LIKE},
    **{family: ["right", "left", "positions", "plain", "single"] for family in FAIRSEQ_DECODERS},
    **{family: ENCODER_LAYOUTS for family in LINEAR_LIKE},
    "falcon": ["right", "left", "positions", "plain", "single"],
    "modernbert": ["right", "left", "positions", "plain", "single"],
    **{family: ENCODER_LAYOUTS for family in ("nomic_bert", "jina_bert")},
    "new": [*ENCODER_LAYOUTS, "positions"],
    "xlm": ["right", "left", "types", "lengths", "plain", "single"],
    **{family: ["plain", "larger", "single"] for family in ("vit", "vit_msn")},
    **{family: ["right", "left", "targets", "single"] for family in (*MARIAN_LIKE, *T5_LIKE)},
    "xlnet": [*ENCODER_LAYOUTS, "permuted", "memory"],
    "transfo-xl": ["plain", "single", "memory"],  # has no padding
    "big_bird": ["plain", "single"],  # the original's result depends on the padded length, attend's does not
    "encoder-decoder": ["right", "left", "targets", "single"],
    "vision-encoder-decoder": ["right", "left", "targets", "larger", "single"],
}


def layouts_of(family: str, head: str, causal: bool = False) -> list[str]:
    """Those in which the head's results mean something: what scores a sentence takes column 0, padded or not, and
    without a head there are no labels to make targets of."""
    if head in ("XLNetForMultipleChoice", "XLNetForQuestionAnswering"):
        return [layout for layout in LAYOUTS[family] if layout not in ("permuted", "memory")]
    if family == "xlnet" and "For" in head:  # tokens around the text have no labels
        return [layout for layout in LAYOUTS[family] if layout != "permuted"]
    if head.endswith("T5Model"):
        return [layout for layout in LAYOUTS[family] if layout != "targets"]
    of_tokens = ("ForMaskedLM", "ForCausalLM", "LMHeadModel", "ForTokenClassification", "ForQuestionAnswering")
    pooled = family in BERT_LIKE and causal and not head.endswith(of_tokens)
    pooled |= family == "xlm" and causal
    pooled |= head.endswith("T5ForQuestionAnswering")  # its float64 result is NaN there, so noise cannot be
                                                       # measured
    counted = head.startswith("FalconFor") and head != "FalconForCausalLM"  # takes no positions
    left_out = ("left", "positions") if pooled else ("positions",) if counted else ()
    return [layout for layout in LAYOUTS[family] if layout not in left_out]


def is_paired(config: Any) -> bool:
    """Does the model take a source and a target? (T5's encoder alone has the config of both.)"""
    alone = ("EncoderModel", "ForTokenClassification")
    return bool(config.is_encoder_decoder) and not config.architectures[0].endswith(alone)


def grows(config: Any) -> bool:
    """Does the rotary base grow with a text, so that none is too long?"""
    return "dynamic" in (getattr(config, "rope_scaling", None) or {}).values()


@dataclass
class InputMaker:
    """Random inputs for one model."""

    config: Any  # PretrainedConfig of one of the families
    generator: torch.Generator
    layout: str

    def positions(self) -> int:
        """How long a text may be; families with relative positions say nothing, or -1."""
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
        """Labels for about half of the real positions, and for one at least in every row that can have one."""
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
        """Any, the padding id too, except where the model would take it for padding although there is a mask."""
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
        """What goes with the head, of the architecture's name."""
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
                positions[0] %= mask.shape[1]  # beyond the text a position has no effect; one position must
                                               # have an effect
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
        if head.endswith("ForSequenceClassification"):  # every text has one end token, where the decoder is
                                                        # scored
            source = source.masked_fill(source == config.eos_token_id, config.eos_token_id + 1)
            last = (source_mask * torch.arange(1, source.shape[1] + 1)).argmax(1, keepdim=True)
            inputs["input_ids"] = source.scatter(1, last, config.eos_token_id)
        elif layout in ("right", "left") or head in NEED_TARGETS:
            mask = self.mask(source.shape[0], int(self.integers(3, 12, (1,))), layout)
            ids = self.integers(0, config.vocab_size, tuple(mask.shape)).masked_fill(mask == 0, config.pad_token_id)
            inputs |= {"decoder_input_ids": ids, "decoder_attention_mask": mask}
        return inputs | ({} if layout == "single" else self.labels(head, mask))

    def composed(self) -> Tensors:
        """What the encoder reads by itself, and what the decoder is to say."""
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


def double_of(family: str) -> torch.dtype:
    """Transformer-XL's original masks in float32 only."""
    return torch.float32 if family == "transfo-xl" else torch.float64


@dataclass(frozen=True)
class Original:
    """A model of transformers, with the names that its tensors have in the checkpoint."""

    model: Any
    names: list[str]
    virtual: int = 0  # tokens that an adapter puts before each text

    @classmethod
    def load(cls, directory: Path, dtype: torch.dtype = torch.float32) -> Original:
        names: list[str] = []
        for path in directory.glob("*.safetensors"):
            with safe_open(path, "pt") as file:
                names += file.keys()
        for path in directory.glob("*.bin"):
            names += torch.load(path, weights_only=True).keys()
        model: Any = load_model(directory, dtype)
        if model.config.model_type == "transfo-xl" and not model.config.untie_r:  # from_pretrained forgets it
            for layer in model.transformer.layers if hasattr(model, "transformer") else model.layers:
                body = getattr(model, "transformer", model)
                layer.dec_attn.r_w_bias, layer.dec_attn.r_r_bias = body.r_w_bias, body.r_r_bias
        for part in (model.config, getattr(model.config, "encoder", None), getattr(model.config, "decoder", None)):
            if part is not None:
                part.use_cache = False
        if dtype == torch.float64:
            for part in (model, getattr(model, "encoder", None), getattr(model, "decoder", None)):
                make_exact(part)
        return cls(model, names)

    def run(self, inputs: Tensors, *, gradients: bool = False) -> Tensors:
        dtype = next(self.model.parameters()).dtype
        given: dict[str, Any] = {
            name: value.to(dtype) if value.is_floating_point() else value.clone()  # XGLM changes its position_ids
            for name, value in inputs.items()
        }
        memories = [given.pop(f"mems.{i}") for i in range(len(given)) if f"mems.{i}" in given]
        if memories:
            given["mems"] = memories
        self.model.zero_grad()
        config = self.model.config
        if config.model_type == "big_bird":  # after a short text it switches to full attention permanently
            getattr(self.model, "bert", self.model).set_attention_type(config.attention_type)
        size = getattr(getattr(config, "encoder", config), "image_size", None)
        if "pixel_values" in given and given["pixel_values"].shape[2] != size:
            given["interpolate_pos_encoding"] = isinstance(size, int)
        with torch.set_grad_enabled(gradients):
            # BigBird's attentions are float32 for every type of the model.
            parts = (config, getattr(config, "encoder", None), getattr(config, "decoder", None))
            attentions = dtype == torch.float32 or all(getattr(part, "model_type", "") != "big_bird" for part in parts)
            wide = in_float64() if dtype == torch.float64 else nullcontext()
            with wide, rotation_by_text(self.model, inputs):
                made = self.model(**given, output_hidden_states=True, output_attentions=attentions, return_dict=True)
        paired = is_paired(self.model.config)
        outputs: Tensors = {}
        for name, value in made.items():
            if isinstance(value, (tuple, list)):
                for i, item in enumerate(value):
                    if isinstance(item, tuple):  # of two streams
                        outputs |= {f"{name}.{i}.{j}": stream for j, stream in enumerate(item)}
                    else:
                        outputs[f"{name}.{i}"] = item
            elif isinstance(value, torch.Tensor):
                outputs[name] = value
        if config.model_type == "big_bird" and "input_ids" in inputs:
            outputs = {name: without_block_end(name, value, inputs["input_ids"].shape[-1]) for name, value in outputs.items()}
        remembered = getattr(self.model.config, "reuse_len", None)
        # A text's scores are not rows of it, although the number of labels may equal the number of positions.
        whole = {"logits"} if type(self.model).__name__.endswith("ForSequenceClassification") else set()
        outputs = {name: value.detach() if name in whole else zero_padding(name, value.detach(), inputs, paired, remembered, self.virtual)
                   for name, value in outputs.items()}  # fmt: skip
        # The router's scores, which attend does not return.
        outputs = {name: value for name, value in outputs.items() if not name.startswith("router_logits") and name != "aux_loss"}
        if gradients:
            loss = made.loss
            if "mc_loss" in made and made.mc_loss is not None:  # with two heads: the loss that is trained
                loss = made.mc_loss if loss is None else loss + made.mc_loss
            loss.backward()
            parameters = dict(self.model.named_parameters(remove_duplicate=False))
            seen = set()  # a pickled file may have a tensor under each of its names
            for name in self.names:
                if name in parameters and ".experts." in name and parameters[name].grad is None:
                    parameters[name].grad = torch.zeros_like(parameters[name])  # no token chose this expert
                if name in parameters and parameters[name].grad is not None and parameters[name] not in seen:
                    seen.add(parameters[name])
                    outputs[f"grad.{name}"] = parameters[name].grad.clone()
        return {name: value.clone().contiguous() for name, value in outputs.items()}  # some are views of others


def without_block_end(name: str, value: torch.Tensor, length: int) -> torch.Tensor:
    """BigBird's states and attentions reach to the end of the last block, attend's to that of the text."""
    if name.startswith("hidden_states."):
        return value[:, :length]
    if name.startswith("attentions."):
        return value[..., :length, :length]
    return value


@contextmanager
def in_float64() -> Iterator[None]:
    """Where a model asks for float32 whatever it is itself, as in norms, softmaxes and sines, it gets float64."""
    to, narrow, softmax = torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax

    def wide(value: Any) -> Any:
        return torch.float64 if value is torch.float32 else value

    def to_wide(tensor: torch.Tensor, *args: Any, **more: Any) -> torch.Tensor:
        return to(tensor, *map(wide, args), **{name: wide(value) for name, value in more.items()})

    def wide_softmax(x: torch.Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: torch.dtype | None = None) -> torch.Tensor:
        return softmax(x, dim, _stacklevel, dtype=wide(dtype))

    torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax = to_wide, torch.Tensor.double, wide_softmax  # type: ignore[assignment]
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)
        torch.Tensor.to, torch.Tensor.float, torch.nn.functional.softmax = to, narrow, softmax  # type: ignore[assignment]


def make_exact(model: Any) -> None:
    """Lets an original compute in float64 what it computes in float32 whatever the model is."""
    family = getattr(getattr(model, "config", None), "model_type", "")
    if family == "gpt2":
        model.loss_function = causal_loss
        for block in getattr(model, "transformer", model).h:
            block.attn.reorder_and_upcast_attn = False  # the same in exact arithmetic
    if family == "vision-encoder-decoder":
        model.loss_function = causal_loss
    if family == "xlnet":  # its two streams need one type
        body = getattr(model, "transformer", model)
        encode = body.relative_positional_encoding
        body.relative_positional_encoding = lambda *sizes, **more: encode(*sizes, **more).to(torch.float64)


def label_padding(inputs: Tensors, generator: torch.Generator) -> Tensors:
    """Labels on padding too: the originals' losses over tokens count them like all others."""
    side = "decoder_" if "decoder_input_ids" in inputs else ""
    labels, mask = inputs.get("labels"), inputs.get(f"{side}attention_mask")
    if labels is None or mask is None or labels.shape != mask.shape or labels.is_floating_point():
        return {}
    more = torch.randint(0, int(labels.max()) + 1, labels.shape, generator=generator)
    return {"labels": torch.where((labels < 0) & (torch.rand(labels.shape, generator=generator) < 0.5), more, labels)}


def causal_loss(logits: torch.Tensor, labels: torch.Tensor, **_: object) -> torch.Tensor:
    return functional.cross_entropy(logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), ignore_index=IGNORED)


def behind_virtual(mask: torch.Tensor | None, length: int) -> torch.Tensor | None:
    """The mask of `length` positions: ones for the virtual tokens before the text, then `mask`."""
    if mask is None or mask.shape[1] >= length:
        return mask
    return torch.cat([mask.new_ones(len(mask), length - mask.shape[1]), mask], 1)


def zero_padding(
    name: str,
    value: torch.Tensor,
    inputs: Tensors,
    encoder_decoder: bool,
    remembered: int | None = None,
    virtual: int = 0,
) -> torch.Tensor:
    """Zeroes what belongs to a padded position: rows, and for attentions columns too. `remembered`: how many of the
    input's first positions its memories are of; None or 0: all. `virtual`: tokens that an adapter puts before a text."""
    field = name.split(".")[0]
    source = inputs.get("attention_mask")
    if "input_mask" in inputs:  # XLNet's, the other way round
        source = (1 - inputs["input_mask"]).long()
    if "lengths" in inputs:
        source = (torch.arange(inputs["input_ids"].shape[-1]) < inputs["lengths"][..., None]).long()
    if source is not None and source.ndim == 3:  # multiple choice: the choices are stored one after another
        source = source.flatten(0, 1)
    if virtual and source is not None:
        source = behind_virtual(source, source.shape[1] + virtual)
    target = inputs.get("decoder_attention_mask") if encoder_decoder else source
    rows = source if field.startswith("encoder_") else target
    columns = source if field == "cross_attentions" else rows
    if field == "cross_attentions" and not encoder_decoder:
        columns = inputs.get("encoder_attention_mask")
    if field == "mems":  # [positions, batch, width], the last positions those of the input
        kept = source.T[: remembered or None] if source is not None else torch.empty(0)
        last = min(len(value), len(kept))
        if last > 0:
            value = value.clone()
            value[-last:] *= kept[-last:, :, None]
    elif field.endswith("attentions"):  # [batch, heads, queries, keys]
        columns = behind_virtual(columns, value.shape[3])
        if rows is not None:
            value = value * rows[:, None, :, None]
        if columns is not None:
            value = value * columns[:, None, None, :]
    elif value.ndim == 4:  # by choice: [questions, choices, positions, width]
        value = value * source.reshape(*value.shape[:3], 1) if source is not None else value
    elif field == "pooler_output" or field.startswith(("start_top_", "end_top_")):  # [batch, width], for any
                                                                                    # width
        pass
    elif rows is not None and value.shape[:2] == rows.shape:  # [batch, positions, width] or [batch, positions]
        value = value * rows.reshape(rows.shape + (1,) * (value.ndim - 2))
    return value


def has_loss(inputs: Tensors) -> bool:
    return any(name.endswith(("labels", "label", "start_positions", "bool_masked_pos")) for name in inputs)


def expect(directory: Path, inputs: Tensors) -> Tensors:
    """The original's outputs in float32, with gradients where the inputs give a loss."""
    return Original.load(directory).run(inputs, gradients=has_loss(inputs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layout", default="right", help=f"one of {LAYOUTS}")
    parser.add_argument("--inputs", type=Path, required=True, help="read if it exists, else made and written")
    parser.add_argument("--expected", type=Path, required=True)
    options = parser.parse_args()
    if not options.inputs.exists():
        config = AutoConfig.from_pretrained(options.model)
        if options.layout not in layouts_of(config.model_type, config.architectures[0]):
            parser.error(f"there is no layout {options.layout} for {config.architectures[0]}")
        save_file(make_inputs(config, options.layout, options.seed), options.inputs)
    save_file(expect(options.model, load_file(options.inputs)), options.expected)


if __name__ == "__main__":
    main()
