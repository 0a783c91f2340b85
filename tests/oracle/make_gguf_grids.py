"""Writes src/sources/gguf/gguf_grids.h: the grids of GGUF's IQ types, which are part of these formats, as the package gguf has them.

    python tests/oracle/make_gguf_grids.py
"""

from pathlib import Path

import numpy as np
from gguf import quants

HEADER = Path(__file__).resolve().parents[2] / "src/sources/gguf/gguf_grids.h"
TYPES = [quants.IQ2_XXS, quants.IQ2_XS, quants.IQ2_S, quants.IQ3_XXS, quants.IQ3_S, quants.IQ1_S]
TOP = """// The grids of GGUF's IQ types: 8 (IQ1, IQ2) or 4 (IQ3) small values that appear together, lowest bits first.
// tests/oracle/make_gguf_grids.py writes this from the package gguf (quants.py of llama.cpp).
#pragma once

#include <cstdint>

namespace attend {

// clang-format off
"""


def packed(kind: type) -> list[int]:
    """Each point as one number, of the places of its values in the type's map."""
    kind.init_grid()
    width = 2 if len(kind.grid_map) <= 4 else 4  # bits
    places = {value: place for place, value in enumerate(kind.grid_map)}
    points = np.asarray(kind.grid).reshape(kind.grid_shape).astype(int)
    return [sum(places[value] << width * i for i, value in enumerate(point)) for point in points.tolist()]


def lines(numbers: list[int]) -> str:
    texts, line = [], " "
    for number in numbers:
        if len(line) + len(f" {number},") > 120:
            texts.append(line)
            line = " "
        line += f" {number},"
    return "\n".join([*texts, line])


def main() -> None:
    text = TOP
    for kind in TYPES:
        numbers, name = packed(kind), kind.__name__.lower()
        text += f"constexpr std::uint16_t {name}_grid[{len(numbers)}] = {{\n{lines(numbers)}\n}};\n"
    HEADER.write_text(text + "// clang-format on\n\n}  // namespace attend\n")


if __name__ == "__main__":
    main()
