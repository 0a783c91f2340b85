#!/usr/bin/env python3
"""Draws the losses of trainings that follow each other, from the metrics.jsonl that `attend train` leaves.

    python benchmarks/plot_training.py OUTPUT/both OUTPUT/diverse OUTPUT/en-de --output curve.svg

Each argument is the folder of one training; they are drawn one behind the other, by minutes of training.
Needs matplotlib.
"""
import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "attend"  # the same file from the same numbers
from matplotlib import pyplot


def series(folder, name, start):
    """([minutes], [values]) of one figure, and the minutes at which the training ended."""
    points, seconds = [], 0.0
    for line in (folder / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        if "train/seconds" in record:
            seconds = record["train/seconds"]
        if name in record:  # a validation carries no time: that of the last training step before it
            points.append((start + seconds / 60, record[name]))
    return points, start + seconds / 60


def smoothed(points, memory=0.98):
    mean, result = None, []
    for x, y in points:
        mean = y if mean is None else memory * mean + (1 - memory) * y
        result.append((x, mean))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    arguments = parser.parse_args()

    figure, axes = pyplot.subplots(figsize=(8, 3.6), layout="constrained")
    start = 0.0
    for index, run in enumerate(arguments.runs):
        training, end = series(run, "train/loss", start)
        validation, _ = series(run, "validation/loss", start)
        first = index == 0  # one entry of the legend for all runs
        axes.plot(*zip(*smoothed(training)), color="tab:blue", linewidth=0.8,
                  label="training, smoothed (with label smoothing and dropout)" if first else None)
        axes.plot(*zip(*validation), color="tab:orange", marker="o", markersize=2.5,
                  label="validation" if first else None)
        if index > 0:
            axes.axvline(start, color="grey", linewidth=0.6, linestyle=":")
        axes.text(start, 0.98, f" {run.name}", transform=axes.get_xaxis_transform(), va="top", fontsize=8)
        start = end
    axes.set(xlabel="minutes of training", ylabel="loss in nats a token", ylim=(1, 7), xlim=(0, start))
    axes.legend(fontsize=8, loc="center right")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(arguments.output, metadata={"Date": None})


if __name__ == "__main__":
    main()
