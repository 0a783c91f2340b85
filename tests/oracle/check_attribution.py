"""attend explain --attribute against Captum on transformers, and what Captum has not, by its definition.

    python check_attribution.py --attend build/release/attend
    python check_attribution.py --attend build/release/attend --model BertForMaskedLM --seeds 5

Captum gives gradient times input, integrated gradients and occlusion (as the ablation of one token's vector). Value
zeroing, rollout and the gradient-weighted rollout are computed here as their papers have them, and the measures of
faithfulness as ERASER has them. The originals compute in float64, attend in float32.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable

import numpy
import torch
import transformers
from captum.attr import FeatureAblation, InputXGradient, IntegratedGradients
from PIL import Image
from transformers import PreTrainedTokenizerFast

from check_scoring import BERT, GPT, MODELS, PAIR, SPECIAL, TOKENIZER, WORDS
from common import Attend, AttendFailed, Table
from models import head_class

LIMIT = 1e-4  # of a number, relative to the method's largest
COMPLETE = 0.01  # of the score's change, with 50 steps
ALL = ["gradient-input", "integrated-gradients", "occlusion", "value-zeroing", "rollout", "gradient-rollout"]
LABELS = {"num_labels": 3, "id2label": {0: "low", 1: "middle", 2: "high"}, "label2id": {"low": 0, "middle": 1, "high": 2}}
DISTILBERT = {"dim": 36, "n_layers": 3, "n_heads": 3, "hidden_dim": 50, "max_position_embeddings": 90, "initializer_range": 0.3}
SIZES: dict[str, dict[str, Any]] = {
    "BertForMaskedLM": BERT,
    "BertForSequenceClassification": {**BERT, **LABELS},
    "DistilBertForMaskedLM": DISTILBERT,
    "DistilBertForSequenceClassification": {**DISTILBERT, **LABELS},
    "RobertaForMaskedLM": BERT,
    "ElectraForSequenceClassification": {**BERT, **LABELS, "embedding_size": 20},
    "AlbertForMaskedLM": {**BERT, "embedding_size": 20},
    "DebertaV2ForSequenceClassification": {**BERT, **LABELS, "relative_attention": True, "position_buckets": 4, "type_vocab_size": 0,
                                           "max_relative_positions": 20, "pos_att_type": ["p2c", "c2p"]},
    "GPT2LMHeadModel": {**GPT, "n_layer": 3},
    "GPT2ForSequenceClassification": {**GPT, **LABELS},
    "GPTJForCausalLM": MODELS["GPTJForCausalLM"],
    "XLNetForSequenceClassification": {**MODELS["XLNetLMHeadModel"], **LABELS},
    "TransfoXLLMHeadModel": MODELS["TransfoXLLMHeadModel"],
    "T5ForConditionalGeneration": {**MODELS["T5ForConditionalGeneration"], "num_decoder_layers": 1},
    "BartForConditionalGeneration": {**PAIR, "scale_embedding": True},
    "MarianMTModel": {**PAIR, "decoder_layers": 3},
    "ViTForImageClassification": {"hidden_size": 36, "num_hidden_layers": 2, "num_attention_heads": 3, "intermediate_size": 50,
                                  "image_size": 20, "patch_size": 5, "initializer_range": 0.3, **LABELS},
}  # fmt: skip
# Where values are made of the tokens' vectors: the layers, and of each what makes values. None: not one module's result.
VALUES = {
    "bert": ("bert.encoder.layer", "attention.self.value"),
    "roberta": ("roberta.encoder.layer", "attention.self.value"),
    "electra": ("electra.encoder.layer", "attention.self.value"),
    "deberta-v2": ("deberta.encoder.layer", "attention.self.value_proj"),
    "distilbert": ("distilbert.transformer.layer", "attention.v_lin"),
    "gpt2": ("transformer.h", "attn.c_attn"),
    "gptj": ("transformer.h", "attn.v_proj"),
    "vit": ("vit.encoder.layer", "attention.attention.value"),
    "t5": ("encoder.block", "layer.0.SelfAttention.v"),
    "bart": ("model.encoder.layers", "self_attn.v_proj"),
    "marian": ("model.encoder.layers", "self_attn.v_proj"),
}
TARGET_VALUES = {  # the layers of the decoder, its own values, and those of the source
    "t5": ("decoder.block", "layer.0.SelfAttention.v", "layer.1.EncDecAttention.v"),
    "bart": ("model.decoder.layers", "self_attn.v_proj", "encoder_attn.v_proj"),
    "marian": ("model.decoder.layers", "self_attn.v_proj", "encoder_attn.v_proj"),
}
Sides = list[torch.Tensor]  # numbers for the tokens of each side


def make_directory(name: str, seed: int, directory: Path) -> Any:
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(TOKENIZER), model_input_names=["input_ids", "attention_mask"],
                                        **SPECIAL)  # fmt: skip
    ids = {f"{role}_token_id": getattr(tokenizer, f"{role}_token_id") for role in ("pad", "bos", "eos")}
    paired = name in ("MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration")
    if paired:
        ids |= {"decoder_start_token_id": ids["pad_token_id"], "forced_eos_token_id": None}
    torch.manual_seed(seed)
    architecture = head_class(name)
    vocabulary = {} if name.startswith("ViT") else {"vocab_size": len(tokenizer), **ids}
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

    def __init__(self, model: Any, ids: Sides, result: dict[str, Any], pixels: torch.Tensor | None) -> None:
        self.model, self.ids, self.result, self.pixels = model, ids, result, pixels
        self.label = result["label"]

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
        if self.model.config.model_type == "gpt2" and self.label:  # which finds a text's end by its ids
            self.model.config.pad_token_id = None
        return self.model(inputs_embeds=x[0], **more)

    def scores(self, *x: torch.Tensor) -> torch.Tensor:
        out = self.run(list(x))
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
        return self.ids[0].numel() - 1 if self.model.config.model_type in ("gpt2", "xlnet") else 0


def module_of(model: Any, path: str) -> Any:
    for name in path.split("."):
        model = model[int(name)] if name.isdigit() else getattr(model, name)
    return model


def first_of(output: Any) -> torch.Tensor:
    return output[0] if isinstance(output, tuple) else output


def turned(original: Original, x: Sides, layer: Any, values: Any, tokens: int) -> torch.Tensor:
    """Of a layer: 1 - cosine of each token's vector with that without the value of each of `tokens`: [n, tokens]."""
    kept: list[torch.Tensor] = []
    hook = layer.register_forward_hook(lambda module, inputs, output: kept.append(first_of(output)[0]))
    original.run(x)
    for token in range(tokens):

        def without(module: Any, inputs: Any, output: torch.Tensor) -> torch.Tensor:
            output = output.clone()
            width = output.shape[-1]
            output[:, token, width // 3 * 2 if original.model.config.model_type == "gpt2" else 0 :] = 0
            return output

        other = values.register_forward_hook(without)
        original.run(x)
        other.remove()
    hook.remove()
    columns = [1 - torch.cosine_similarity(kept[0], one, dim=-1) for one in kept[1:]]
    return torch.stack(columns, 1)


def value_zeroing(original: Original, x: Sides) -> Sides | None:
    kind = original.model.config.model_type
    if kind not in VALUES:
        return None
    layers, values = VALUES[kind]
    n = x[0].shape[1]
    steps = []
    for layer in module_of(original.model, layers):
        own = turned(original, x, layer, module_of(layer, values), n)
        steps.append(own / own.sum(1, keepdim=True))
    rows = torch.zeros(x[-1].shape[1], dtype=torch.float64)
    rows[original.read_row()] = 1
    if len(x) == 1:
        for step in reversed(steps):
            rows = rows @ step
        return [rows]
    source = torch.zeros(n, dtype=torch.float64)
    layers, values, cross = TARGET_VALUES[kind]
    for layer in reversed(module_of(original.model, layers)):
        own = turned(original, x, layer, module_of(layer, values), x[1].shape[1])
        other = turned(original, x, layer, module_of(layer, cross), n)
        sums = own.sum(1, keepdim=True) + other.sum(1, keepdim=True)
        source, rows = source + rows @ (other / sums), rows @ (own / sums)
    for step in reversed(steps):
        source = source @ step
    return [source, rows]


def attentions(out: Any, paired: bool, memory: int) -> list[list[torch.Tensor]]:
    """Of each kind of attention, layer by layer, as they are in the graph: [1, heads, Lq, Lk]."""
    if paired:
        return [list(out.encoder_attentions), list(out.decoder_attentions), list(out.cross_attentions)]
    return [list(out.attentions)]


def half_past(mean: torch.Tensor) -> torch.Tensor:
    both = mean + torch.eye(len(mean), dtype=mean.dtype)
    return both / both.sum(1, keepdim=True)


def rollout(original: Original, x: Sides) -> Sides:
    kinds = attentions(original.run(x, output_attentions=True), len(x) > 1, 0)
    means = [[layer[0].mean(0).detach()[:, -layer.shape[2] if len(x) == 1 else 0 :] for layer in kind] for kind in kinds]
    n = [side.shape[1] for side in x]
    rollout = torch.eye(n[0], dtype=torch.float64)
    for mean in means[0]:
        rollout = half_past(mean) @ rollout
    if len(x) == 1:
        return [rollout[original.read_row()]]
    own, source = torch.eye(n[1], dtype=torch.float64), torch.zeros(n[1], n[0], dtype=torch.float64)
    for self_mean, cross_mean in zip(means[1], means[2], strict=True):
        own, source = half_past(self_mean) @ own, half_past(self_mean) @ source
        own, source = own / 2, source / 2 + cross_mean @ rollout / 2
    return [source[original.read_row()], own[original.read_row()]]


def handle_residual(relevance: torch.Tensor) -> torch.Tensor:
    """As in the authors' code, but that a row without anything stays so."""
    rest = relevance - torch.eye(len(relevance), dtype=relevance.dtype)
    sums = rest.sum(1, keepdim=True)
    return torch.where(sums > 0, rest / sums.clamp_min(1e-300), 0) + torch.eye(len(rest), dtype=rest.dtype)


def gradient_rollout(original: Original, x: Sides) -> Sides | None:
    x = [side.clone().requires_grad_() for side in x]
    out = original.run(x, output_attentions=True)
    logits = out["prediction_scores"] if "prediction_scores" in out else out["logits"]
    score = original.pick(logits if original.label else logits[:, original.result["place"]]).sum()
    kinds = attentions(out, len(x) > 1, 0)
    flat = [layer for kind in kinds for layer in kind]
    found = torch.autograd.grad(score, flat, allow_unused=True)
    if all(gradient is None for gradient in found):  # XLNet's are copies of those that its result is made of
        return None
    gradients = iter(found)

    def step(layer: torch.Tensor, gradient: torch.Tensor | None) -> torch.Tensor:
        weighted = torch.zeros_like(layer) if gradient is None else gradient * layer
        mean = weighted[0].clamp(min=0).mean(0).detach()
        return mean[:, -mean.shape[0] :] if len(x) == 1 else mean

    steps = [[step(layer, next(gradients)) for layer in kind] for kind in kinds]
    n = [side.shape[1] for side in x]
    encoder = torch.eye(n[0], dtype=torch.float64)
    for cam in steps[0]:
        encoder = encoder + cam @ encoder
    row = original.read_row()
    if len(x) == 1:
        return [encoder[row] - torch.eye(n[0])[row]]
    target, source = torch.eye(n[1], dtype=torch.float64), torch.zeros(n[1], n[0], dtype=torch.float64)
    for own, cross in zip(steps[1], steps[2], strict=True):
        target, source = target + own @ target, source + own @ source
        source = source + handle_residual(target).T @ cross @ handle_residual(encoder)
    return [source[row], target[row] - torch.eye(n[1])[row]]


def differentiated(original: Original, x: Sides, baseline: Sides, replaceable: list[list[int]]) -> dict[str, Sides]:
    """What Captum makes of it."""
    x, baseline = [side.clone().requires_grad_() for side in x], [side.clone() for side in baseline]
    sums = lambda found: [side[0].sum(-1).detach() for side in found]  # noqa: E731
    kinds = {
        "gradient-input": sums(InputXGradient(original.asked).attribute(tuple(x))),
        "integrated-gradients": sums(IntegratedGradients(original.asked).attribute(
            tuple(x), tuple(baseline), n_steps=50, method="gausslegendre", internal_batch_size=25)),
    }  # fmt: skip
    with torch.no_grad():
        first = 0
        masks = []
        for side in x:
            tokens = torch.arange(first, first + side.shape[1])
            masks.append(tokens[None, :, None].expand(side.shape))
            first += side.shape[1]
        ablated = FeatureAblation(original.asked).attribute(tuple(x), tuple(baseline), feature_mask=tuple(masks))
    kinds["occlusion"] = [torch.zeros(side.shape[1], dtype=torch.float64) for side in x]
    for side, tokens in enumerate(replaceable):
        for token in tokens:
            kinds["occlusion"][side][token] = ablated[side][0, token, 0]
    return kinds


def faithfulness(original: Original, x: Sides, baseline: Sides, order: list[tuple[int, int]]) -> list[float]:
    """Comprehensiveness, sufficiency, and the curve of certainty, of tokens in this order."""

    def without(taken: list[tuple[int, int]]) -> float:
        changed = [side.clone() for side in x]
        for side, token in taken:
            changed[side][0, token] = baseline[side][0, token]
        return float(original.certainty(*changed)[0])

    n, whole = len(order), without([])
    shares = [math.ceil(share * n) for share in (0.01, 0.05, 0.1, 0.2, 0.5)]
    lost = sum(whole - without(order[:count]) for count in shares) / 5
    kept = sum(whole - without(order[count:]) for count in shares) / 5
    steps = min(n, 20)
    return [lost, kept, *(without(order[: n * step // steps]) for step in range(steps + 1))]


def ask(name: str, seed: int, pick: random.Random, tokenizer: Any, folder: Path) -> tuple[list[str], list[str]]:
    """The input, and what is asked."""
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
    if "MaskedLM" in name:
        words[pick.randrange(len(words))] = "<mask>"
    if name in ("MarianMTModel", "BartForConditionalGeneration", "T5ForConditionalGeneration"):
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


def check(attend: Attend, name: str, seed: int) -> tuple[str, dict[str, float], float, list[str]]:
    pick = random.Random(f"{name} {seed}")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        directory = folder / "model"
        tokenizer = make_directory(name, seed, directory)
        given, options = ask(name, seed, pick, tokenizer, folder)
        attend.run("explain", directory, *given, "--attribute", "all", *options, "--json", folder / "all.json", "--threads", "1")
        found = json.loads((folder / "all.json").read_text())
        (result,) = found["attributions"]
        model = head_class(name).from_pretrained(directory, attn_implementation="eager").to(torch.float64).eval()
        pixels = None
        if tokenizer is None:
            processor = transformers.ViTImageProcessor.from_pretrained(directory)
            pixels = processor(Image.open(folder / "picture.png"), return_tensors="pt")["pixel_values"].to(torch.float64)
        ids = [torch.tensor([token["id"] for token in side["tokens"]]) for side in found["sides"]]
        original = Original(model, ids, result, pixels)
        x = original.inputs()
        plain = [[i for i, token in enumerate(side["tokens"]) if not token.get("special")] for side in found["sides"]]
        if not result["label"]:
            place, causal = result["place"], len(x) > 1 or name in ("GPT2LMHeadModel", "GPTJForCausalLM", "TransfoXLLMHeadModel")
            plain[-1] = [i for i in plain[-1] if (i <= place if causal else i != place)]
        wrong = []
        with torch.no_grad():
            scores = original.scores(*x)[0]
            if "--toward" not in options and len(x) == 1 and int(scores.argmax()) != result["toward_id"]:
                wrong.append(f"asked for {result['toward_id']}, the likeliest is {int(scores.argmax())}")
        baseline = baseline_of(original, x, plain, tokenizer, options)
        wanted: dict[str, Sides | None] = dict(differentiated(original, x, baseline, plain))
        with torch.no_grad():
            wanted["value-zeroing"] = value_zeroing(original, x)
            wanted["rollout"] = rollout(original, x)
        wanted["gradient-rollout"] = gradient_rollout(original, x)
        errors, gap = {}, 0.0
        for method in result["methods"]:
            own = [torch.tensor(side["scores"], dtype=torch.float64) for side in method["sides"]]
            theirs = wanted[method["method"]]
            error = float("nan")
            if theirs is not None:
                largest = max(float(side.abs().max()) for side in theirs)
                error = max(float((a - b).abs().max()) for a, b in zip(own, theirs, strict=True)) / max(largest, 1e-12)
                if not error <= LIMIT:
                    wrong.append(f"{method['method']}: off by {error:.1e}")
            errors[method["method"]] = error
            if complete := method.get("completeness"):
                gap = abs(complete["gap"]) / max(1e-12, abs(complete["score"] - complete["baseline"]))
                if gap > COMPLETE:
                    wrong.append(f"the gap of completeness is {gap:.3f} of the change")
            places = [(side, token) for side, tokens in enumerate(plain) for token in tokens]
            order = sorted(places, key=lambda place: -float(own[place[0]][place[1]]))
            with torch.no_grad():
                measures = faithfulness(original, x, baseline, order)
            faithful = method["faithfulness"]
            said = [faithful["comprehensiveness"], faithful["sufficiency"], *faithful["certainty"]]
            off = max(abs(a - b) for a, b in zip(said, measures, strict=True))
            if off > 1e-5:
                wrong.append(f"{method['method']}: measures of faithfulness are off by {off:.1e}")
        return " ".join(options), errors, gap, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True)
    parser.add_argument("--model", choices=SIZES, help="one architecture only")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    attend = Attend(options.attend.resolve())
    table = Table([("model", 36), ("seed", 4), *((method, len(method)) for method in ALL), ("gap", 8), ("asked", 40)])
    for name in [options.model] if options.model else SIZES:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            try:
                asked, errors, gap, wrong = check(attend, name, seed)
            except AttendFailed as failure:
                asked, errors, gap, wrong = "", {}, math.nan, [str(failure)]
            cells = [f"{errors.get(method, math.nan):.1e}" for method in ALL]
            table.row([name, seed, *cells, f"{gap:.1e}", asked], bool(wrong), wrong)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
