"""Writes src/tokenizers/text/newer_unicode_tables.h: Unicode properties in the regular expressions of `tokenizers` that Oniguruma 6.9.8 lacks.

    python tests/oracle/make_newer_unicode.py
"""
import ctypes
import pathlib

import tokenizers
from tokenizers import Regex, pre_tokenizers

from code_points import table

PROPERTIES = {
    "word": "Word", "letter": "L Letter", "uppercase": "Lu", "lowercase": "Ll", "modifier": "Lm", "other_letter": "Lo", "mark": "M Mark",
    "nonspacing": "Mn", "number": "N Number", "digit": "Nd Digit", "punctuation": "P Punctuation", "symbol": "S Symbol", "han": "Han",
}  # fmt: skip
CODE_POINTS = [c for c in range(0x80, 0x110000) if not 0xD800 <= c < 0xE000]

onig = ctypes.CDLL("libonig.so.5")
onig.onig_version.restype = ctypes.c_char_p


def address(name):
    return ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(onig, name)))


def known_to_oniguruma(expression):
    regex, text, info = ctypes.c_void_p(), ctypes.create_string_buffer(expression.encode()), ctypes.create_string_buffer(64)
    begin = ctypes.addressof(text)
    code = onig.onig_new(ctypes.byref(regex), ctypes.c_void_p(begin), ctypes.c_void_p(begin + len(expression)), 0,
                         address("OnigEncodingUTF8"), address("OnigSyntaxOniguruma"), info)  # fmt: skip
    if code != 0:
        raise SystemExit(f"{expression}: {code}")
    known = set()
    for c in CODE_POINTS:
        spelled = chr(c).encode()
        text = ctypes.create_string_buffer(spelled)
        begin, end = ctypes.addressof(text), ctypes.addressof(text) + len(spelled)
        if onig.onig_match(regex, ctypes.c_void_p(begin), ctypes.c_void_p(end), ctypes.c_void_p(begin), None, 0) > 0:
            known.add(c)
    return known


def known_to_tokenizers(expression):
    split = pre_tokenizers.Split(Regex(expression), "isolated")
    return {c for c in CODE_POINTS if len(split.pre_tokenize_str(f"\n{chr(c)}\n")) > 1}


def main():
    tables, names = [], []
    for table_name, properties in PROPERTIES.items():
        expression = rf"\p{{{properties.split()[0]}}}"
        tables.append(table(f"newer_{table_name}", known_to_tokenizers(expression) - known_to_oniguruma(expression)))
        names += [f'    {{"{name}", newer_{table_name}}},' for name in properties.split()]
    output = "\n".join([
        f"""// What regular expressions of tokenizers {tokenizers.__version__} match but Oniguruma {onig.onig_version().decode()}, with an older Unicode, does not.
// Written by tests/oracle/make_newer_unicode.py.
#pragma once

#include "tokenizers/text/unicode_corrections.h"

namespace attend::unicode {{

struct NewerProperty {{
  const char* name;
  std::span<const Range> ranges;
}};
""",
        *tables,
        "inline constexpr NewerProperty newer_properties[] = {",
        *names,
        "};\n\n}  // namespace attend::unicode\n",
    ])  # fmt: skip
    target = pathlib.Path(__file__).parents[2] / "src/tokenizers/text/newer_unicode_tables.h"
    target.write_text(output)


if __name__ == "__main__":
    main()
