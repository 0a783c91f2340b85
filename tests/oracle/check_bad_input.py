"""attend on broken files, tensors, texts and calls: a clear line and an exit status, never a crash or half a file.

    python check_bad_input.py --attend build/release/attend
    python check_bad_input.py --attend build/release/attend --only 'weights: offsets' --verbose
    python check_bad_input.py --attend build/release/attend --kind family --seed 3
    python check_bad_input.py --self-test

Of every case is asked: status 1 (2 where the call itself is wrong), one line on standard error that names the file
and the cause, nothing left where results go, within 20 seconds and 8 GiB of address space.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Callable, Iterator, Sequence

from bad_cases import BadCase, Workshop, sound
from bad_families import family_cases
from bad_files import config_cases, tokenizer_cases, weight_cases
from bad_values import call_cases, generation_cases, input_cases, text_cases, training_cases
from common import Table

SECONDS = 20
ADDRESS_SPACE = 8 << 30  # bytes
LONGEST_LINE = 600  # characters; a longer line is not clear
MAKERS: dict[str, Callable[..., Iterator[BadCase]]] = {
    "sound": sound,
    "weights": weight_cases,
    "config": config_cases,
    "family": family_cases,
    "tokenizer": tokenizer_cases,
    "inputs": input_cases,
    "generation": generation_cases,
    "text": text_cases,
    "training": training_cases,
    "call": call_cases,
}


def all_cases(workshop: Workshop, kinds: Sequence[str] = tuple(MAKERS), seed: int = 0) -> Iterator[BadCase]:
    for kind in kinds:
        drawn = (seed,) if kind == "family" else ()
        for case in MAKERS[kind](workshop, *drawn):
            yield replace(case, name=f"{kind}: {case.name}")


@dataclass(frozen=True)
class Outcome:
    status: int | None  # None: it took too long; negative: killed by a signal
    stdout: str
    stderr: str
    left: list[str]  # files left in the output folder


# A shell sets the limits, because that is cheaper than a forked Python.
LIMITED = 'ulimit -v "$1"; ulimit -c 0; ulimit -f "$2"; shift 2; exec "$@"'


def run(program: Path, case: BadCase, out: Path, environment: dict[str, str] | None = None) -> Outcome:
    shutil.rmtree(out)
    out.mkdir()
    blocks = "unlimited" if case.file_blocks is None else str(case.file_blocks)
    shell = ["sh", "-c", LIMITED, "sh", str(ADDRESS_SPACE >> 10), blocks]
    try:
        # SIGXFSZ stays ignored, Python's default: then a write over the limit fails, as on a full disk.
        done = subprocess.run([*shell, str(program), *map(str, case.arguments)], input=case.stdin, capture_output=True,
                              timeout=SECONDS, restore_signals=False, env=os.environ | (environment or {}))  # fmt: skip
        status, stdout, stderr = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired as error:
        status, stdout, stderr = None, b"", error.stderr or b""
    left = [str(path.relative_to(out)) for path in sorted(out.rglob("*")) if path.is_file()]
    return Outcome(status, stdout.decode(errors="replace"), stderr.decode(errors="replace"), left)


def names(text: str, name: str) -> bool:
    """A number must stand by itself: paths are full of digits."""
    pattern = rf"(?<![\w./]){name}(?![\w/])" if name.isdigit() and len(name) < 3 else re.escape(name)
    return re.search(pattern, text, re.IGNORECASE) is not None


def complaints(case: BadCase, outcome: Outcome) -> list[str]:
    if outcome.status is None:
        return [f"still running after {SECONDS} s"]
    if outcome.status < 0:
        return [f"killed by signal {-outcome.status}"]
    if outcome.status == 0 and (case.may_succeed or case.status == 0):
        return [] if case.answers in outcome.stdout else [f"does not answer {case.answers}"]
    found = []
    if outcome.status != case.status:
        found.append(f"exit status {outcome.status}, not {case.status}")
    lines = [line for line in outcome.stderr.splitlines() if line.strip()]
    if not lines or (len(lines) > 1 and case.status == 1):
        found.append(f"{len(lines)} lines on standard error, not one")
    if any(len(line) > LONGEST_LINE for line in lines):
        found.append(f"a line of {max(map(len, lines))} characters")
    found += [f"says nothing of {m}" for m in case.mentions if not any(names(outcome.stderr, n) for n in m.split("|"))]
    if case.answers not in outcome.stdout:
        found.append(f"does not answer {case.answers}")
    if outcome.left:
        found.append(f"left {', '.join(outcome.left)}")
    return found


def check(program: Path, kinds: Sequence[str], seed: int, only: str, verbose: bool) -> Table:
    with TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        table = Table([("case", 64), ("status", 6), ("seconds", 7)])
        for case in all_cases(workshop, kinds, seed):
            if not re.search(only, case.name):
                continue
            begin = time.monotonic()
            outcome = run(program, case, workshop.out)
            found = complaints(case, outcome)
            said = [f"said: {line[:LONGEST_LINE]}" for line in outcome.stderr.splitlines()[:4]]
            details = found + (said if found or verbose else [])
            table.row([case.name, outcome.status, f"{time.monotonic() - begin:.1f}"], bool(found), details)
    return table


# Programs in attend's place. ANSWER and STATUS are the correct output and exit status for the case.
GOOD = 'echo "$ANSWER" >&2\necho "$RESULT"\nexit $STATUS\n'
BAD = {
    "crashes": "kill -SEGV $$\n",
    "aborts": "kill -ABRT $$\n",
    "does nothing": "exit 0\n",
    "says nothing": "exit $STATUS\n",
    "says little": 'echo "something is wrong" >&2\nexit $STATUS\n',
    "talks": 'echo "$ANSWER" >&2\necho "and a stack trace" >&2\nexit $STATUS\n',
    "exits wrongly": 'echo "$ANSWER" >&2\nexit 7\n',
    "leaves a file": 'echo "$ANSWER" >&2\necho half > "$OUT/outputs.safetensors.tmp"\nexit $STATUS\n',
}


def self_test() -> int:
    with TemporaryDirectory() as folder:
        workshop = Workshop(Path(folder))
        cases = list(all_cases(workshop))
        names = [case.name for case in cases]
        assert len(set(names)) == len(names), "two cases of one name"
        good = True
        for title, script in {"good": GOOD, **BAD}.items():
            program = Path(folder) / "attend.sh"
            program.write_text("#!/bin/sh\n" + script)
            program.chmod(program.stat().st_mode | stat.S_IXUSR)
            passed = []
            for case in cases:
                answer = "attend: " + " ".join(mention.split("|")[0] for mention in case.mentions)
                environment = {"ANSWER": answer, "RESULT": case.answers, "STATUS": str(case.status),
                               "OUT": str(workshop.out)}  # fmt: skip
                if not complaints(case, run(program, case, workshop.out, environment)):
                    passed.append(case)
            expected = expected_to_pass(title, cases)
            wrong = {case.name for case in passed} ^ {case.name for case in expected}
            print(f"attend {title}: {len(passed)} of {len(cases)} pass, {len(expected)} should {sorted(wrong) or ''}")
            good &= not wrong
    print("self-test", "passed" if good else "FAILED")
    return 0 if good else 1


def expected_to_pass(title: str, cases: list[BadCase]) -> list[BadCase]:
    if title == "good":
        return cases
    if title in ("crashes", "aborts", "exits wrongly"):
        return []
    if title == "does nothing":
        return [c for c in cases if (c.status == 0 or c.may_succeed) and not c.answers]
    sound = [c for c in cases if c.status == 0 and not c.answers]
    if title == "says little":  # enough if nothing needs to be named
        return sound + [c for c in cases if c.status != 0 and not any(c.mentions)]
    if title == "talks":  # a wrong call may be answered in several lines
        return sound + [c for c in cases if c.status == 2]
    return sound


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--kind", choices=MAKERS, help="only these; without it all")
    parser.add_argument("--seed", type=int, default=0, help="of what is wrong with each field of each family")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose name this regular expression finds")
    parser.add_argument("--verbose", action="store_true", help="also print what attend said where all is well")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if options.attend is None:
        parser.error("--attend or --self-test is needed")
    kinds = [options.kind] if options.kind else list(MAKERS)
    return check(options.attend.resolve(), kinds, options.seed, options.only, options.verbose).status()


if __name__ == "__main__":
    sys.exit(main())
