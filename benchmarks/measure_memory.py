#!/usr/bin/env python3
"""How memory and time grow with the length of a text, and what loading a model takes.

    python benchmarks/measure_memory.py --attend build/release/attend

Makes fresh models in a temporary folder and runs each in a process of its own, whose peak of resident memory the
system reports. Needs nothing but attend.
"""

import argparse
import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

LENGTHS = [1024, 2048, 4096, 8192, 16384]
POSITIONS = "16384"
BODIES = {  # 4 layers of 256, so that most of the memory is what a text needs
    "bert, full": ["bert", "hidden_size=256", "num_hidden_layers=4", "num_attention_heads=4", "intermediate_size=1024",
                   f"max_position_embeddings={POSITIONS}"],
    "big_bird, block-sparse": ["big_bird", "hidden_size=256", "num_hidden_layers=4", "num_attention_heads=4",
                               "intermediate_size=1024", f"max_position_embeddings={POSITIONS}"],
    "gpt2, causal": ["gpt2", "n_embd=256", "n_layer=4", "n_head=4", f"n_positions={POSITIONS}"],
    "attend-gpt3, every second layer local": ["attend-gpt3", "n_embd=256", "n_layer=4", "n_head=4",
                                              f"n_positions={POSITIONS}", "window_size=256"],
    "gpt_neo, local": ["gpt_neo", "hidden_size=256", "num_layers=4", "num_heads=4", "window_size=256",
                       'attention_types=[[["local"],4]]', f"max_position_embeddings={POSITIONS}"],
}  # fmt: skip
WHOLE = {"bert": 440, "gpt2": 498}  # presets of about 500 MB


def make(attend: Path, directory: Path, family: str, *fields: str) -> None:
    settings = [part for field in fields for part in ("--set", field)]
    subprocess.run([attend, "init", family, directory, "--quiet", *settings], check=True)


def run(command: list) -> tuple[float, int, str]:
    """Seconds from start to end, bytes at the peak, and what it printed."""
    with tempfile.TemporaryFile() as output:
        begin = time.perf_counter()
        process = subprocess.Popen([str(part) for part in command], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        if status != 0:
            raise SystemExit(f"{command[1]} ended with status {os.waitstatus_to_exitcode(status)}")
        output.seek(0)
        return seconds, usage.ru_maxrss * 1024, output.read().decode()


def encode(attend: Path, directory: Path, length: int, threads: int) -> tuple[float, int, float]:
    """Seconds of the process, bytes at its peak, seconds of one pass."""
    seconds, peak, reply = run([attend, "bench", directory, "--work", "encode", "--length", length, "--rounds", 1,
                                "--threads", threads, "--json"])  # fmt: skip
    return seconds, peak, json.loads(reply)["seconds_per_round"][0]


def measure_lengths(attend: Path, folder: Path, threads: int, longest: int) -> None:
    lengths = [length for length in LENGTHS if length <= longest]
    print("One text, one pass: MB above those of a text of one token, and seconds\n")
    print("| attention | " + " | ".join(f"{length} tokens" for length in lengths) + " |")
    print("|---|" + "---:|" * len(lengths))
    for name, (family, *fields) in BODIES.items():
        directory = folder / name.split(",")[0]
        make(attend, directory, family, "vocab_size=1000", *fields)
        least = encode(attend, directory, 1, threads)[1]
        cells = []
        for length in lengths:
            _, peak, seconds = encode(attend, directory, length, threads)
            cells.append(f"{(peak - least) / 1e6:.0f} MB, {seconds:.2f} s")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def measure_loading(attend: Path, folder: Path, threads: int) -> None:
    print("\nLoading from a warm disk, until one token has been read\n")
    print("| model | weights | time | memory at the peak |")
    print("|---|---:|---:|---:|")
    for family in WHOLE:
        directory = folder / f"whole-{family}"
        make(attend, directory, family)
        weights = (directory / "model.safetensors").stat().st_size
        (directory / "model.safetensors").read_bytes()  # warms the disk
        runs = [encode(attend, directory, 1, threads) for _ in range(5)]
        seconds, peak = statistics.median(r[0] - 2 * r[2] for r in runs), max(r[1] for r in runs)
        print(f"| {family} | {weights / 1e6:.0f} MB | {seconds:.2f} s | {peak / 1e6:.0f} MB |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attend", type=Path, default=Path("build/release/attend"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--longest", type=int, default=LENGTHS[-1], help="leave out longer texts")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        measure_lengths(options.attend.resolve(), Path(folder), options.threads, options.longest)
        measure_loading(options.attend.resolve(), Path(folder), options.threads)


if __name__ == "__main__":
    main()
