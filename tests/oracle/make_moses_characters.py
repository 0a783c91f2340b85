"""Writes src/tokenizers/text/moses_characters.h: what sacremoses takes for letters, numbers and small letters.

    python tests/oracle/make_moses_characters.py        (sacremoses 0.2.0)

Its lists stem from several old versions of Unicode and leave out what East Asian languages write with, so no
library's classes are the same.
"""
import pathlib

from sacremoses.tokenize import MosesTokenizer

HEADER = pathlib.Path(__file__).parents[2] / "src/tokenizers/text/moses_characters.h"


def ranges(characters):
    """[first, last, step], the longest possible from left to right: in Latin every second letter is small."""
    rest, result = sorted(set(map(ord, characters))), []
    while rest:
        best = 1, 1
        for step in (1, 2):
            size = 1
            while size < len(rest) and rest[size] - rest[size - 1] == step:
                size += 1
            best = max(best, (size, step), key=lambda found: found[0])
        size, step = best
        result.append((rest[0], rest[size - 1], step))
        rest = rest[size:]
    return result


def lines(name, characters):
    text, line = [], "   "
    for first, last, step in ranges(characters):
        entry = f" {{0x{first:X}, 0x{last:X}, {step}}},"
        if len(line) + len(entry) > 110:
            text.append(line)
            line = "   "
        line += entry
    return "\n".join([f"inline constexpr LetterRange {name}[] = {{", *text, line, "};"])


def main():
    letters, alnum = set(MosesTokenizer.IsAlpha), set(MosesTokenizer.IsAlnum)
    numbers, small = set(MosesTokenizer.IsN) - {"\n"}, set(MosesTokenizer.IsLower)  # a line end of their file
    digits = alnum - letters
    assert letters < alnum and digits < numbers
    HEADER.write_text("""// What sacremoses treats as letters, digits (of words), numbers, and small letters.
// Written by tests/oracle/make_moses_characters.py.
#pragma once

namespace attend::tokenizers::moses {

struct LetterRange {
  char32_t first, last, step;
};

// clang-format off
""" + "\n\n".join([lines("letters", letters), lines("digits", digits), lines("numbers", numbers), lines("small_letters", small)]) + """
// clang-format on

}  // namespace attend::tokenizers::moses
""")


if __name__ == "__main__":
    main()
