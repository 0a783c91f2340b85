#!/usr/bin/env python3
"""Makes parallel text for training a translator: sentence pairs, some of them held out.

    parallel_text.py pages SOURCE_FOLDER TARGET_FOLDER OUTPUT_FOLDER
    parallel_text.py lines SOURCE_FILE TARGET_FILE OUTPUT_FOLDER

pages: two folders hold the same HTML pages in two languages. Two pages by the same name are aligned if their
block tags (<p>, <td>, ...) are the same, one for one; then the text between two tags of one is the translation
of that in the other. Paragraphs become sentences where both sides have equally many.
lines: two text files, whose lines are translations of each other.

OUTPUT_FOLDER gets {train,validation,test}.{source,target}. What is held out depends only on the text, not on
chance, and no sentence of the test or validation part occurs in the training part, on either side.

Only the standard library is used. Made for the LibreOffice help (Debian's libreoffice-help-en-us and -de).
"""

import hashlib
import html
import re
import sys
from pathlib import Path

HELD_OUT = 500  # pairs each for validation and test
HELD_OUT_PER_PAGE = 10  # so that they come from many pages
LONGEST = 40  # words; 250 characters

TAG = re.compile(r"<(/?)([a-zA-Z][a-zA-Z0-9]*)([^>]*)>")
INLINE = {"a", "span", "code", "b", "i", "em", "strong", "img", "meta"}
# Text that is not language: programs, formulas, sentences with pictures for words.
UNUSABLE_TAGS = {"pre", "sup", "sub", "img"}
UNUSABLE_CLASS = re.compile('class="(code|image|bug|smathcode)')
INVISIBLE = re.compile("[\u00ad\u200b\u200c\u200d\ufeff]")
SENTENCE_END = re.compile(r"(?<=[a-zäöüß0-9)”“\"][.!?])\s+(?=[A-ZÄÖÜ(„“])")
ABBREVIATION = re.compile(r"\b(z\. ?B|d\. ?h|u\. ?a|bzw|usw|etc|ca|vgl|Nr|Bsp|evtl|ggf|inkl|e\.g|i\.e|vs|No|Fig)\.$")


class Block:
    """The text between two block tags."""

    def __init__(self, usable=True):
        self.parts = []
        self.usable = usable

    def text(self):
        text = html.unescape("".join(self.parts)) if self.usable else ""
        return re.sub(r"\s+", " ", INVISIBLE.sub("", text)).strip()


def block_tags(page):
    return [(closing, name) for closing, name, _ in TAG.findall(page) if name not in INLINE]


def blocks(page):
    """The blocks of a page, empty ones too, so that equal tags give equally many."""
    result = [Block()]
    spans = []  # what each open <span> is: a "switch" shows only its default child, the others are "hidden"
    at = 0
    for tag in TAG.finditer(page):
        if "hidden" not in spans:
            result[-1].parts.append(page[at : tag.start()])
        at = tag.end()
        closing, name, attributes = tag.groups()
        if name not in INLINE:
            result.append(Block(usable=not UNUSABLE_CLASS.search(attributes)))
        if name in UNUSABLE_TAGS:
            result[-1].usable = False
        if name == "span" and closing and spans:
            spans.pop()
        elif name == "span" and not closing:
            if "switchinline" in attributes:
                spans.append("switch")
                following = page[at : at + 2000].split('class="switchinline"')[0]
                result[-1].usable &= 'id="default' in following
            else:
                is_variant = spans and spans[-1] == "switch" and "class=" in attributes
                spans.append("hidden" if is_variant else "")
    return result


def sentences(text):
    result = []
    for piece in SENTENCE_END.split(text):
        if result and ABBREVIATION.search(result[-1]):
            result[-1] += " " + piece
        else:
            result.append(piece)
    return result


def is_language(text):
    letters = sum(c.isalpha() for c in text)
    return letters >= 3 and letters >= 0.6 * len(text) and not re.search(r"[<>{}|\\_]", text)


def is_good(source, target):
    """Both sides are language, differ, and are of similar length."""
    a, b = len(source.split()), len(target.split())
    return (source != target and is_language(source) and is_language(target) and max(a, b) <= LONGEST
            and max(len(source), len(target)) <= 250 and max(a, b) <= 2 * min(a, b) + 2)


