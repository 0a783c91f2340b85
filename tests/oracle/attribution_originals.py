"""What check_attribution.py and check_inseq.py compare with: originals of every family, whose tokens' vectors can be given.

They compute in float64; attend in float32.
"""

from __future__ import annotations

import random
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, Iterator
from unittest import mock

import numpy
import torch
import transformers
from PIL import Image
from transformers import PreTrainedTokenizerFast

from check_scoring import BERT, GPT, MODELS, PAIR, SPECIAL, TOKENIZER, WORDS
from originals import head_class

LABELS = {"num_labels": 3, "id2label": {0: "low", 1: "middle", 2: "high"}, "label2id": {"low": 0, "middle": 1, "high": 2}}
DISTILBERT = {"dim": 36, "n_layers": 3, "n_heads": 3, "hidden_dim": 50, "max_position_embeddings": 90, "initializer_range": 0.3}
# After a slash: one of several cases of this architecture.
SIZES: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": BERT,
    "BertForSequenceClassification": {**BERT, **LABELS},
    "DistilBertForMaskedLM": DISTILBERT,
    "DistilBertForSequenceClassification": {**DISTILBERT, **LABELS},
    "RobertaForMaskedLM": BERT,
    "RobertaForSequenceClassification": {**BERT, **LABELS},
    "RobertaForCausalLM": {**BERT, "is_decoder": True},
    "ElectraForSequenceClassification": {**BERT, **LABELS, "embedding_size": 20},
    "AlbertForMaskedLM": {**BERT, "embedding_size": 20, "num_hidden_layers": 3},
    "AlbertForSequenceClassification": {**BERT, **LABELS, "embedding_size": 20, "classifier_dropout_prob": 0.0},
    "DebertaForMaskedLM": {**BERT, "relative_attention": True, "max_relative_positions": 20, "pos_att_type": ["p2c", "c2p"],
                           "type_vocab_size": 0},
    "DebertaV2ForSequenceClassification": {**BERT, **LABELS, "relative_attention": True, "position_buckets": 4, "type_vocab_size": 0,
                                           "max_relative_positions": 20, "pos_att_type": ["p2c", "c2p"]},
    "BigBirdForMaskedLM": {**BERT, "attention_type": "original_full"},
    "BigBirdForMaskedLM/blocks": {**BERT, "attention_type": "block_sparse", "block_size": 2, "num_random_blocks": 1},
    "XLMWithLMHeadModel": {"emb_dim": 36, "n_layers": 2, "n_heads": 3, "max_position_embeddings": 90, "embed_init_std": 0.3,
                           "init_std": 0.3, "n_langs": 1},
    "GPT2LMHeadModel": {**GPT, "n_layer": 3},
    "GPT2ForSequenceClassification": {**GPT, **LABELS},
    "OpenAIGPTLMHeadModel": GPT,
    "GPTJForCausalLM": MODELS["GPTJForCausalLM"],
    "GPTNeoForCausalLM": {"hidden_size": 36, "num_layers": 2, "num_heads": 3, "intermediate_size": 50, "window_size": 4,
                          "attention_types": [[["global", "local"], 1]], "max_position_embeddings": 70, "initializer_range": 0.3},
    "CTRLLMHeadModel": MODELS["CTRLLMHeadModel"],
    "XLNetLMHeadModel": MODELS["XLNetLMHeadModel"],
    "XLNetForSequenceClassification": {**MODELS["XLNetLMHeadModel"], **LABELS},
    "TransfoXLLMHeadModel": MODELS["TransfoXLLMHeadModel"],
    "T5ForConditionalGeneration": {**MODELS["T5ForConditionalGeneration"], "num_decoder_layers": 1},
    "BartForConditionalGeneration": {**PAIR, "scale_embedding": True},
    "MarianMTModel": {**PAIR, "decoder_layers": 3},
    "M2M100ForConditionalGeneration": {**PAIR, "scale_embedding": True},
    "ViTForImageClassification": {"hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 50,
                                  "image_size": 20, "patch_size": 5, "initializer_range": 0.3, **LABELS},
}  # fmt: skip
# For a stack: its layers, and the module that makes values from the tokens' vectors; {} is the layer's index,
# and without it all layers share one module. For a decoder with an encoder, also the module for values of the
# source.
BERT_VALUES = ("{}.encoder.layer.{{}}", "{}.encoder.layer.{{}}.attention.self.value")
PAIR_VALUES = [("model.encoder.layers.{}", "model.encoder.layers.{}.self_attn.v_proj"),
               ("model.decoder.layers.{}", "model.decoder.layers.{}.self_attn.v_proj", "model.decoder.layers.{}.encoder_attn.v_proj")]  # fmt: skip
