"""attend generate against the original's generate(): greedy and beam search with every processor, ids exactly,
scores closely.

    python check_generation.py --attend build/release/attend
    python check_generation.py --attend build/release/attend --family marian --seeds 5 --beams 48
    python check_generation.py --self-test

The weights are such that sequences vary and end by themselves now and then. Where the original in float64
chooses other tokens than in float32 (two candidates within rounding of each other), other prompts are drawn.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Iterator

import torch
from transformers import PretrainedConfig

from common import Attend, AttendFailed, Runner, Table, Tensors, limit_of, relative_error
from float64 import double_of
from forward import Original
from model_cases import SIZES, Size
from models import make_model
from original_generate import Settings, original_generate, prompt_length
from random_inputs import InputMaker
from stand_in import Spoiled, StandIn

COLUMNS = [("case", 18), ("seed", 4), ("rows", 4), ("new", 4), ("ended", 5), ("tokens", 6), ("score", 8),
           ("settings", 110)]  # fmt: skip
BEAMS = [2, 3, 4, 5]
LENGTH_PENALTIES = [0.6, 1.0, 2.0, -0.5]
EARLY_STOPPING = [True, False, "never"]
REMEMBERING = ("xlnet", "transfo-xl")
REREAD = ("xlm", *REMEMBERING)  # texts without a KV cache
WITHOUT_CACHE = ("openai-gpt",)  # the original fails with guidance
MORE_PROMPTS = 10  # attempts with other prompts before the case counts as failed


# Cases to run in turn, and weights that keep a random model from repeating one token forever.
GENERATORS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "gpt2": (["gpt2", "gpt2-untied", "gpt2-inverse-layer"], {"embedding": 0.5, "gain": 3.0}),
    "marian": (
        ["marian", "marian-unequal", "marian-unscaled", "marian-separate"],
        {"embedding": 0.5, "gain": 0.5, "bias": 0.05, "mixing": True},
    ),
    "bert": (["bert-lmhead-model"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "roberta": (["roberta-causal-lm"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "electra": (["electra-causal-lm"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "openai-gpt": (["openai-gpt"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "ctrl": (["ctrl"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "gpt_neo": (["gpt-neo"], {"embedding": 0.5, "gain": 2.0}),
    "gptj": (["gptj", "gptj-all-rotated"], {"embedding": 0.5, "gain": 3.0}),
    **{
        family: (cases, {"embedding": 0.5, "gain": 2.0, "mixing": True})
        for family, cases in {
            "llama": ["llama", "llama-llama3", "llama-biases", "llama-yarn"], "mistral": ["mistral"], "qwen2": ["qwen2", "qwen2-windows"],
            "qwen3": ["qwen3"], "gemma": ["gemma"], "gemma2": ["gemma2"], "gemma3_text": ["gemma3"], "phi": ["phi", "phi-normed"],
            "smollm3": ["smollm3"], "granite": ["granite"], "olmo2": ["olmo2"], "olmo3": ["olmo3"],
            "mixtral": ["mixtral"], "qwen2_moe": ["qwen2-moe"], "qwen3_moe": ["qwen3-moe"], "olmoe": ["olmoe"], "gpt_oss": ["gpt-oss"],
            "gpt_neox": ["gpt-neox", "gpt-neox-one-by-one"], "stablelm": ["stablelm", "stablelm-parallel"],
            "bloom": ["bloom", "bloom-adds-to-normed"], "falcon": ["falcon", "falcon-grouped", "falcon-linear", "falcon-one-norm"],
            "mpt": ["mpt"], "starcoder2": ["starcoder2"], "cohere": ["cohere", "cohere-normed"],
        }.items()
    },
    "bart": (["bart", "bart-scaled"], {"embedding": 0.5, "gain": 0.5, "bias": 0.05, "mixing": True}),
    # The tied head makes hidden states small; larger embeddings compensate.
    "t5": (["t5-gated", "t5"], {"embedding": 1.0, "gain": 1.0, "mixing": True}),
    "xlnet": (["xlnet", "xlnet-without-memory", "xlnet-short-memory"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "xlm": (["xlm-with-lmhead-model", "xlm-causal"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    "transfo-xl": (["transfo-xl", "transfo-xl-same-length", "transfo-xl-one-table"],
                   {"embedding": 0.5, "gain": 1.0, "mixing": True}),
    "m2m_100": (["m2m-100"], {"embedding": 0.5, "gain": 0.5, "bias": 0.05, "mixing": True}),
    **{family: ([family], {"embedding": 0.5, "gain": 0.5, "bias": 0.05, "mixing": True})
       for family in ("mbart", "plbart", "pegasus", "blenderbot", "blenderbot-small")},
    **{family: ([family], {"embedding": 1.0, "gain": 1.0, "mixing": True}) for family in ("mt5", "umt5")},
    "opt": (["opt", "opt-350m"], {"embedding": 0.5, "gain": 2.0, "mixing": True}),
    **{family: ([family], {"embedding": 0.5, "gain": 2.0, "mixing": True}) for family in ("xglm", "biogpt", "codegen")},
    **{family: ([f"{family}-causal-lm"], {"embedding": 0.5, "gain": 2.0, "mixing": True})
       for family in ("camembert", "ernie", "megatron-bert", "roberta-prelayernorm", "xlm-roberta-xl", "roformer")},
}


def make_generator(family: str, seed: int, directory: Path, size: Size | None = None) -> str:
    """Writes a model and returns the name of its case."""
    cases, weights = GENERATORS[family]
    name = cases[seed % len(cases)]
    make_model(name, seed, directory, size or SIZES[seed % len(SIZES)], **weights)
    return name


def load_generator(directory: Path, dtype: torch.dtype) -> Original:
    """XLNet's own generate() makes float32 masks whatever the model is."""
    original = Original.load(directory, dtype)
    prepare = original.model.prepare_inputs_for_generation

    @functools.wraps(prepare)  # generate() looks at the arguments' names
    def cast(*arguments: Any, **more: Any) -> dict[str, Any]:
        return {
            name: value.to(dtype) if torch.is_tensor(value) and value.is_floating_point() else value
            for name, value in prepare(*arguments, **more).items()
        }

    original.model.prepare_inputs_for_generation = cast
    return original