def page_pairs(source_page, target_page):
    """The sentence pairs of one page, or None if its two versions do not have the same block tags."""
    start, end = '<div id="DisplayArea"', '<div id="SearchFrame"'  # without menus and footers
    source_page, target_page = (page[page.find(start) : page.find(end)] for page in (source_page, target_page))
    if block_tags(source_page) != block_tags(target_page):
        return None
    pairs = []
    for source_block, target_block in zip(blocks(source_page), blocks(target_page), strict=True):
        source, target = source_block.text(), target_block.text()
        ours, theirs = sentences(source), sentences(target)
        split = list(zip(ours, theirs))
        if len(ours) != len(theirs) or not all(is_good(*pair) for pair in split):
            split = [(source, target)]
        pairs += [pair for pair in split if is_good(*pair)]
    return pairs


def digest(text):
    return hashlib.sha256(text.encode()).digest()


def pairs_of_pages(source_folder, target_folder):
    """A list of pairs for each page, in an order that looks random but is always the same."""
    source_folder, target_folder = Path(source_folder), Path(target_folder)
    names = [path.relative_to(source_folder).as_posix() for path in source_folder.rglob("*.html")]
    groups = []
    for name in sorted(names, key=digest):
        if (target_folder / name).exists():
            pairs = page_pairs((source_folder / name).read_text("utf-8"), (target_folder / name).read_text("utf-8"))
            if pairs is not None:
                groups.append(pairs)
    if len(groups) < 100:
        sys.exit(f"only {len(groups)} of the {len(names)} pages of {source_folder} have the same block tags in "
                 f"{target_folder}: are these two languages of one version?")
    print(f"{len(groups):,} of {len(names):,} pages align tag for tag", file=sys.stderr)
    return groups


def read_lines(name):
    try:
        return Path(name).read_text("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        sys.exit(f"{name}: invalid UTF-8 at byte {error.start}")


def pairs_of_lines(source_file, target_file):
    lines = [read_lines(name) for name in (source_file, target_file)]
    if len(lines[0]) != len(lines[1]):
        sys.exit(f"{source_file} has {len(lines[0])} lines and {target_file} {len(lines[1])}: "
                 "line by line, one must be the translation of the other")
    pairs = [pair for pair in zip(*lines) if is_good(*pair)]
    if len(pairs) < 1000:
        sys.exit(f"{source_file} and {target_file} give {len(pairs)} sentence pairs: at least 1000 are needed")
    return [[pair] for pair in sorted(pairs, key=lambda pair: digest("\n".join(pair)))]


def split(groups):
    """Divides groups of pairs into test, validation and train. Of equal sentences only the first is kept."""
    held_out = min(HELD_OUT, sum(map(len, groups)) // 20)
    parts = {"test": [], "validation": [], "train": []}
    names = list(parts)
    taken = set()
    for pairs in groups:
        if names[0] != "train" and len(parts[names[0]]) == held_out:
            names.pop(0)
        part, from_this_group = parts[names[0]], 0
        for pair in pairs:
            keys = {re.sub(r"\W+", " ", text).strip().casefold() for text in pair}
            too_many = from_this_group == HELD_OUT_PER_PAGE or len(part) == held_out
            if keys & taken or (names[0] != "train" and (too_many or len(pair[0].split()) < 4)):
                continue
            taken |= keys
            part.append(pair)
            from_this_group += 1
    return parts


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ("pages", "lines"):
        sys.exit(__doc__)
    _, kind, source, target, output = sys.argv
    parts = split((pairs_of_pages if kind == "pages" else pairs_of_lines)(source, target))
    for name, pairs in parts.items():
        for side, suffix in enumerate(["source", "target"]):
            Path(output, f"{name}.{suffix}").write_text("".join(pair[side] + "\n" for pair in pairs), "utf-8")
    print(f"{len(parts['train']):,} sentence pairs to learn from, {len(parts['validation'])} to validate, "
          f"{len(parts['test'])} for the test", file=sys.stderr)


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(f"{error.filename}: {error.strerror}")