GPT_VALUES = ("transformer.h.{}", "transformer.h.{}.attn.c_attn")
VALUES: dict[str, list[tuple[str, ...]]] = {
    **{kind: [tuple(path.format(prefix) for path in BERT_VALUES)]
       for kind, prefix in (("bert", "bert"), ("roberta", "roberta"), ("electra", "electra"), ("big_bird", "bert"))},
    "albert": [("albert.encoder.albert_layer_groups.0.albert_layers.0", "albert.encoder.albert_layer_groups.0.albert_layers.0.attention.value")],
    "deberta": [("deberta.encoder.layer.{}", "deberta.encoder.layer.{}.attention.self.in_proj")],
    "deberta-v2": [("deberta.encoder.layer.{}", "deberta.encoder.layer.{}.attention.self.value_proj")],
    "distilbert": [("distilbert.transformer.layer.{}", "distilbert.transformer.layer.{}.attention.v_lin")],
    "xlm": [("transformer.layer_norm2.{}", "transformer.attentions.{}.v_lin")],
    "gpt2": [GPT_VALUES],
    "openai-gpt": [GPT_VALUES],
    "gptj": [("transformer.h.{}", "transformer.h.{}.attn.v_proj")],
    "gpt_neo": [("transformer.h.{}", "transformer.h.{}.attn.attention.v_proj")],
    **{family: [("model.layers.{}", "model.layers.{}.self_attn.v_proj")] for family in ("llama", "qwen3", "gemma2")},
    "ctrl": [("transformer.h.{}", "transformer.h.{}.multi_head_attention.Wv")],
    "xlnet": [("transformer.layer.{}", "transformer.layer.{}.rel_attn")],
    "transfo-xl": [("transformer.layers.{}", "transformer.layers.{}.dec_attn.qkv_net")],
    "vit": [("vit.encoder.layer.{}", "vit.encoder.layer.{}.attention.attention.value")],
    "t5": [("encoder.block.{}", "encoder.block.{}.layer.0.SelfAttention.v"),
           ("decoder.block.{}", "decoder.block.{}.layer.0.SelfAttention.v", "decoder.block.{}.layer.1.EncDecAttention.v")],
    "bart": PAIR_VALUES,
    "marian": PAIR_VALUES,
    "m2m_100": PAIR_VALUES,
}  # fmt: skip
TOKENS_FIRST = ("xlnet", "transfo-xl")  # [n, copies, d], where the others have [copies, n, d]
CAUSAL = ("gpt2", "openai-gpt", "gptj", "gpt_neo", "ctrl", "llama", "qwen3", "gemma2", "transfo-xl")
# Their attentions are returned as copies. The result is computed from the originals, which pass through this
# dropout.
COPIED_WEIGHTS = {"xlnet": "transformer.layer.{}.rel_attn.dropout", "transfo-xl": "transformer.layers.{}.dec_attn.dropatt"}
PAIRED = ("MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration", "M2M100ForConditionalGeneration")
Sides = list[torch.Tensor]  # numbers for the tokens of each side


def make_directory(name: str, seed: int, directory: Path) -> Any:
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER), model_input_names=["input_ids", "attention_mask"],
                                        **SPECIAL)  # fmt: skip
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("pad", "bos", "eos")}
    if name in PAIRED:
        # M2M-100 gives padding no position if the input is ids, and a position if the input is vectors.
        start = "eos" if name.startswith("M2M") else "pad"
        ids |= {"decoder_start_token_id": ids[f"{start}_token_id"], "forced_eos_token_id": None}
    torch.manual_seed(seed)
    architecture = head_class(name.split("/")[0])
    vocabulary = {} if name.startswith("ViT") else {"vocab_size": len(tokenizer), **ids}
    if name.startswith("XLM"):
        vocabulary = {"n_words": len(tokenizer), **{f"{role}_index": ids[f"{role}_token_id"] for role in ("pad", "bos", "eos")}, **ids}
    config = architecture.config_class(**vocabulary, **SIZES[name])
    config._attn_implementation = "eager"
    model = architecture(config).eval()
    with torch.no_grad():
        for parameter_name, weight in model.named_parameters():
            if parameter_name.endswith("bias"):
                weight.normal_(0, 0.1)
    model.save_pretrained(directory)
    if name.startswith("ViT"):
        transformers.ViTImageProcessor(size={"height": 20, "width": 20}).save_pretrained(directory)
        return None
    tokenizer.save_pretrained(directory)
    return tokenizer


