#!/usr/bin/env python3
"""Training with two processes of one thread, compared with one process of two threads and with PyTorch's DDP over Gloo.

    python benchmarks/compare_processes.py --attend build/release/attend --cases marian gpt2

All three train the same model on the same texts, with steps of the same number of examples (Attend's translation: of
tokens), and take turns. Models, data and PyTorch's loop are those of compare_training.py. What counts are real tokens.
"""

import argparse
import os
import socket
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import compare_training as training
from compare_training import CASES, CLIP, DECAY, RATE, WARM_UP, Case, Round


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def places(count: int) -> list[dict[str, str]]:
    """The environment of each process of a run, as torchrun would set it."""
    shared = {"WORLD_SIZE": count, "LOCAL_WORLD_SIZE": count, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": free_port()}
    return [{k: str(v) for k, v in shared.items() | {"RANK": rank, "LOCAL_RANK": rank}.items()} for rank in range(count)]


def run_attend(case: Case, model: Path, data: list[Path], steps: int, processes: int, threads: int, options) -> Round:
    """As training.run_attend, with several processes: the batch files of rank 0 tell the times, those of all the work."""
    from safetensors.torch import load_file

    size = training.step_size(case, data)
    with tempfile.TemporaryDirectory() as folder:
        first, last = (Path(folder) / f"step-{1 + WARM_UP + i}.0.safetensors" for i in (0, steps))
        command = training.attend_command(case, model, data, Path(folder), size, "float32", steps, threads, options.attend)
        if options.shard and processes > 1:
            command.append(f"--shard-{options.shard}")
        started = [
            subprocess.Popen(command, env=os.environ | place)
            for place in (places(processes) if processes > 1 else [{}])
        ]
        try:
            while not last.exists():
                for process in started:
                    if process.poll() is not None:
                        raise SystemExit(f"attend train ended with status {process.returncode} before its last step")
                time.sleep(0.02)
            peak = max(training.peak_memory(process.pid) for process in started)
        finally:
            for process in started:
                process.kill()
            for process in started:
                process.wait()
        seconds = (last.stat().st_mtime_ns - first.stat().st_mtime_ns) / 1e9
        batches = [
            load_file(path)
            for i in range(steps)
            for path in sorted(Path(folder).glob(f"step-{1 + WARM_UP + i}.0*.safetensors"))
        ]
    return training.measured(case, model, batches, seconds, peak)


def ddp_process(case: Case, model: Path, data: list[Path], steps: int, place: dict[str, str], results) -> None:
    os.environ.update(place)
    import torch
    import transformers as tf
    from torch import distributed

    torch.set_num_threads(1)
    torch.manual_seed(0)
    tf.logging.set_verbosity_error()
    distributed.init_process_group("gloo")
    rank, size = distributed.get_rank(), distributed.get_world_size()
    network = getattr(tf, case.kind).from_pretrained(model).train()
    network = torch.nn.parallel.DistributedDataParallel(network)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=DECAY, fused=True)
    examples, collate = training.torch_examples(case, model, data, case.batch * (WARM_UP + steps))
    share = case.batch // size
    batches = [collate(examples[i : i + share]) for i in range(rank * share, len(examples), case.batch)]
    del examples  # not part of the peak
    for i, batch in enumerate(batches):
        if i == WARM_UP:
            distributed.barrier()
            begin = time.perf_counter()
        network(**batch).loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        optimizer.zero_grad()
    distributed.barrier()
    seconds = time.perf_counter() - begin
    results.put(training.measured(case, model, batches[WARM_UP:], seconds, training.peak_memory("self")))


def run_ddp(case: Case, model: Path, data: list[Path], steps: int) -> Round:
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    started = [
        context.Process(target=ddp_process, args=(case, model, data, steps, place, results)) for place in places(2)
    ]
    for process in started:
        process.start()
    rounds = [results.get() for _ in started]
    for process in started:
        process.join()
    return replace(rounds[0], items=sum(r.items for r in rounds), seconds=max(r.seconds for r in rounds),
                   peak=max(r.peak for r in rounds))  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attend", default="build/release/attend")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=["marian", "gpt2"])
    parser.add_argument("--steps", type=int, default=6, help="that are timed in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shard", choices=["optimizer", "weights"], help="what two processes of Attend divide")
    options = parser.parse_args()
    print(f"| {'case':43} | 1 process, 2 threads | 2 processes, 1 thread | DDP, 2 processes | to one process | to DDP "
          "| memory of a process: one, of two, DDP's |\n|---|---:|---:|---:|---:|---:|---:|")  # fmt: skip
    for name in options.cases:
        case = CASES[name]
        with tempfile.TemporaryDirectory() as folder:
            model = training.make_model(case, Path(folder), options.attend)
            data = training.make_data(case, Path(folder), model, options.steps)
            shared = (case, model, data, options.steps)
            rounds = [
                (run_attend(*shared, 1, 2, options), run_attend(*shared, 2, 1, options), run_ddp(*shared))
                for _ in range(options.rounds)
            ]
        one, two, ddp = ([r.items / r.seconds for r in side] for side in zip(*rounds))
        peaks = " / ".join(f"{max(r.peak for r in side) / 1e6:.0f} MB" for side in zip(*rounds))
        ratio = [statistics.median(b / a for a, b in zip(side, two)) for side in (one, ddp)]
        speeds = " | ".join(f"{statistics.median(side):.0f} {case.unit}/s" for side in (one, two, ddp))
        print(f"| {case.name:43} | {speeds} | {ratio[0]:.2f} | {ratio[1]:.2f} | {peaks} |", flush=True)


if __name__ == "__main__":
    main()
