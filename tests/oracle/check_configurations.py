"""attend against the original for random configurations of every family and head: what differs or is refused, as a
list, and what that has in common.

    python check_configurations.py --attend build/release/attend --seeds 2 --first-seed 100
    python check_configurations.py --attend build/release/attend --family bert --head BertModel -v

A configuration that the original itself cannot build or run does not count; how many these are is said.
"""

from __future__ import annotations

import argparse
import collections
import inspect
import json
import re
import sys
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch

from check_generation import load_generator, make_prompts
from common import SCORE_LIMIT, VALUE_LIMIT, Attend, AttendFailed, Tensors, compare, relative_error
from configurations import CLASSES, COMPOSED, heads_of, make_configuration
from field_rules import Draw, Fields
from float64 import double_of
from forward import Original
from layouts import layouts_of
from model_families import MARIAN_LIKE
from original_generate import original_generate
from random_inputs import grows, has_loss, is_paired, label_padding, make_inputs
from sentence_directories import (
    BODIES, WORDS, expected, expected_of_texts, make_modules, save_modules, save_tokenizer,
)  # fmt: skip
from spellings import as_newer_config, respell

GENERATES = ("LMHeadModel", "ForCausalLM", "ForConditionalGeneration", "MTModel", "EncoderDecoderModel")


@dataclass
class Tally:
    gradients: bool = True  # whether they are also compared
    cases: int = 0
    without_original: collections.Counter[str] = field(default_factory=collections.Counter)
    failed: collections.Counter[str] = field(default_factory=collections.Counter)

    def fail(self, case: str, fields: Fields, why: list[str], verbose: bool) -> None:
        print(f"FAILED {case}")
        for line in why[: None if verbose else 3]:
            print(f"    {line}")
        if verbose:
            print(f"    {fields}")
        sys.stdout.flush()
        kind = re.sub(r"\S*/", "", why[0])
        self.failed[f"{case.split()[0]}: {re.sub('[0-9.]+e?-?[0-9]*', 'N', kind)[:110]}"] += 1


def other_inputs(model: Any, inputs: Tensors, draw: Draw, generator: torch.Generator) -> Tensors:
    """Optional inputs, and inputs that the model accepts and ignores."""
    config, more = model.config, {}
    taken = inspect.signature(model.forward).parameters
    rows, length = (1, 1) if "input_ids" not in inputs else inputs["input_ids"].shape[-2:]
    decodes = not is_paired(config) and config.architectures[0].endswith("ForCausalLM")
    if (getattr(config, "add_cross_attention", False) and config.model_type != "big_bird") or (decodes and config.model_type in MARIAN_LIKE):
        count, width = draw.randint(1, 9), config.hidden_size
        more["encoder_hidden_states"] = torch.randn((rows, count, width), generator=generator)
        if draw.random() < 0.7:
            mask = torch.randint(0, 2, (rows, count), generator=generator)
            mask[:, 0] = 1
            more["encoder_attention_mask"] = mask
    if config.model_type.startswith("deberta") and draw.random() < 0.5:
        count = max(1, config.type_vocab_size)
        more["token_type_ids"] = torch.randint(0, count, inputs["input_ids"].shape, generator=generator)
    if config.model_type in COMPOSED:
        return more | beside_decoder(model, inputs, draw, generator)
    by_choice = config.architectures[0].endswith(("MultipleChoice", "DoubleHeadsModel"))
    if "position_ids" in taken and not is_paired(config) and not by_choice and draw.random() < 0.3:
        shape, places = (draw.choice([1, rows]), length), getattr(config, "max_position_embeddings", 20)
        positions = torch.randint(0, places, shape, generator=generator)
        if "attention_mask" not in inputs:  # some originals interpret positions that do not increase by one
                                            # as another text
            positions = torch.arange(length).expand(shape) + draw.randint(0, max(0, places - length))
        more["position_ids"] = positions.contiguous()
    if config.model_type == "xlnet" and "attention_mask" in inputs and draw.random() < 0.2:
        more["input_mask"] = 1.0 - inputs.pop("attention_mask")
    if config.model_type == "ernie" and config.use_task_id and draw.random() < 0.7:
        more["task_type_ids"] = torch.randint(0, config.task_type_vocab_size, inputs["input_ids"].shape, generator=generator)
    if config.model_type in ("vit", "vit_msn") and draw.random() < 0.3:
        more["interpolate_pos_encoding"] = torch.tensor(isinstance(config.image_size, int))
    return {name: tensor for name, tensor in more.items() if name not in inputs and name in taken}


