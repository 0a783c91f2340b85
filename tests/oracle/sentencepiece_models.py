"""Trains small SentencePiece models, with normalization rules of our own."""
import io
import tempfile

import sentencepiece

# All difficult cases: rules that begin others, that drop text, that grow, and that make spaces.
RULES = {"A": "a", "e\u0301": "é", "e\u0301\u0316": "É", "ﬁ": "fi", "½": "1⁄2", "\u00a0": " ", "\u3000": " ", "\t": " ",
         "\n": " ", "\u200b": "", "\u00ad": "", "ﷺ": "صلى الله عليه وسلم", "①": "1", "…": "...", "´": " \u0301",
         "ｍ": "m", "ﾊﾞ": "バ", "👍🏽": "👍", "\r\n": " ", "ß": "ss", "\u1100\u1161\u11a8": "\uac01", "Ⅻ": "XII"}


def table(rules):
    def numbers(text):
        return " ".join(f"{ord(c):04X}" for c in text)
    return "".join(f"{numbers(a)}\t{numbers(b)}\n" for a, b in rules.items())


def train(lines, rules=RULES, **fields):
    """The bytes of a model. `rules`: a table as RULES, or the name of one of SentencePiece's own."""
    options = dict(vocab_size=260, character_coverage=1.0, hard_vocab_limit=False, bos_id=1, eos_id=2, unk_id=0,
                   minloglevel=2) | fields
    model = io.BytesIO()
    with tempfile.NamedTemporaryFile("w", suffix=".tsv", encoding="utf-8") as file:
        if isinstance(rules, dict):
            file.write(table(rules))
            file.flush()
            options["normalization_rule_tsv"] = file.name
        else:
            options["normalization_rule_name"] = rules
        sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, **options)
    return model.getvalue()


def charsmap(rules=RULES):
    """The rules as a model holds them: the field precompiled_charsmap of a normalizer."""
    model = train(["a few words", "and a few more"], rules, vocab_size=30, model_type="char")
    # The normalizer_spec is field 3 of the model and the map field 2 of that.
    return field(field(model, 3), 2)


def field(message, wanted):
    """The last field `wanted` of a protocol buffer, which must hold bytes."""
    def varint(at):
        value = shift = 0
        while True:
            value |= (message[at] & 0x7F) << shift
            at, shift = at + 1, shift + 7
            if not message[at - 1] & 0x80:
                return value, at
    found, at = b"", 0
    while at < len(message):
        key, at = varint(at)
        size = {0: None, 1: 8, 5: 4}.get(key & 7)
        if key & 7 == 0:
            _, at = varint(at)
            continue
        if key & 7 == 2:
            size, at = varint(at)
            if key >> 3 == wanted:
                found = message[at:at + size]
        at += size
    return found
