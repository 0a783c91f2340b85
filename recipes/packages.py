#!/usr/bin/env python3
"""Makes three small tasks and a text of the descriptions of Debian's packages, which every Debian or Ubuntu has.

    packages.py OUTPUT [--lists FOLDER]

OUTPUT/tags.jsonl: a description and its debtags, for multi-label; empty where the packages have none.
OUTPUT/choices.jsonl: a description, and four packages' short descriptions of which one is its own, for multiple-choice.
OUTPUT/questions.jsonl: a short description, and three packages of which one is meant, for question-answering.
OUTPUT/texts.txt: descriptions, a sentence a line and an empty line between packages, for sentence-order and masked-lm.
Each comes with a NAME-validation: one source package in 40, which the other file leaves out.

--lists: what apt knows, by default /var/lib/apt/lists. Where it has no long descriptions (Translation-en; containers are
often told to leave them out), `apt-get -o Acquire::Languages=en update` fetches them. Only apt's helper and the standard
library are used.
"""

import argparse
import collections
import hashlib
import json
import random
import re
import subprocess
from pathlib import Path

HELPER = "/usr/lib/apt/apt-helper"  # reads what apt has compressed, whatever with
COMMONEST_TAGS = 60
HELD_OUT = 40  # one source package in so many


def records_of(file):
    """The records of a control file: fields with their continuation lines."""
    content = subprocess.run([HELPER, "cat-file", str(file)], check=True, stdout=subprocess.PIPE).stdout
    text = content.decode("utf-8", "replace")
    for block in text.split("\n\n"):
        fields, name = {}, None
        for line in block.split("\n"):
            if line[:1] in (" ", "\t"):
                if name:
                    fields[name] += "\n" + line[1:]
            elif ":" in line:
                name, _, value = line.partition(":")
                fields[name] = value.strip()
        if fields:
            yield fields


def paragraphs(description):
    """Those of a long description, each in one line."""
    return [" ".join(paragraph.split()) for paragraph in re.split(r"^\.$", description, flags=re.M)]


def read_packages(lists):
    """A package for each long description: its name, source, section, tags, short and long description."""
    known = {}
    for file in sorted(lists.glob("*_Packages*")):
        for fields in records_of(file):
            known.setdefault(fields.get("Package"), fields)
    packages, seen = [], set()
    for file in sorted(lists.glob("*_Translation-en*")):
        for fields in records_of(file):
            name = fields.get("Package")
            short, _, rest = fields.get("Description-en", "").partition("\n")
            whole = paragraphs(rest)
            long = whole[0]
            if name not in known or long in seen or not 15 <= len(long.split()) <= 60 or len(short.split()) < 3:
                continue
            seen.add(long)
            other = known[name]
            tags = [tag.strip() for tag in other.get("Tag", "").replace("\n", " ").split(",")]
            packages.append({
                "name": name,
                "source": other.get("Source", name).split(" ")[0],
                "section": other.get("Section", ""),
                "tags": [tag for tag in tags if tag and "TODO" not in tag],
                "short": short.strip(),
                "long": long,
                "whole": whole,
            })
    counts = collections.Counter(tag for package in packages for tag in package["tags"])
    common = {tag for tag, _ in counts.most_common(COMMONEST_TAGS)}
    for package in packages:
        package["tags"] = [tag for tag in package["tags"] if tag in common]
    return packages


def tags(packages, _):
    for package in packages:
        if package["tags"]:
            yield {"text": f"{package['short']}. {package['long']}", "labels": package["tags"]}


def choices(packages, draw):
    sections = collections.defaultdict(list)
    for package in packages:
        sections[package["section"]].append(package)
    for package in packages:
        others = [other for other in sections[package["section"]] if other["source"] != package["source"]]
        if len(others) < 3:
            continue
        four = [package, *draw.sample(others, 3)]
        draw.shuffle(four)
        row = {"question": package["long"], "choices": [one["short"] for one in four], "label": four.index(package)}
        yield row


def questions(packages, draw):
    for package in packages:
        three = [package, *draw.sample(packages, 2)]
        draw.shuffle(three)
        context, start = "", 0
        for one in three:
            if one is package:
                start = len(context)
            context += f"{one['name']}: {one['long']} "
        answers = {"text": [package["name"]], "answer_start": [start]}
        question = f"Which package is this: {package['short']}?"
        yield {"question": question, "context": context.rstrip(), "answers": answers}


def texts(packages, _):
    for package in packages:
        for paragraph in package["whole"]:
            yield from re.split(r"(?<=[.!?:;]) (?=[A-Z*-])", paragraph) if paragraph else ()
        yield ""


def is_held_out(package):
    return int(hashlib.sha256(package["source"].encode()).hexdigest(), 16) % HELD_OUT == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--lists", type=Path, default=Path("/var/lib/apt/lists"))
    arguments = parser.parse_args()
    packages = read_packages(arguments.lists)
    if len(packages) < 1000:
        parser.error(f"expected 1000 packages with long descriptions in {arguments.lists}, found {len(packages)}: "
                     "apt-get -o Acquire::Languages=en update fetches them")
    arguments.output.mkdir(parents=True, exist_ok=True)
    for make in (tags, choices, questions, texts):
        for held_out, suffix in {False: "", True: "-validation"}.items():
            part = [package for package in packages if is_held_out(package) == held_out]
            rows = list(make(part, random.Random(0)))
            if make is texts:
                name = f"texts{suffix}.txt"
            else:
                name = f"{make.__name__}{suffix}.jsonl"
                rows = [json.dumps(row, ensure_ascii=False) for row in rows]
            (arguments.output / name).write_text("".join(row + "\n" for row in rows))
            print(f"{name}: {len(rows)} lines")


if __name__ == "__main__":
    main()