def make_prompts(config: PretrainedConfig, seed: int, rows: int, longest: int = 9) -> Tensors:
    """Left padding for a decoder, right padding for an encoder; neither eos nor padding inside.

    In generate(), GPT's padding moves the positions of the text after it, and CTRL reads padding like text. So a
    prompt's result depends on its batch, while attend's is that of the prompt alone. XLM gives the same result after
    any padding, and Transformer-XL has no padding token. All prompts of these models have one length.
    """
    paired = config.is_encoder_decoder
    if config.model_type == "vision-encoder-decoder":
        images = InputMaker(config.encoder, torch.Generator().manual_seed(seed), "plain").images()["pixel_values"]
        return {"pixel_values": images[:rows].contiguous()}
    config = getattr(config, "encoder", config)  # the encoder of a pair of models
    layout = "right" if paired else "plain" if config.model_type in ("openai-gpt", "ctrl", "xlm", "transfo-xl") else "left"
    maker = InputMaker(config, torch.Generator().manual_seed(seed), layout)
    mask = maker.mask(rows, longest, maker.layout)
    ids = maker.integers(2, config.vocab_size - 1, tuple(mask.shape))
    ids = ids.masked_fill(ids == (config.pad_token_id or 0), 3)
    inputs = {"input_ids": ids.masked_fill(mask == 0, config.pad_token_id or 0), "attention_mask": mask}
    known = config.model_type != "transfo-xl"  # which does not take masks
    return inputs if rows > 1 and known else {"input_ids": ids}  # one row alone: no mask


def written_before(config: PretrainedConfig, seed: int, rows: int) -> torch.Tensor:
    """One to three tokens for each row, with the start token in front or without it."""
    generator = torch.Generator().manual_seed(seed)
    length = int(torch.randint(1, 4, (), generator=generator))
    start = config.decoder_start_token_id
    ids = torch.randint(2, config.vocab_size - 1, (rows, length), generator=generator)
    ids = ids.masked_fill(ids == start, 3 if start != 3 else 4)
    return torch.cat([torch.full((rows, 1), start), ids], 1) if seed % 2 else ids


def negative_prompts(config: PretrainedConfig, seed: int, rows: int) -> torch.Tensor:
    """Of one length: in the original padding there moves positions."""
    generator = torch.Generator().manual_seed(seed)
    length = int(torch.randint(1, 7, (), generator=generator))
    return torch.randint(2, config.vocab_size - 1, (rows, length), generator=generator)