class Original:
    """A model as a function of what its tokens begin as: [copies, n, d] of each side -> scores [copies, V or labels]."""

    def __init__(self, model: Any, ids: Sides, result: dict[str, Any], pixels: torch.Tensor | None = None) -> None:
        self.model, self.ids, self.result, self.pixels = model, ids, result, pixels
        self.kind = model.config.model_type
        self.label = result["label"]

    @property
    def causal(self) -> bool:
        return len(self.ids) > 1 or self.kind in CAUSAL or bool(getattr(self.model.config, "is_decoder", False))

    def inputs(self) -> Sides:
        if self.pixels is not None:
            return [self.patches(self.pixels)]
        stacks = [self.model.get_encoder(), self.model.get_decoder()] if len(self.ids) > 1 else [self.model]
        return [self.embed(stack, ids)[None].detach() for stack, ids in zip(stacks, self.ids, strict=True)]

    def embed(self, stack: Any, ids: torch.Tensor) -> torch.Tensor:
        return stack.get_input_embeddings()(ids)

    def patches(self, pixels: torch.Tensor) -> torch.Tensor:
        size = self.model.config.patch_size
        rows = pixels.unfold(2, size, size).unfold(3, size, size)  # [1, C, rows, columns, size, size]
        cut = rows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
        return torch.cat([torch.zeros_like(cut[:, :1]), cut], 1)

    def run(self, x: Sides, **more: Any) -> Any:
        if self.pixels is not None:
            size, count = self.model.config.patch_size, self.model.config.image_size // self.model.config.patch_size
            patches = x[0][:, 1:].reshape(-1, count, count, 3, size, size)
            return self.model(pixel_values=patches.permute(0, 3, 1, 4, 2, 5).reshape(-1, 3, count * size, count * size), **more)
        if len(x) > 1:
            return self.model(inputs_embeds=x[0], decoder_inputs_embeds=x[1], use_cache=False, **more)
        # Transformer-XL masks with float64's lowest number after a conversion to float32, which does not have
        # that number.
        wide = mock.patch.object(torch.Tensor, "float", lambda tensor: tensor) if self.kind == "transfo-xl" else nullcontext()
        with wide:
            return self.model(inputs_embeds=x[0].clone(), **more)  # CTRL scales them in place

    def scores(self, *x: torch.Tensor) -> torch.Tensor:
        if self.label and self.kind in CAUSAL:  # these find a text's end by its ids, if there are several
                                                # texts
            return torch.cat([self.logits(self.run([x[0][i : i + 1]])) for i in range(len(x[0]))])
        return self.logits(self.run(list(x)))

    def logits(self, out: Any) -> torch.Tensor:
        logits = out["prediction_scores"] if "prediction_scores" in out else out["logits"]
        return logits if self.label else logits[:, self.result["place"]]

    def pick(self, scores: torch.Tensor) -> torch.Tensor:
        own = scores[:, self.result["toward_id"]]
        return own - scores[:, self.result["instead_of_id"]] if "instead_of_id" in self.result else own

    def asked(self, *x: torch.Tensor) -> torch.Tensor:
        return self.pick(self.scores(*x))

    def certainty(self, *x: torch.Tensor) -> torch.Tensor:
        scores = self.scores(*x)
        if "instead_of_id" in self.result:
            return self.pick(scores).sigmoid()
        return scores.softmax(1)[:, self.result["toward_id"]]

    def read_row(self) -> int:
        """Of the last side, that which the score is made of."""
        if not self.label:
            return int(self.result["place"])
        return self.ids[0].numel() - 1 if self.kind in (*CAUSAL, "xlnet") else 0

    def layers(self, side: int) -> int:
        config = self.model.config
        names = (("encoder_layers", "num_layers"), ("decoder_layers", "num_decoder_layers"))[side]
        return next(getattr(config, name) for name in (*names, "num_hidden_layers") if hasattr(config, name))

    def attentions(self, x: Sides) -> tuple[Any, list[list[torch.Tensor]]]:
        """What the model says, and of each kind of attention its weights as they are in the graph: [1, heads, Lq, Lk]."""
        if getattr(self.model.config, "attention_type", "") == "block_sparse":  # its blocks are joined as
                                                                                # float32
            self.model.float()
            out = self.run([side.float() for side in x], output_attentions=True)
            self.model.double()
            n = x[0].shape[1]  # the original pads its text to whole blocks
            return out, [[layer.double()[..., :n, :n] for layer in out.attentions]]
        if self.kind not in COPIED_WEIGHTS:
            out = self.run(x, output_attentions=True)
            if len(x) > 1:
                return out, [list(out.encoder_attentions), list(out.decoder_attentions), list(out.cross_attentions)]
            return out, [list(out.attentions)]
        kept: list[torch.Tensor] = []

        def keep(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor | None:
            if output.dim() != 4:
                return None
            kept.append(output.permute(2, 3, 0, 1) if self.kind == "transfo-xl" else output.clone())
            return kept[-1].permute(2, 3, 0, 1) if self.kind == "transfo-xl" else kept[-1]

        path = COPIED_WEIGHTS[self.kind]
        hooks = [module_of(self.model, path.format(i)).register_forward_hook(keep) for i in range(self.layers(0))]
        out = self.run(x)
        for hook in hooks:
            hook.remove()
        return out, [kept]

    def turned(self, x: Sides, layer: tuple[str, int], values: str, tokens: int) -> torch.Tensor:
        """Of a layer: 1 - cosine of each token's vector with that without the value of each of `tokens`: [n, tokens]."""
        kept: list[torch.Tensor] = []
        path, number = layer
        for token in [None, *range(tokens)]:
            calls: list[torch.Tensor] = []
            hook = module_of(self.model, path).register_forward_hook(lambda module, inputs, output: calls.append(first_of(output)))
            with nullcontext() if token is None else self.without_value(values, number, token, tokens):
                self.run(x)
            hook.remove()
            result = calls[number if "{}" not in path and len(calls) > 1 else 0]
            kept.append(result[:, 0] if self.kind in TOKENS_FIRST else result[0])
        columns = [1 - torch.cosine_similarity(kept[0], one, dim=-1) for one in kept[1:]]
        return torch.stack(columns, 1)

    @contextmanager
    def without_value(self, path: str, number: int, token: int, tokens: int) -> Iterator[None]:
        module = module_of(self.model, path)
        if self.kind == "xlnet":  # values are the product with a parameter, not a module's result
            core = module.rel_attn_core

            def without_one(query: Any, key: Any, value: torch.Tensor, *rest: Any, **more: Any) -> Any:
                value = value.clone()
                value[token] = 0
                return core(query, key, value, *rest, **more)

            with mock.patch.object(module, "rel_attn_core", without_one):
                yield
            return
        calls = 0

        def without(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            nonlocal calls
            calls += 1
            if self.kind == "albert" and calls != number + 1:  # all layers are one
                return output
            output = output.clone()
            width = output.shape[-1]
            if self.kind in ("gpt2", "openai-gpt"):
                output[:, token, width // 3 * 2 :] = 0
            elif self.kind == "transfo-xl":  # after the memory
                output[len(output) - tokens + token, :, width // 3 * 2 :] = 0
            elif self.kind == "deberta":  # head by head, and the values' bias comes later
                heads = self.model.config.num_attention_heads
                attention = module_of(self.model, path.removesuffix(".in_proj"))
                output[:, token].view(-1, heads, 3, width // heads // 3)[:, :, 2] = -attention.v_bias.view(heads, -1)
            else:
                output[:, token] = 0
            return output

        hook = module.register_forward_hook(without)
        yield
        hook.remove()


def module_of(model: Any, path: str) -> Any:
    for name in path.split("."):
        model = model[int(name)] if name.isdigit() else getattr(model, name)
    return model


def first_of(output: Any) -> torch.Tensor:
    return output[0] if isinstance(output, (tuple, list)) else output


def ask(name: str, seed: int, pick: random.Random, tokenizer: Any, folder: Path) -> tuple[list[str], list[str]]:
    """The input and the options."""
    options = ["--baseline", ["mask", "zeros", "pad", "unk"][seed % 4]]
    if name.startswith("ViT"):
        pixels = numpy.random.default_rng(seed).integers(0, 255, (20, 20, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(folder / "picture.png")
        return ["--image", str(folder / "picture.png")], options[:0] + (["--instead-of", "low"] if seed % 2 else [])
    words = pick.choices(WORDS, k=pick.randint(2, 7))
    if "Classification" in name:
        return [" ".join(words)], options + (["--toward", "high", "--instead-of", "low"] if seed % 2 else [])
    piece = lambda: tokenizer.convert_ids_to_tokens(pick.randrange(5, len(tokenizer)))  # noqa: E731
    if seed % 2:
        options += ["--toward", piece(), "--instead-of", piece()]
    if name.endswith("/blocks"):
        words = (words * 4)[:20]  # the model cannot read more
    if "MaskedLM" in name or name in ("XLMWithLMHeadModel", "XLNetLMHeadModel"):
        words[pick.randrange(len(words))] = "<mask>"
    if name in PAIRED:
        target = " ".join(pick.choices(WORDS, k=4))
        return [" ".join(words), "--target", target], options + ["--place", "2"]
    return [" ".join(words)], options


def baseline_of(original: Original, x: Sides, replaceable: list[list[int]], tokenizer: Any, options: list[str]) -> Sides:
    role = options[options.index("--baseline") + 1] if "--baseline" in options else "zeros"
    result = [side.clone() for side in x]
    for number, side in enumerate(result):
        vector = torch.zeros(side.shape[2], dtype=side.dtype)
        if role != "zeros":
            stacks = [original.model.get_encoder(), original.model.get_decoder()] if len(x) > 1 else [original.model]
            vector = original.embed(stacks[number], torch.tensor([getattr(tokenizer, f"{role}_token_id")]))[0]
        side[0, replaceable[number]] = vector.detach()
    return result