def beside_decoder(model: Any, inputs: Tensors, draw: Draw, generator: torch.Generator) -> Tensors:
    """What an EncoderDecoderModel hands on to its decoder."""
    config, more = model.config.decoder, {}
    if "decoder_input_ids" not in inputs:
        return more
    taken, shape = inspect.signature(model.decoder.forward).parameters, inputs["decoder_input_ids"].shape
    types = config.vocab_size if config.model_type == "gpt2" else getattr(config, "type_vocab_size", 0)
    if "token_type_ids" in taken and types > 0 and draw.random() < 0.3:
        more["decoder_token_type_ids"] = torch.randint(0, types, shape, generator=generator)
    if "position_ids" in taken and draw.random() < 0.3:
        places = config.max_position_embeddings
        positions = torch.randint(0, places, shape, generator=generator)
        if "decoder_attention_mask" not in inputs:  # as in other_inputs()
            positions = torch.arange(shape[-1]).expand(shape) + draw.randint(0, places - shape[-1])
        more["decoder_position_ids"] = positions.contiguous()
    return more


def is_rounding(name: str, wanted: Tensors, got: Tensors, true: Tensors) -> bool:
    """Is a gradient as near to float64 as can be asked? In models this small some nearly cancel."""
    if not name.startswith("grad.") or name not in got or name not in wanted or got[name].shape != wanted[name].shape:
        return False
    ours, own = ((tensor[name].double() - true[name]).abs().max().item() for tensor in (got, wanted))
    return ours <= 16 * own




def check_forward(attend: Attend, directory: Path, case: str, fields: Fields, seed: int, tally: Tally, verbose: bool) -> None:
    original, exact = Original.load(directory), None
    config = original.model.config
    family, head = config.model_type, config.architectures[0]
    causal = bool(getattr(config, "is_decoder", False) or getattr(config, "causal", False))
    for layout in layouts_of(family, head, causal):
        draw, generator = Draw(f"{case} {layout}"), torch.Generator().manual_seed(seed)
        inputs = make_inputs(config, layout, seed)
        inputs |= other_inputs(original.model, inputs, draw, generator)
        if draw.random() < 0.3:
            inputs |= label_padding(inputs, generator)
        gradients = has_loss(inputs) and tally.gradients
        try:
            wanted = original.run(inputs, gradients=gradients)
        except Exception as error:
            tally.without_original[f"{head}: {type(error).__name__}: {error}"[:110]] += 1
            continue
        if any(tensor.numel() == 0 and not name.startswith("mems") for name, tensor in wanted.items()):
            tally.without_original[f"{head}: results of no numbers"] += 1
            continue
        tally.cases += 1
        try:
            got = attend.forward(directory, inputs, gradients=gradients)
        except AttendFailed as error:
            tally.fail(f"{case} {layout}", fields, [str(error)], verbose)
            continue
        bad = [finding for finding in compare(wanted, got) if finding.failed]
        if bad:
            exact = exact or Original.load(directory, double_of(family))
            true = wanted | exact.run(inputs, gradients=gradients)
            bad = [f for f in compare(wanted, got, true) if f.failed and not is_rounding(f.name, wanted, got, true)]
        if bad:
            tally.fail(f"{case} {layout}", fields, [str(finding) for finding in bad], verbose)


