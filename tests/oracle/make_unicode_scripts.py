"""Writes src/tokenizers/text/unicode_scripts.h: the scripts that the UnicodeScripts pre-tokenizer tells apart.

    python tests/oracle/make_unicode_scripts.py        (tokenizers 0.22.2, two minutes)

utf8proc knows no scripts. Only what is the same script and what is not can be seen in the pre-tokenizer's
cuts, and it is all that counts; scripts are numbered in the order of their first code points.
"""
import pathlib

from tokenizers import pre_tokenizers as P

HEADER = pathlib.Path(__file__).parents[2] / "src/tokenizers/text/unicode_scripts.h"
SPLITTER = P.UnicodeScripts()


def stay_together(*code_points):
    return len(SPLITTER.pre_tokenize_str("".join(map(chr, code_points)))) == 1


def script_ranges():
    first_of = []  # by script
    ranges = []
    for c in range(0x110000):
        # The space and characters without a script join everything.
        if 0xD800 <= c < 0xE000 or all(stay_together(letter, c, letter) for letter in (ord("a"), ord("α"))):
            continue
        if ranges and stay_together(ranges[-1][1], c):
            script = ranges[-1][2]
        else:
            script = next((i for i, first in enumerate(first_of) if stay_together(first, c)), len(first_of))
            first_of += [c] if script == len(first_of) else []
        if ranges and ranges[-1][2] == script and ranges[-1][1] == c - 1:
            ranges[-1][1] = c
        else:
            ranges.append([c, c, script])
    return ranges


def write(ranges):
    entries = ", ".join(f"{{0x{first:X}, 0x{last:X}, {script}}}" for first, last, script in ranges)
    # A line may end only between entries.
    lines, line = [], "   "
    for entry in entries.split("}, "):
        entry = entry.rstrip("}") + "},"
        if len(line) + 1 + len(entry) > 110:
            lines.append(line)
            line = "   "
        line += " " + entry
    lines.append(line)
    HEADER.write_text("""// The scripts of code points, as distinguished by the UnicodeScripts pre-tokenizer of tokenizers 0.22.2.
// Written by tests/oracle/make_unicode_scripts.py.
#pragma once

namespace attend::unicode {

struct ScriptRange {
  char32_t first, last;
  int script;
};

// clang-format off
inline constexpr ScriptRange scripts[] = {
""" + "\n".join(lines) + """
};
// clang-format on

}  // namespace attend::unicode
""")


if __name__ == "__main__":
    write(script_ranges())