def all_settings(config: PretrainedConfig, seed: int, beams: int) -> Iterator[Settings]:
    """Greedy search in its variations, then `beams` of the combinations of beam settings."""
    pick = random.Random(seed)
    ids = range(2, config.vocab_size - 1)
    padding = {} if config.pad_token_id is not None else {"pad_token_id": 0}  # GPT-2 has no padding token
    own = [] if config.eos_token_id is None else [config.eos_token_id]
    several = {"eos_token_id": [*own, *pick.sample(ids, config.vocab_size // 15)]}
    processors: list[Settings] = [
        {"repetition_penalty": 1.3},
        {"no_repeat_ngram_size": 2},
        {"bad_words_ids": [pick.sample(ids, 1), pick.sample(ids, 1), pick.sample(ids, 2), pick.sample(ids, 2)]},
        several,
    ]
    if config.model_type not in ("xlnet", "transfo-xl"):  # their maximum is -1 tokens
        yield {}  # the default: 20 new tokens
    yield {"max_new_tokens": 20, **padding}
    yield {"max_length": 17, **padding}
    yield {"max_new_tokens": 15, "min_new_tokens": 9, **several}  # padded with the first eos
    yield {"max_new_tokens": 15, "min_length": 12, **several, **padding}
    for processor in processors:
        yield {"max_new_tokens": 18, **processor, **padding}
    combinations = list(itertools.product(BEAMS, LENGTH_PENALTIES, EARLY_STOPPING))
    for count, penalty, stopping in pick.sample(combinations, min(beams, len(combinations))):
        settings: Settings = {
            "num_beams": count,
            "length_penalty": penalty,
            "early_stopping": stopping,
            **padding,
            **several,
        }
        settings |= {"max_new_tokens": pick.choice([1, 6, 14, 20, 20]), "num_return_sequences": pick.randint(1, count)}
        if pick.random() < 0.3:
            settings["min_new_tokens"] = pick.randint(1, settings["max_new_tokens"])
        if pick.random() < 0.4:
            settings |= pick.choice(processors)
        yield settings


def special_settings(config: PretrainedConfig, seed: int) -> Iterator[Settings]:
    """Every processor that greedy search knows, alone and together, and some of them with beams."""
    pick = random.Random(seed)
    ids = range(2, config.vocab_size - 1)
    padding = {} if config.pad_token_id is not None else {"pad_token_id": 0}
    own = [] if config.eos_token_id is None else [config.eos_token_id]
    several = {"eos_token_id": [*own, *pick.sample(ids, config.vocab_size // 15)]}
    decaying = several if getattr(config, "forced_eos_token_id", None) is None else {}
    words = [pick.choices(ids, k=length) for length in (1, 1, 1, 2, 2, 3)]
    processors: list[Settings] = [
        {"sequence_bias": [[word, pick.choice([-4.0, 1.5, 6.0])] for word in words]},
        {"encoder_no_repeat_ngram_size": pick.choice([1, 2])},
        {"exponential_decay_length_penalty": [pick.randint(5, 9), pick.choice([1.05, 1.5])], **decaying},
        {"suppress_tokens": pick.sample(ids, 5), "begin_suppress_tokens": pick.sample(ids, 5)},
        {"forced_bos_token_id": pick.choice(ids), "begin_suppress_tokens": pick.sample(ids, 9)},
        {"remove_invalid_values": True, "renormalize_logits": True, "min_new_tokens": 4, **several},
    ]
    length = {"max_new_tokens": 16, **padding}
    # With beams the original uses the tokens of one row's source for another row.
    greedy: list[Settings] = [{"encoder_repetition_penalty": 1.4}, {"encoder_repetition_penalty": 0.6}]
    for processor in processors + greedy:
        yield length | processor
    together: Settings = {}
    for processor in pick.sample(processors, 3):
        together |= processor
    if "encoder_no_repeat_ngram_size" in together:  # it excludes end tokens, which the decay then turns into
                                                    # NaN
        together.pop("exponential_decay_length_penalty", None)
    yield length | together
    yield length | several | {"prompt_lookup_num_tokens": pick.randint(1, 6)}
    yield length | {"prompt_lookup_num_tokens": 4, "no_repeat_ngram_size": 3, "output_scores": True}
    yield length | several | {"output_scores": True, "repetition_penalty": 1.2}
    yield length | several | {"output_scores": True, "num_beams": 3, "num_return_sequences": 2}
    # In the original, the decay turns excluded end tokens (here by a forced token) into NaN.
    sound = [p for p in processors if not ("exponential_decay_length_penalty" in p and not decaying)]
    for watermark in watermarks(pick):
        yield length | several | {"watermarking_config": watermark} | pick.choice([{}, *sound])
    yield length | several | {"watermarking_config": {"bias": 1.5}, "num_beams": 3, "renormalize_logits": True}
    guided = not config.is_encoder_decoder and config.model_type not in (*REREAD, *WITHOUT_CACHE)
    for scale in (1.5, 0.0, -0.7, 3.0) if guided else ():
        yield length | several | {"guidance_scale": scale} | pick.choice([{}, *sound])
    for groups, size in ((2, 1), (2, 2), (3, 2)):
        settings: Settings = {"num_beams": groups * size, "num_beam_groups": groups}
        settings |= {"diversity_penalty": pick.uniform(0.2, 2)}
        settings |= {"early_stopping": pick.choice(EARLY_STOPPING), "length_penalty": pick.choice(LENGTH_PENALTIES)}
        settings |= {"num_return_sequences": pick.randint(1, groups * size)}
        yield length | several | settings
        yield length | several | settings | pick.choice(sound)
    remembers = config.model_type in REMEMBERING  # a token of the prompt differently from a generated one
    for beams in () if remembers else (1, 1, pick.choice(BEAMS)):
        settings = {"return_alternatives": True, "num_return_sequences": pick.randint(2, 7), "num_beams": beams}
        yield length | several | settings | pick.choice([{}, {"repetition_penalty": 1.3}])
    if config.model_type not in REREAD:
        yield length | several | {"output_attentions": True, "output_hidden_states": True}
        # M2M-100 gives padding within a text no position if the text is read again, as contrastive_search.py
        # does, but a position after cached tokens. So it must not generate padding.
        no_padding = {"bad_words_ids": [[config.pad_token_id]]} if config.model_type == "m2m_100" else {}
        for alpha, k in ((0.6, 4), (0.3, 2), (0.9, 7)):
            yield length | several | {"penalty_alpha": alpha, "top_k": k} | no_padding
        scored = length | {"penalty_alpha": 0.6, "top_k": 5, "output_scores": True}
        yield scored | pick.choice(processors) | no_padding
    yield from constrained_settings(ids, pick, length, several, sound)
    for processor in processors:
        yield length | processor | {"num_beams": pick.choice(BEAMS), "early_stopping": pick.choice(EARLY_STOPPING)}


def watermarks(pick: random.Random) -> list[Settings]:
    """Lists of green tokens by either scheme, and SynthID's tournaments."""
    large = pick.choice([-1, 1]) * pick.randrange(2**61, 2**63)
    return [
        {"bias": pick.uniform(1, 4)},
        {"greenlist_ratio": pick.uniform(0.1, 0.9), "hashing_key": large, "context_width": pick.randint(1, 3)},
        {"bias": pick.uniform(1, 4), "seeding_scheme": "selfhash", "context_width": pick.randint(1, 4)},
        {"hashing_key": large, "seeding_scheme": "selfhash"},
        {"ngram_len": pick.randint(2, 5), "keys": pick.sample(range(1000), pick.randint(1, 9))},
        {"ngram_len": 2, "keys": [large, -5], "sampling_table_size": 77, "sampling_table_seed": pick.randint(1, 99),
         "context_history_size": pick.randint(1, 6), "skip_first_ngram_calls": True},
    ]  # fmt: skip


def constrained_settings(
    ids: range, pick: random.Random, length: Settings, several: Settings, processors: list[Settings]
) -> Iterator[Settings]:
    """Words, phrases, choices between phrases that begin alike, and all of them together."""
    a, b, c, d, e = pick.sample(ids, 5)
    word, phrase = [[a]], [[b, c, d]]
    choice = [[[a, b], [a, c, b], [d]], [[e, a, b], [e, b]]]
    for words in (word, phrase, [[a], [b], [c, a]], choice, [*phrase, *choice, [e]], [[[a, b, c], [a, c]]]):
        settings = {"force_words_ids": words, "num_beams": pick.choice(BEAMS)}
        settings |= {"early_stopping": pick.choice(EARLY_STOPPING), "length_penalty": pick.choice(LENGTH_PENALTIES)}
        settings |= {"num_return_sequences": pick.randint(1, settings["num_beams"])}
        yield length | several | settings
        yield length | several | settings | pick.choice(processors)
    yield length | several | {"force_words_ids": [[a, b, c], [d, e]], "num_beams": 3, "max_new_tokens": 4}


def stable_case(float32: Original, float64: Original, settings: Settings, seed: int) -> tuple[Tensors, Tensors]:
    """Prompts, and what the original makes of them, where rounding does not decide."""
    rows = 1 + seed % 4
    config = float32.model.config
    for attempt in range(MORE_PROMPTS):
        inputs = make_prompts(config, 1000 * attempt + seed, rows)
        if config.is_encoder_decoder and seed % 3 == 0:
            inputs["decoder_input_ids"] = written_before(config, 1000 * attempt + seed, rows)
        if "guidance_scale" in settings and seed % 3:
            inputs["negative_prompt_ids"] = negative_prompts(config, 1000 * attempt + seed, rows)
        wanted = original_generate(float32.model, inputs, settings)
        try:
            more_exact = original_generate(float64.model, inputs, settings)
        except RuntimeError as error:
            if "without overflow" not in str(error):
                raise
            continue  # the lowest float64 instead of -inf, as a beam's score, which is float32
        if torch.equal(wanted["sequences"], more_exact["sequences"]):
            return inputs, wanted
    raise RuntimeError(f"no prompts found for which rounding does not decide: {settings}")


def differences(wanted: Tensors, got: Tensors) -> list[str]:
    found = [f"{name}: {'missing' if name in wanted else 'additional'}" for name in sorted(wanted.keys() ^ got.keys())]
    for name in sorted(wanted.keys() & got.keys()):
        ours, original = got[name], wanted[name]
        if ours.shape != original.shape or ours.dtype != original.dtype:
            found.append(f"{name}: {ours.dtype}{list(ours.shape)} for {original.dtype}{list(original.shape)}")
        elif name == "sequences":
            # Texts of probability zero (settings that no text fits) are ties, which torch's topk breaks in any order.
            scores = wanted.get("sequences_scores")
            possible = torch.isfinite(scores) if scores is not None else torch.ones(len(original), dtype=torch.bool)
            for row in ((ours != original).any(1) & possible).nonzero().flatten().tolist():
                found.append(f"row {row}: {ours[row].tolist()}\n{'for':>12} {original[row].tolist()}")
        elif relative_error(ours, original) > limit_of(name):
            found.append(f"{name}: {ours.tolist()} for {original.tolist()}")
    return found


def check_family(attend: Runner, family: str, seeds: range, beams: int) -> Table:
    table = Table(COLUMNS)
    for seed in seeds:
        with TemporaryDirectory() as folder:
            directory = Path(folder)
            name = make_generator(family, seed, directory)
            float32, float64 = load_generator(directory, torch.float32), load_generator(directory, double_of(family))
            config = float32.model.config
            settings_in_turn = itertools.chain(all_settings(config, seed, beams), special_settings(config, seed))
            for index, settings in enumerate(settings_in_turn):
                inputs, wanted = stable_case(float32, float64, settings, 100 * seed + index)
                try:
                    got = attend.generate(directory, inputs, settings)
                    found = differences(wanted, got)
                except AttendFailed as error:
                    got, found = {}, [str(error)]
                table.row([name, seed, *describe(float32, inputs, wanted, got, settings)], bool(found), found)
    return table


def describe(original: Original, inputs: Tensors, wanted: Tensors, got: Tensors, settings: Settings) -> list[Any]:
    """Cells that show that the case is worth its while: how many rows ended, how many different tokens."""
    new = wanted["sequences"][:, prompt_length(original.model, inputs) :]
    eos = settings.get("eos_token_id", original.model.generation_config.eos_token_id)
    ended = torch.isin(new[:, :-1], torch.tensor([] if eos is None else eos)).any(1).sum().item()
    ours, wanted_scores = got.get("sequences_scores"), wanted.get("sequences_scores")
    error = "-"
    if ours is not None and wanted_scores is not None and ours.shape == wanted_scores.shape:
        error = f"{relative_error(ours, wanted_scores):.1e}"
    return [len(new), new.shape[1], ended, new.unique().numel(), error, json.dumps(settings)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--family", choices=sorted(GENERATORS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--beams", type=int, default=16, help="combinations of beam settings a seed, at most 48")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    families = [options.family] if options.family else list(GENERATORS)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    if options.self_test:
        passing = [check_family(StandIn(), family, seeds, options.beams) for family in families]
        failing = [check_family(Spoiled(), family, range(1), 8) for family in families]
        good = all(t.rows and not t.failures for t in passing) and all(t.rows == t.failures for t in failing)
        print("self-test", "passed" if good else "FAILED")
        return 0 if good else 1
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    attend = Attend(options.attend.resolve())
    return max(check_family(attend, family, seeds, options.beams).status() for family in families)


if __name__ == "__main__":
    sys.exit(main())
