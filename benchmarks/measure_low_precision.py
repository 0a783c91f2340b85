#!/usr/bin/env python3
"""What weights in fewer bits cost and gain: speed, memory and how near the results stay.

    python benchmarks/measure_low_precision.py --attend build/release/attend --embedder all-MiniLM-L6-v2 \
        --texts sentences.txt [--pairs stsb-dev.tsv]

Makes a fresh GPT-2 small for the speed of decoding. Speeds of the formats take turns, and the best round counts.
Needs nothing but attend.
"""

import argparse
import json
import math
import os
import subprocess
import tempfile
from pathlib import Path

FORMATS = ["float32", "float16", "bfloat16", "int8", "int4"]


def run(command: list, text: str | None = None) -> tuple[str, int]:
    """What it printed, and bytes at its peak."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as given:
        if text is not None:
            given.write(text.encode())
            given.seek(0)
        process = subprocess.Popen([str(part) for part in command], stdout=output, stdin=given)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            raise SystemExit(f"{' '.join(map(str, command))} ended with status {os.waitstatus_to_exitcode(status)}")
        output.seek(0)
        return output.read().decode(), usage.ru_maxrss * 1024


def measure_speed(attend: Path, model: Path, rounds: int, *options) -> None:
    best, peak, unit = {}, {}, ""
    for _ in range(rounds):
        for weights in FORMATS:
            reply, bytes_used = run([attend, "bench", model, "--json", "--rounds", 5, "--weights", weights, *options])
            result = json.loads(reply)
            speed, unit = result["items"] / min(result["seconds_per_round"]), result["unit"]
            best[weights] = max(best.get(weights, 0), speed)
            peak[weights] = bytes_used
    for weights in FORMATS:
        print(f"| {model.name} {' '.join(map(str, options))} | {weights} | {best[weights]:.1f} {unit}/s | "
              f"{best[weights] / best['float32']:.2f} | {peak[weights] / 1e6:.0f} MB |", flush=True)  # fmt: skip


def vectors(attend: Path, model: Path, texts: list[str], weights: str) -> list[list[float]]:
    reply, _ = run([attend, "embed", model, "--json", "--quiet", "--weights", weights], "\n".join(texts) + "\n")
    return [json.loads(line)["embedding"] for line in reply.splitlines()]


def cosine(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))


def measure_vectors(attend: Path, model: Path, texts: list[str]) -> None:
    exact = vectors(attend, model, texts, "float32")
    for weights in FORMATS[1:]:
        found = vectors(attend, model, texts, weights)
        cosines = sorted(map(cosine, exact, found))
        pairs = [abs(cosine(exact[i], exact[i + 1]) - cosine(found[i], found[i + 1])) for i in range(len(texts) - 1)]
        print(f"{weights}: {len(texts)} vectors against float32: cosine {sum(cosines) / len(cosines):.6f} on average, "
              f"{cosines[0]:.6f} at worst; similarities of neighbours differ by {sum(pairs) / len(pairs):.6f}, at most "
              f"{max(pairs):.6f}", flush=True)  # fmt: skip


def ranks(values: list[float]) -> list[float]:
    """From 0 on; equal values share the middle of theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    found = [0.0] * len(values)
    begin = 0
    while begin < len(order):
        end = begin
        while end < len(order) and values[order[end]] == values[order[begin]]:
            end += 1
        for i in order[begin:end]:
            found[i] = (begin + end - 1) / 2
        begin = end
    return found


def correlation(a: list[float], b: list[float]) -> float:
    a = [x - sum(a) / len(a) for x in a]
    b = [x - sum(b) / len(b) for x in b]
    return cosine(a, b)


def measure_pairs(attend: Path, model: Path, file: Path) -> None:
    rows = [line.split("\t") for line in file.read_text().splitlines()]
    scores = ranks([float(row[0]) for row in rows])
    for weights in FORMATS:
        found = vectors(attend, model, [text for row in rows for text in row[1:3]], weights)
        cosines = [cosine(found[i], found[i + 1]) for i in range(0, len(found), 2)]
        print(f"{weights}: Spearman's correlation with {len(rows)} scores: {100 * correlation(scores, ranks(cosines)):.2f}",
              flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--attend", type=Path, required=True)
    parser.add_argument("--embedder", type=Path)
    parser.add_argument("--texts", type=Path, help="one a line")
    parser.add_argument("--pairs", type=Path, help="score, sentence, sentence in columns, for a correlation")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    print("| work | weights | speed | ratio | peak memory |\n|---|---|---:|---:|---:|")
    if arguments.embedder:
        for batch, length in [(32, 128), (32, 16), (1, 128), (1, 16)]:
            measure_speed(arguments.attend, arguments.embedder, arguments.rounds, "--batch", batch, "--length", length)
    with tempfile.TemporaryDirectory() as folder:
        gpt2 = Path(folder) / "gpt2"
        subprocess.run([arguments.attend, "init", "gpt2", gpt2, "--quiet"], check=True)
        for batch in [1, 4, 32]:
            measure_speed(arguments.attend, gpt2, arguments.rounds, "--work", "generate", "--batch", batch,
                          "--length", 32, "--new-tokens", 32)  # fmt: skip
        marian = Path(folder) / "marian"
        subprocess.run([arguments.attend, "init", "marian", marian, "--quiet", "--set", "preset=transformer-base"],
                       check=True)  # fmt: skip
        measure_speed(arguments.attend, marian, arguments.rounds, "--work", "translate", "--batch", 32, "--length", 30,
                      "--new-tokens", 40, "--beams", 4)  # fmt: skip
    if arguments.embedder and arguments.texts:
        measure_vectors(arguments.attend, arguments.embedder, arguments.texts.read_text().splitlines())
    if arguments.embedder and arguments.pairs:
        measure_pairs(arguments.attend, arguments.embedder, arguments.pairs)


if __name__ == "__main__":
    main()
