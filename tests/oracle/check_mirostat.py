"""Mirostat (Basu et al. 2020, arXiv:2007.14966), both versions, against a plain implementation of the paper.

    python check_mirostat.py --attend build/release/attend

Whole texts that attend drew are read again with transformers: every token must be among those that mirostat
allows at its place, with the log-probability that attend reports. The first tokens of many texts must have the
probabilities of what is allowed (a chi-square test).
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from check_generation import make_generator
from common import Attend, Table, relative_error
from forward import Original

COLUMNS = [("case", 12), ("version", 7), ("tau", 4), ("texts", 6), ("tokens", 6), ("allowed", 16), ("wrong", 5),
           ("error", 8), ("chi2", 7), ("limit", 7)]  # fmt: skip
TAUS = (1.0, 2.0, 3.5)
LIKELIEST = 100


def allowed(probabilities: torch.Tensor, mu: float, version: int) -> int:
    """How many of these, sorted, may be drawn."""
    p, n = probabilities.tolist(), len(probabilities)
    if version == 2:
        return max(1, sum(-math.log2(one) <= mu for one in p))
    pairs = [(math.log((i + 2) / (i + 1)), math.log(p[i] / p[i + 1])) for i in range(min(LIKELIEST, n) - 1)]
    exponent = sum(t * b for t, b in pairs) / sum(t * t for t, _ in pairs)
    over = exponent - 1
    return max(1, min(n, int((over * 2**mu / (1 - n**-over)) ** (1 / exponent))))


def replay(logits: torch.Tensor, ids: list[int], version: int, tau: float, eta: float) -> tuple[list, list, int]:
    """The log-probability of each token, how many were allowed, and how many tokens were not."""
    mu, logs, counts, wrong = 2 * tau, [], [], 0
    for row, token in zip(logits.double(), ids):
        p, order = row.softmax(-1).sort(descending=True, stable=True)
        k = allowed(p, mu, version)
        place = (order == token).nonzero().item()
        wrong += place >= k
        logs.append((p[place] / p[:k].sum()).log().item())
        counts.append(k)
        mu -= eta * (-logs[-1] / math.log(2) - tau)
    return logs, counts, wrong


def generate(attend: Attend, directory: Path, prompt: torch.Tensor, settings: dict[str, Any], seed: int) -> Any:
    with TemporaryDirectory() as folder:
        given, made, config = (Path(folder) / name for name in ("in.safetensors", "out.safetensors", "config.json"))
        save_file({"input_ids": prompt}, given)
        config.write_text(json.dumps(settings))
        attend.run("generate", directory, "--inputs", given, "--outputs", made, "--generation-config", config,
                   "--seed", seed)  # fmt: skip
        return load_file(made)


def check(attend: Attend, table: Table, family: str, version: int, tau: float) -> None:
    with TemporaryDirectory() as folder:
        directory = Path(folder)
        name = make_generator(family, 4, directory)
        model = Original.load(directory, torch.float64).model
        texts, eta = 400, 0.3
        prompt = torch.randint(3, model.config.vocab_size - 1, (1, 5), generator=torch.Generator().manual_seed(1))
        settings = {"do_sample": True, "mirostat": version, "mirostat_tau": tau, "mirostat_eta": eta,
                    "num_return_sequences": texts, "max_new_tokens": 12, "output_scores": True, "eos_token_id": None,
                    "forced_eos_token_id": None, "pad_token_id": 0}  # fmt: skip
        made = generate(attend, directory, prompt, settings, 7)
        paired = model.config.is_encoder_decoder
        begin = 1 if paired else prompt.shape[1]
        sequences = made["sequences"]
        with torch.no_grad():
            inputs = {"input_ids": prompt.expand(texts, -1), "decoder_input_ids": sequences} if paired else {"input_ids": sequences}
            logits = model(**inputs).logits[:, begin - 1 : -1]
        error, counts, wrong = 0.0, [], 0
        for b in range(texts):
            logs, some, bad = replay(logits[b], sequences[b, begin:].tolist(), version, tau, eta)
            error = max(error, relative_error(made["transition_scores"][b], torch.tensor(logs)))
            counts, wrong = counts + some, wrong + bad
        chi2, limit = first_tokens(logits[0, 0], sequences[:, begin], version, tau)
        span = f"{min(counts)}-{max(counts)} ({len(set(counts))})"
        failed = wrong > 0 or not error < 1e-4 or chi2 > limit
        table.row([name, version, tau, texts, len(counts), span, wrong, f"{error:.1e}", f"{chi2:.1f}",
                   f"{limit:.1f}"], failed)  # fmt: skip


def first_tokens(row: torch.Tensor, drawn: torch.Tensor, version: int, tau: float) -> tuple[float, float]:
    """Chi-square of what was drawn, and the value that it exceeds once in 100,000 times (Wilson and Hilferty)."""
    p, order = row.softmax(-1).sort(descending=True, stable=True)
    k = allowed(p, 2 * tau, version)
    wanted = (p[:k] / p[:k].sum() * len(drawn)).tolist()
    found = [(drawn == token).sum().item() for token in order[:k]]
    chi2 = sum((f - w) ** 2 / w for f, w in zip(found, wanted))
    freedom = max(k - 1, 1)
    return chi2, freedom * (1 - 2 / (9 * freedom) + 4.265 * math.sqrt(2 / (9 * freedom))) ** 3


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    attend = Attend(parser.parse_args().attend.resolve())
    table = Table(COLUMNS)
    for family in ("gpt2", "marian"):
        for version in (1, 2):
            for tau in TAUS:
                check(attend, table, family, version, tau)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
