"""Writes tests/data/processors/goldens.json: what the original's logits processors make of rows of scores.

    python tests/oracle/make_processor_goldens.py

No two scores are equal: which of those comes first in torch's default sort depends on the processor of the
machine. Some are ruled out (-inf, null in the file). Every case has one or several processors; the original decides
their order.
"""

import json
import math
import random
from pathlib import Path

import torch
from transformers import GenerationConfig, GenerationMixin, PretrainedConfig

from original_generate import with_watermark

VOCABULARY = 24
SAMPLING = [
    {"temperature": 0.7},
    {"top_k": 5},
    {"top_p": 0.8},
    {"min_p": 0.15},
    {"min_p": 1.0},
    {"typical_p": 0.3},
    {"typical_p": 0.9},
    {"epsilon_cutoff": 0.03},
    {"epsilon_cutoff": 0.9},
    {"eta_cutoff": 0.02},
    {"eta_cutoff": 0.5},
    {"temperature": 1.4, "top_k": 12, "top_p": 0.95, "min_p": 0.05, "typical_p": 0.95, "eta_cutoff": 0.01},
]
PLAIN = [
    {"repetition_penalty": 1.3},
    {"encoder_repetition_penalty": 1.5},
    {"encoder_repetition_penalty": 0.7, "repetition_penalty": 1.2},
    {"no_repeat_ngram_size": 2},
    {"encoder_no_repeat_ngram_size": 1},
    {"encoder_no_repeat_ngram_size": 2},
    {"exponential_decay_length_penalty": [2, 1.4]},
    {"exponential_decay_length_penalty": [0, 0.8]},
    {"suppress_tokens": [3, 4, 7], "begin_suppress_tokens": [5, 6]},
    {"begin_suppress_tokens": [5, 6], "forced_bos_token_id": 9},
    {"forced_eos_token_id": [2], "remove_invalid_values": True},
    {"min_new_tokens": 4, "remove_invalid_values": True, "renormalize_logits": True},
]

WATERMARKS = [
    {"bias": 1.25},
    {"greenlist_ratio": 0.6, "hashing_key": 2**62 + 9, "context_width": 4},
    {"seeding_scheme": "selfhash"},
    {"seeding_scheme": "selfhash", "hashing_key": -(2**61) - 3, "context_width": 3},
    {"ngram_len": 3, "keys": [654, 400, 836]},
    {"ngram_len": 2, "keys": [-(2**61), 5], "sampling_table_size": 77, "sampling_table_seed": 3},
    {"ngram_len": 3, "keys": [9], "context_history_size": 2, "skip_first_ngram_calls": True},
    {"ngram_len": 2, "keys": [1, 2], "debug_mode": True},
]


class Writer(GenerationMixin):
    def __init__(self, vocabulary: int):
        self.config = PretrainedConfig(vocab_size=vocabulary)


def process(settings: dict, tokens: list[int], prompt: int, source: list[int], scores: list[float]) -> list[float]:
    config = GenerationConfig(**with_watermark(settings))
    config.max_length = prompt + settings["max_new_tokens"]
    config._eos_token_tensor = torch.tensor(settings["eos_token_id"])
    # The processors for one text and one beam, from the method that generate() uses.
    processors = Writer(len(scores))._get_logits_processor(
        config, input_ids_seq_length=prompt, encoder_input_ids=torch.tensor([source]), device="cpu"
    )
    for length in range(prompt, len(tokens)):  # SynthID remembers earlier contexts
        processors(torch.tensor([tokens[:length]]), torch.tensor([scores]))
    return processors(torch.tensor([tokens]), torch.tensor([scores]))[0].tolist()


def make_case(pick: random.Random, settings: dict, vocabulary: int = VOCABULARY) -> dict:
    ids = range(1, vocabulary)
    settings = {"eos_token_id": pick.sample(ids, pick.choice([1, 2])), "max_new_tokens": 6} | settings
    if pick.random() < 0.5 or "sequence_bias" in settings:
        words = [pick.choices(ids, k=length) for length in (1, 1, 2, 3)]
        settings["sequence_bias"] = [[word, pick.choice([-2.53, 0.77, 1.51])] for word in words]
    prompt = pick.randint(1, 5)
    tokens = pick.choices(range(1, 8), k=prompt + pick.randint(0, 5))
    source = pick.choices(range(1, 8), k=pick.randint(1, 9))
    scores = [number / 8 for number in pick.sample(range(-40, 32), vocabulary)]
    for place in pick.sample(range(vocabulary), pick.choice([0, 0, 5, 20])):
        scores[place] = float("-inf")
    wanted = process(settings, tokens, prompt, source, scores)
    if any(math.isnan(number) for number in wanted):
        return make_case(pick, settings, vocabulary)  # the decay of an excluded end token: attend keeps it
                                                      # excluded
    case = {"settings": settings, "tokens": tokens, "prompt": prompt, "source": source}
    for name, numbers in (("scores", scores), ("wanted", wanted)):
        case[name] = [None if number == float("-inf") else number for number in numbers]
    return case


def make_cases() -> list[dict]:
    pick = random.Random(1)
    sampling = [{"do_sample": True, "top_k": 0} | settings for settings in SAMPLING]
    # With beams more tokens are kept; their number depends on the end tokens.
    beams = [settings | {"num_beams": 3} for settings in sampling]
    both = [plain | warped for plain, warped in zip(PLAIN, reversed(sampling))]
    cases = [make_case(pick, settings) for settings in 3 * (PLAIN + sampling + beams + both)]
    watermarks = [{"watermarking_config": watermark} for watermark in WATERMARKS]
    sampled = [watermark | {"do_sample": True, "top_k": 5, "renormalize_logits": True} for watermark in watermarks]
    return cases + [make_case(pick, settings, 48) for settings in 3 * (watermarks + sampled)]  # one of them
                                                                                               # checks 40
                                                                                               # tokens


def main() -> None:
    path = Path(__file__).parents[1] / "data" / "processors" / "goldens.json"
    path.parent.mkdir(exist_ok=True)
    lines = [json.dumps(case) for case in make_cases()]
    path.write_text("[\n" + ",\n".join(lines) + "\n]\n")
    print(f"{len(lines)} cases, {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
