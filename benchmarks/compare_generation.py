#!/usr/bin/env python3
"""Generation with Attend, transformers and CTranslate2 on this machine, in one run, float32.

    python benchmarks/compare_generation.py --attend build/release/attend --threads 2

As in compare.py, whose models these are: random weights in the shapes of real ones, the three take turns, and the
ratio of the medians counts. Every text gets the same number of new tokens. Needs ctranslate2 as well.
"""

import os
import statistics

import numpy as np
from compare import Case, begin, chosen, make_parser, ours, theirs, timed

CASES = [
    Case("Marian-base translate, beam 4, 1 x 30 + 30 tokens", "marian-base", "translate", [30], 30, 4),
    Case("Marian-base translate, beam 4, 32 x 30 + 30 tokens", "marian-base", "translate", [30] * 32, 30, 4),
    Case("Marian-base translate, greedy, 1 x 30 + 30 tokens", "marian-base", "translate", [30], 30),
    Case("Marian-base translate, greedy, 32 x 30 + 30 tokens", "marian-base", "translate", [30] * 32, 30),
    Case("GPT-2 small generate, 1 x 32 + 32 tokens", "gpt2", "generate", [32], 32),
    Case("GPT-2 small generate, 1 x 512 + 32 tokens", "gpt2", "generate", [512], 32),
    Case("GPT-2 small generate, 32 x 32 + 32 tokens", "gpt2", "generate", [32] * 32, 32),
]


class Vocabulary:
    """A tokenizer as far as CTranslate2's converter asks for one: token i is called "i"."""

    def __init__(self, config):
        self.tokens = [str(i) for i in range(config.vocab_size)]
        if config.pad_token_id is not None:
            self.tokens[config.pad_token_id] = "<pad>"  # which the converter takes out by this name
        self.bos_token, self.eos_token = (self.tokens[i or 0] for i in (config.bos_token_id, config.eos_token_id))
        self.unk_token = self.tokens[1]
        self.pad_token = "<pad>"
        self.additional_special_tokens, self.special_tokens_map = [], {}

    def get_vocab(self):
        return {token: i for i, token in enumerate(self.tokens)}

    def convert_ids_to_tokens(self, i):
        return self.tokens[i]


def converted(directory):
    """The directory of the same model in CTranslate2's format."""
    from ctranslate2.converters import TransformersConverter
    from transformers import AutoConfig

    class Converter(TransformersConverter):
        def load_tokenizer(self, *args, **kwargs):
            return Vocabulary(AutoConfig.from_pretrained(directory))

    target = directory + "-ctranslate2"
    if not os.path.exists(target):
        Converter(directory).convert(target)
    return target


def ctranslate2s(case, directory, threads):
    """A function that does one round of the case with CTranslate2."""
    import ctranslate2

    kind = ctranslate2.Translator if case.work == "translate" else ctranslate2.Generator
    model = kind(converted(directory), compute_type="float32", inter_threads=1, intra_threads=threads)
    rng = np.random.default_rng(1)
    texts = [[str(i) for i in rng.integers(1000, 9999, length)] for length in case.lengths]
    tokens = case.new_tokens
    if case.work == "translate":
        return lambda: model.translate_batch(texts, beam_size=case.beams, min_decoding_length=tokens,
                                             max_decoding_length=tokens)  # fmt: skip
    return lambda: model.generate_batch(texts, beam_size=case.beams, min_length=tokens, max_length=tokens,
                                        include_prompt_in_result=False)  # fmt: skip


def main():
    args = begin(make_parser(__doc__))
    print(f"| {'case':52} | transformers | CTranslate2 | attend | against transformers | against CTranslate2 |")
    print(f"|{'-' * 54}|---:|---:|---:|---:|---:|")
    for case, directory in chosen(CASES, args):
        rounds = [theirs(case, directory), ctranslate2s(case, directory, args.threads)]
        for round_ in rounds:
            round_()
        times = [[*map(timed, rounds), ours(case, directory, args)] for _ in range(args.rounds)]
        python, c, attend = (statistics.median(column) for column in zip(*times))
        print(f"| {case.name:52} | {python * 1e3:.1f} ms | {c * 1e3:.1f} ms | {attend * 1e3:.1f} ms "
              f"| {python / attend:.2f} | {c / attend:.2f} |", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
