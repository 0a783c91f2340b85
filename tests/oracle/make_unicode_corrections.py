"""Writes src/tokenizers/text/unicode_corrections.h: where utf8proc and `tokenizers` disagree about code points.

`tokenizers` is asked about every code point through its own parts (normalizers, pre-tokenizers, regular
expressions); utf8proc is asked through ctypes. Run with the versions named in the output:
    python tests/oracle/make_unicode_corrections.py
"""
import ctypes
import pathlib

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

from code_points import table

utf8proc = ctypes.CDLL("libutf8proc.so.2")
utf8proc.utf8proc_version.restype = ctypes.c_char_p
utf8proc.utf8proc_category_string.restype = ctypes.c_char_p

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
CATEGORY = {c: utf8proc.utf8proc_category_string(c).decode() for c in CODE_POINTS}
ASCII_PUNCTUATION = set(map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"))
ALPHABETIC_SYMBOLS = [(0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]


def removed_by(normalizer):
    return {c for c in CODE_POINTS if normalizer.normalize_str(f"a{chr(c)}b") == "ab"}


def changed_by(normalizer):
    pairs = ((c, normalizer.normalize_str(chr(c))) for c in CODE_POINTS)
    return {c: text for c, text in pairs if text != chr(c)}


def set_apart_by(pre_tokenizer, around):
    return {c for c in CODE_POINTS if len(pre_tokenizer.pre_tokenize_str(around + chr(c) + around)) > 1}


def matching(expression):
    return set_apart_by(pre_tokenizers.Split(Regex(expression), "isolated"), ".")


def in_category(*prefixes):
    return {c for c, category in CATEGORY.items() if category.startswith(prefixes)}


def bert(**parts):
    every = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**(every | parts))


def utf8proc_decomposes(compatible):
    buffer = (ctypes.c_int32 * 32)()
    boundary = ctypes.c_int(0)
    options = (1 << 4) | ((1 << 2) if compatible else 0)  # UTF8PROC_DECOMPOSE, UTF8PROC_COMPAT

    def parts(c):
        size = utf8proc.utf8proc_decompose_char(c, buffer, 32, options, ctypes.byref(boundary))
        return list(buffer[:size])

    return {c for c in CODE_POINTS if parts(c) != [c]}


words = set(CODE_POINTS) - set_apart_by(pre_tokenizers.Whitespace(), "a")
our_words = in_category("L", "M", "Nd", "Nl", "Pc") | {0x200C, 0x200D}
our_words |= {c for first, last in ALPHABETIC_SYMBOLS for c in range(first, last + 1)}
spared = {0, 9, 10, 13}  # their category does not distinguish them
others = removed_by(bert(clean_text=True)) - {0, 0xFFFD}
lowercase = changed_by(normalizers.Lowercase())
our_lowercase = {c for c in CODE_POINTS if utf8proc.utf8proc_tolower(c) != c} | {0x130}
other_lowercase = sorted(
    c for c, text in lowercase.items() if c != 0x130 and utf8proc.utf8proc_tolower(c) != ord(text))

OUTPUT = "\n".join([
    f"""// Where tokenizers {tokenizers.__version__} and utf8proc {utf8proc.utf8proc_version().decode()} disagree about code points: mostly code points of newer Unicode
// versions. Written by tests/oracle/make_unicode_corrections.py.
#pragma once

#include <span>

namespace attend::unicode {{

struct Range {{
  char32_t first, last;
}};
struct Pair {{
  char32_t from, to;
}};
""",
    table("wrong_letter", matching(r"\p{L}") ^ in_category("L")),
    table("wrong_number", matching(r"\p{N}") ^ in_category("N")),
    table("wrong_numeric", set_apart_by(pre_tokenizers.Digits(True), "a") ^ in_category("N")),
    table("wrong_punctuation",
          set_apart_by(pre_tokenizers.Punctuation(), "a") ^ (in_category("P") | ASCII_PUNCTUATION)),
    table("wrong_other", others ^ (in_category("Cc", "Cf", "Co") - spared)),
    table("wrong_nonspacing_mark", removed_by(bert(strip_accents=True)) ^ in_category("Mn")),
    table("wrong_mark", removed_by(normalizers.StripAccents()) ^ in_category("M")),
    table("wrong_word", words ^ our_words),
    table("wrong_lowercase", set(lowercase) ^ our_lowercase),
    table("not_decomposed", utf8proc_decomposes(False) - set(changed_by(normalizers.NFD()))),
    table("not_decomposed_compatible", utf8proc_decomposes(True) - set(changed_by(normalizers.NFKD()))),
    "inline constexpr Pair other_lowercase[] = {\n" +
    "\n".join(f"    {{0x{c:X}, 0x{ord(lowercase[c]):X}}}," for c in other_lowercase) + "\n};\n",
    "}  // namespace attend::unicode\n"])
target = pathlib.Path(__file__).parents[2] / "src/tokenizers/text/unicode_corrections.h"
target.write_text(OUTPUT)