def check_spelled(attend: Attend, directory: Path, case: str, fields: Fields, seed: int, tally: Tally, verbose: bool) -> None:
    """The same model as another version of transformers would have written it."""
    plain, draw = Original.load(directory), Draw(f"{case} spelled")
    config = plain.model.config
    inputs = make_inputs(config, layouts_of(config.model_type, config.architectures[0])[0], seed)
    gradients = has_loss(inputs) and tally.gradients
    with TemporaryDirectory() as folder:
        other = Path(folder)
        ways = respell(directory, other, draw)
        try:
            wanted = Original(Original.load(other).model, plain.names).run(inputs, gradients=gradients)
            again = Original(Original.load(other).model, plain.names).run(inputs, gradients=False)
            if any(not torch.equal(tensor, wanted[name]) for name, tensor in again.items()):
                raise RuntimeError("some tensors are drawn anew")
        except Exception as error:
            tally.without_original[f"{config.architectures[0]} spelled: {type(error).__name__}: {error}"[:110]] += 1
            return
        path, written = other / "config.json", (other / "config.json").read_text()
        newer = as_newer_config(json.loads(written)) if draw.random() < 0.5 else None
        if newer is not None:
            ways.append("newer")
            path.write_text(json.dumps(newer))
        case = f"{case} spelled {' '.join(ways)}"
        tally.cases += 1
        try:
            got = attend.forward(other, inputs, gradients=gradients)
        except AttendFailed as error:
            return tally.fail(case, fields, [str(error)], verbose)
        finally:
            path.write_text(written)
        bad = [finding for finding in compare(wanted, got) if finding.failed]
        if bad:
            exact = Original(Original.load(other, double_of(config.model_type)).model, plain.names)
            true = wanted | exact.run(inputs, gradients=gradients)
            bad = [f for f in compare(wanted, got, true) if f.failed and not is_rounding(f.name, wanted, got, true)]
        if bad:
            tally.fail(case, fields, [str(finding) for finding in bad], verbose)


def check_generate(attend: Attend, directory: Path, case: str, fields: Fields, seed: int, tally: Tally, verbose: bool) -> None:
    original = load_generator(directory, torch.float32)
    config = original.model.config
    if config.model_type == "phi3" and config.rope_scaling and config.original_max_position_embeddings < 20:
        return  # its original reads a text again that crosses this length, and shows it later tokens
    draw = Draw(f"{case} generate")
    settings: dict[str, Any] = {"max_new_tokens": 8, "num_beams": draw.choice([1, 1, 3]), "do_sample": False}
    if config.pad_token_id is None:
        settings["pad_token_id"] = 0
    rows = draw.choice([1, 3])
    prompts = make_prompts(config, seed, 1 if grows(config) else rows)  # the original rotates by the longest one
    try:
        wanted = original_generate(original.model, prompts, settings)
        exact = original_generate(load_generator(directory, double_of(config.model_type)).model, prompts, settings)
    except Exception as error:
        tally.without_original[f"{config.architectures[0]} generate: {type(error).__name__}: {error}"[:110]] += 1
        return
    if not torch.equal(wanted["sequences"], exact["sequences"]):
        return  # two candidates within rounding of each other
    tally.cases += 1
    try:
        got = attend.generate(directory, prompts, settings)
    except AttendFailed as error:
        return tally.fail(f"{case} generate", fields, [str(error)], verbose)
    if not torch.equal(got["sequences"], wanted["sequences"]):
        return tally.fail(f"{case} generate", fields, [f"ids: {got['sequences'].tolist()} for {wanted['sequences'].tolist()}"], verbose)
    if "sequences_scores" in wanted and relative_error(got["sequences_scores"], wanted["sequences_scores"]) > SCORE_LIMIT:
        tally.fail(f"{case} generate", fields, ["scores differ"], verbose)


def check_sentences(attend: Attend, seeds: range, tally: Tally, verbose: bool) -> None:
    for family, head in BODIES.items():
        for seed in seeds:
            case, draw = f"{head} {seed} sentences", Draw(f"{head} {seed}")
            with TemporaryDirectory() as folder:
                directory = Path(folder)
                try:
                    fields = make_configuration(family, head, seed, directory)
                    config = json.loads((directory / "config.json").read_text())
                    width = next(config[name] for name in ("hidden_size", "d_model", "n_embd", "dim") if name in config)
                    modules = make_modules(width, draw, seed)
                    save_modules(directory, modules)
                    save_tokenizer(directory, family, config["vocab_size"])
                    texts = [" ".join(draw.choices(WORDS, k=draw.randint(1, 30))) for _ in range(4)]
                    vectors = expected_of_texts(directory, texts)
                    layout = draw.choice(["right", "left", "plain"])
                    inputs, wanted = expected(directory, modules, seed, layout if family != "t5" else "right")
                except Exception as error:
                    tally.without_original[f"{case}: {type(error).__name__}: {error}"[:110]] += 1
                    continue
                tally.cases += 2
                try:
                    got = attend.forward(directory, inputs, states=False)["sentence_embedding"]
                    if got.shape != wanted.shape or relative_error(got, wanted) > VALUE_LIMIT:
                        tally.fail(f"{case} forward", fields, [f"sentence_embedding: {relative_error(got, wanted):.1e}"], verbose)
                except (AttendFailed, KeyError, RuntimeError) as error:
                    tally.fail(f"{case} forward", fields, [str(error)], verbose)
                try:
                    got = attend.embed(directory, texts)
                    differs = got.shape != vectors.shape or relative_error(got, vectors) > VALUE_LIMIT
                    if differs and got.shape == vectors.shape:  # unless ours are nearer to the exact values
                        true = expected_of_texts(directory, texts, double_of(family))
                        differs = relative_error(got.double(), true) > min(VALUE_LIMIT, relative_error(vectors.double(), true))
                    if differs:
                        tally.fail(f"{case} embed", fields, [f"embed: {relative_error(got, vectors):.1e}"], verbose)
                except (AttendFailed, RuntimeError) as error:
                    tally.fail(f"{case} embed", fields, [str(error)], verbose)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True)
    parser.add_argument("--family", choices=CLASSES, action="append")
    parser.add_argument("--head", help="a part of its name")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--without-generate", action="store_true")
    parser.add_argument("--without-gradients", action="store_true", help="for a build that does not train")
    parser.add_argument("-v", "--verbose", action="store_true", help="every tensor, and the fields")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    attend, tally = Attend(options.attend.resolve()), Tally(gradients=not options.without_gradients)
    for family in options.family or CLASSES:
        for head in heads_of(family):
            if options.head and options.head not in head:
                continue
            for seed in range(options.first_seed, options.first_seed + options.seeds):
                case = f"{head} {seed}"
                with TemporaryDirectory() as folder:
                    directory = Path(folder)
                    try:
                        fields = make_configuration(family, head, seed, directory)
                        Original.load(directory)
                    except Exception as error:
                        tally.without_original[f"{head}: {type(error).__name__}: {error}"[:110]] += 1
                        continue
                    check_forward(attend, directory, case, fields, seed, tally, options.verbose)
                    check_spelled(attend, directory, case, fields, seed, tally, options.verbose)
                    if head.endswith(GENERATES) and not options.without_generate:
                        check_generate(attend, directory, case, fields, seed, tally, options.verbose)
    if not options.family and not options.head:
        seeds = range(options.first_seed, options.first_seed + options.seeds)
        check_sentences(attend, seeds, tally, options.verbose)
    print()
    for title, counter in (("without an original", tally.without_original), ("failed", tally.failed)):
        print(f"{sum(counter.values())} {title}")
        for text, count in counter.most_common():
            print(f"    {count:4} {text}")
    print(f"{tally.cases} cases, {sum(tally.failed.values())} failed")
    return 1 if tally.failed or not tally.cases else 0


if __name__ == "__main__":
    sys.exit(main())
