"""Writes tests/data/tokenizers: small tokenizers, each with the tokens that `tokenizers` gives for our texts.

    python tests/oracle/make_tokenizer_goldens.py        (tokenizers 0.22.2)

Every directory NAME/ has tokenizer.json and cases.json. The texts and the training corpus are our own.
unicode.json has a checksum of how `tokenizers` classifies every code point.
"""
import json
import pathlib
import shutil

from tokenizers import AddedToken, Regex, Tokenizer
from tokenizers import decoders as D
from tokenizers import models as M
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import processors as R
from tokenizers import trainers as T

from sentencepiece_models import charsmap

ROOT = pathlib.Path(__file__).parents[1] / "data/tokenizers"

CORPUS = """The lamp in the hall was off, so we waited in the dark kitchen.
She doesn't like waiting; she'd rather walk home, and so would I.
We've counted 12 boats, 345 gulls and 6 very small crabs.
Der alte Bäcker weiß, dass die Brötchen früh fertig sein müssen.
Über den Dächern der Straße hängt noch Nebel.
Le garçon a déjà mangé la crème brûlée près du château.
El niño pidió más agua después de la caminata.
Żółta łódka płynie wzdłuż brzegu.
Собака спит под столом, а кошка сидит на окне.
Ο γέρος πίνει καφέ δίπλα στη θάλασσα.
הילדה קוראת ספר ליד החלון.
القط نائم على الكرسي الأزرق.
नदी के किनारे एक पुराना पेड़ है।
ฝนตกหนักเมื่อคืนนี้
小さな犬が川で泳いでいる。
窗边放着一盆绿色的植物。
작은 새가 나무 위에서 노래한다.
Gâteau, ﬁne ﬂour and ½ cup of ①-grade ｍｉｌｋ: 3 × 4 = 12.
for (i = 0; i < n; ++i) { total += price[i] * 1.25; }
The waiting room, the walking stick, the talking parrot, the waiting list.
"""

TEXTS = [
    "", " ", "  \t\n", "word", "The dark lamp waits.", "  two  spaces   and\ta tab\r\nand lines\n\n",
    "She doesn't; I'd've WALKED, we'll see: it's 'quoted' ''s",
    "Der Bäcker weiß: ÜBER DÄCHERN, Straße, STRASSE, ẞ",
    "Cafe\u0301 cre\u0300me, a\u0316\u0301 a\u0301\u0316 \u0301start", "ﬁne ﬂour ½ ①② ｍｉｌｋ ㎏ ﷺ ǅ K Å",
    "Собака спит. Ο γέρος ΠΊΝΕΙ καφές", "הילדה קוראת, القط نائم؟", "नदी के किनारे। ฝนตกหนัก",
    "小さな犬、窗边放着 작은 새가 각", "👍🏽 👩‍👩‍👧 🇩🇪 x🙂y", "a\u00a0b\u2003c\u3000d\u2028e\u200bf\u00adg\ufeffh",
    "\x00\x01\x1f\x7f\x80 \ufffd \ue000 \U000e0041", "İstanbul ışık ΌΣΟΣ ϓ", "12 345,678.90 ४५ Ⅻ 3×4",
    "if (a[i] != b) { return x_y->z; } // näh", "http://example.org/a?b=c&d=%20#e", "▁low▁line ▁ _ Ġ Ċ <0x41>", "\u1100\u1161\u11a8 \u0915\u094d\u0937\u093f \u0600\u0661 A\u0301\u0316 e\u0301\u0316 ﾊﾞ Ⅻ…½´",
    "\u200b\u00adstart", "one\r\ntwo\r\n", "日本ーカナかな漢字abcабв12",
    "[CLS] the [MASK]dark [SEP]", "<s>the <mask> lamp</s> <unk><mask>", "keepxkeep keep Keep KEEP keeper",
    "wait" * 16, "x" * 101, "\u0345\u0903\u1ab0 ꙰ \u20dd", "日本語とEnglishとрусский",
]
PAIRS = [(4, 7), (0, 3), (3, 0), (13, 5), (23, 22)]


def bert(tokenizer):
    return R.BertProcessing(("[SEP]", tokenizer.token_to_id("[SEP]")), ("[CLS]", tokenizer.token_to_id("[CLS]")))


def template(tokenizer):
    return R.TemplateProcessing(single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1",
                                special_tokens=[("[CLS]", tokenizer.token_to_id("[CLS]")),
                                                ("[SEP]", tokenizer.token_to_id("[SEP]"))])


def roberta(**fields):
    return lambda tokenizer: R.RobertaProcessing(("</s>", tokenizer.token_to_id("</s>")),
                                                 ("<s>", tokenizer.token_to_id("<s>")), **fields)


def wordpiece(normalizer, pre_tokenizer, post=None, decoder=None, added=(), size=420):
    trainer = T.BpeTrainer(vocab_size=size, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
                           continuing_subword_prefix="##", show_progress=False)
    # WordPiece's own trainer numbers its tokens randomly; this one is the same, but sorted.
    bpe = Tokenizer(M.BPE())
    bpe.normalizer, bpe.pre_tokenizer = normalizer, pre_tokenizer
    bpe.train_from_iterator(CORPUS.splitlines(), trainer)
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokens = specials + sorted(set(bpe.get_vocab()) - set(specials))
    tokenizer = Tokenizer(M.WordPiece({token: id for id, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.add_special_tokens(specials)
    return finish(tokenizer, post, decoder or D.WordPiece(), added)


def bpe(normalizer, pre_tokenizer, post=None, decoder=None, added=(), specials=("<s>", "<pad>", "</s>", "<unk>", "<mask>"),
        size=420, alphabet=(), **fields):
    tokenizer = Tokenizer(M.BPE(**fields))
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    names = {"continuing_subword_prefix", "end_of_word_suffix"} & set(fields)
    tokenizer.train_from_iterator(CORPUS.splitlines(), T.BpeTrainer(
        vocab_size=size, special_tokens=list(specials), initial_alphabet=list(alphabet), show_progress=False,
        **{name: fields[name] for name in names}))
    return finish(tokenizer, post, decoder, added)


def finish(tokenizer, post, decoder, added):
    for token in added:
        (tokenizer.add_special_tokens if token.special else tokenizer.add_tokens)([token])
    if post:
        tokenizer.post_processor = post(tokenizer) if not isinstance(post, R.PostProcessor) else post
    if decoder:
        tokenizer.decoder = decoder
    return tokenizer


def llama(**fields):
    bytes_ = [f"<0x{i:02X}>" for i in range(256)]
    return bpe(N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")]), None,
               R.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1", special_tokens=[("<s>", 1)]),
               D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse(), D.Strip(" ", 1, 0)]),
               specials=["<unk>", "<s>", "</s>"] + bytes_, size=440, unk_token="<unk>", **fields)


BYTES = sorted(P.ByteLevel.alphabet())
GPT4 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
        r"|\s+(?!\S)|\s+")
ADDED = [AddedToken("keep", single_word=True, normalized=True), AddedToken("[MASK]", lstrip=True, special=True),
         AddedToken("Straße", normalized=True), AddedToken("xk", normalized=False, rstrip=True)]

TOKENIZERS = {
    "bert_uncased": lambda: wordpiece(N.BertNormalizer(), P.BertPreTokenizer(), template),
    "bert_cased": lambda: wordpiece(N.BertNormalizer(lowercase=False), P.BertPreTokenizer(), bert,
                                    D.WordPiece(cleanup=False)),
    "bert_plain": lambda: wordpiece(N.BertNormalizer(clean_text=False, handle_chinese_chars=False, strip_accents=False),
                                    P.BertPreTokenizer(), bert),
    "added_tokens": lambda: wordpiece(N.BertNormalizer(), P.BertPreTokenizer(), bert, None, ADDED),
    "nfkd_chain": lambda: wordpiece(N.Sequence([N.NFKD(), N.StripAccents(), N.Lowercase(), N.Strip()]),
                                    P.Sequence([P.WhitespaceSplit(), P.Punctuation(), P.Digits(True)])),
    "nfc_whitespace": lambda: wordpiece(N.NFC(), P.Whitespace()),
    "nfd_split": lambda: wordpiece(N.NFD(), P.Split(Regex(r"\s+|[,.;]"), "merged_with_previous")),
    "nfkc_split_inverted": lambda: wordpiece(N.NFKC(), P.Split(Regex(r"\w+|[^\w\s]"), "removed", invert=True)),
    "nmt_replace": lambda: wordpiece(N.Sequence([N.Nmt(), N.Replace(Regex(" {2,}"), " "), N.Replace("a", "ä-")]),
                                     P.Sequence([P.Split(" ", "merged_with_next"), P.Digits(False)])),
    "gpt2": lambda: bpe(None, P.ByteLevel(add_prefix_space=False), R.ByteLevel(trim_offsets=False), D.ByteLevel(),
                        specials=["<|endoftext|>"], alphabet=BYTES),
    "roberta": lambda: bpe(None, P.ByteLevel(add_prefix_space=False), roberta(), D.ByteLevel(),
                           [AddedToken("<mask>", lstrip=True, special=True)], alphabet=BYTES),
    "roberta_prefix_space": lambda: bpe(N.NFC(), P.ByteLevel(add_prefix_space=True), roberta(trim_offsets=True),
                                        D.ByteLevel(), alphabet=BYTES),
    "byte_level_unknown": lambda: bpe(None, P.ByteLevel(add_prefix_space=True), R.ByteLevel(), D.ByteLevel(),
                                      unk_token="<unk>", fuse_unk=True),
    "gpt4_pattern": lambda: bpe(None, P.Sequence([P.Split(Regex(GPT4), "isolated"),
                                                  P.ByteLevel(add_prefix_space=False, use_regex=False)]),
                                lambda t: R.Sequence([R.ByteLevel(trim_offsets=False),
                                                      R.TemplateProcessing(single="<s> $A", pair="<s> $A <s>:1 $B:1",
                                                                           special_tokens=[("<s>", 0)])]),
                                D.ByteLevel(), alphabet=BYTES, ignore_merges=True),
    "llama": lambda: llama(byte_fallback=True, fuse_unk=True),
    "llama_no_fallback": lambda: llama(),
    "gpt1": lambda: bpe(N.BertNormalizer(), P.BertPreTokenizer(), None, D.BPEDecoder(), specials=["<unk>"],
                        unk_token="<unk>", end_of_word_suffix="</w>"),
    "bpe_prefix": lambda: bpe(None, P.WhitespaceSplit(), None, D.WordPiece(prefix="@@"), unk_token="<unk>",
                              continuing_subword_prefix="@@"),
    "metaspace_first": lambda: bpe(N.Strip(), P.Metaspace(prepend_scheme="first"), None,
                                   D.Metaspace(prepend_scheme="first"),
                                   [AddedToken("<mask>", lstrip=True, rstrip=True, special=True)], unk_token="<unk>"),
    "metaspace_whole": lambda: bpe(None, P.Metaspace(split=False), None, D.Metaspace(), unk_token="<unk>"),
    "characters": lambda: bpe(None, None, None, D.Fuse(), specials=[], size=1),
    "word_level": lambda: finish(Tokenizer(M.WordLevel(
        {word: id for id, word in enumerate(["<unk>"] + sorted(set(CORPUS.lower().split())))}, unk_token="<unk>")),
        None, None, []),
    "precompiled": lambda: wordpiece(N.Sequence([N.Precompiled(charsmap()), N.Replace(Regex(" {2,}"), " ")]),
                                     P.WhitespaceSplit()),
    "scripts": lambda: wordpiece(None, P.Sequence([P.UnicodeScripts(), P.WhitespaceSplit()])),
    "split_next": lambda: wordpiece(None, P.Sequence([P.Split(Regex("[aeiou]+"), "merged_with_next"), P.FixedLength(length=4)])),
    "split_contiguous": lambda: wordpiece(None, P.Sequence([P.Split(Regex("[ a]"), "contiguous"), P.Punctuation("contiguous")])),
    "split_isolated": lambda: wordpiece(None, P.Sequence([P.CharDelimiterSplit("e"), P.Split(" ", "isolated", invert=True)])),
    "no_merges": lambda: bpe(None, P.ByteLevel(add_prefix_space=False), None, D.ByteLevel(), alphabet=BYTES, dropout=1.0,
                             ignore_merges=True),
    "unigram_bytes": lambda: finish(Tokenizer(M.Unigram(
        [("<unk>", 0.0), ("▁", -2.0), ("▁the", -3.0), ("he", -3.5), ("▁t", -3.25)] + [(c, -5.0) for c in "abcdefgh"]
        + [(f"<0x{i:02X}>", -9.0) for i in range(256)], unk_id=0, byte_fallback=True)),
        None, D.Sequence([D.ByteFallback(), D.Metaspace()]), []),
    "ctc": lambda: bpe(None, P.WhitespaceSplit(), None, D.CTC(pad_token="e", word_delimiter_token="t"), unk_token="<unk>"),
    "unigram": lambda: finish(Tokenizer(M.Unigram(
        [("<unk>", 0.0), ("▁", -2.0)] + [(f"▁{w}", -6.0 - i / 64) for i, w in enumerate(sorted(set(CORPUS.split()))[:150])]
        + [(c, -9.0 - i / 32) for i, c in enumerate(sorted(set(CORPUS) - set("\n ▁"))[:120])], unk_id=0)),
        None, D.Metaspace(), []),
}
TRUNCATED = {"bert_uncased", "bert_cased", "roberta"}


def set_word_level(tokenizer, name):
    if name == "word_level":
        tokenizer.normalizer, tokenizer.pre_tokenizer = N.Lowercase(), P.WhitespaceSplit()
    if name in ("unigram", "unigram_bytes"):
        tokenizer.pre_tokenizer = P.Metaspace()


def encoding(e):
    """All fields; those that are the same for every token of a plain text are left out where they are."""
    fields = {"ids": e.ids, "tokens": e.tokens, "offsets": [end for span in e.offsets for end in span],
              "word_ids": e.word_ids}
    if any(e.type_ids):
        fields["type_ids"] = e.type_ids
    if not all(e.attention_mask):
        fields["attention_mask"] = e.attention_mask
    if any(e.special_tokens_mask):
        fields["special_tokens_mask"] = e.special_tokens_mask
    if e.overflowing:
        fields["overflowing"] = [encoding(o) for o in e.overflowing]
    return fields


def cases(tokenizer, truncated):
    for text in TEXTS:
        e = tokenizer.encode(text)
        yield {"text": text, "encoding": encoding(e), "decoded": tokenizer.decode(e.ids, skip_special_tokens=False),
               "skipped": tokenizer.decode(e.ids)}
    for first, second in PAIRS:
        yield {"text": TEXTS[first], "pair": TEXTS[second], "encoding": encoding(tokenizer.encode(TEXTS[first], TEXTS[second]))}
    yield {"text": TEXTS[6], "special_tokens": False, "encoding": encoding(tokenizer.encode(TEXTS[6], add_special_tokens=False))}
    for strategy, length, stride, direction in [] if not truncated else [("longest_first", 12, 2, "right"), ("only_first", 33, 1, "right"),
                                                ("only_second", 30, 0, "right"), ("longest_first", 11, 0, "left")]:
        tokenizer.enable_truncation(length, stride=stride, strategy=strategy, direction=direction)
        tokenizer.enable_padding(direction=direction, pad_to_multiple_of=8, pad_id=1, pad_type_id=1, pad_token="<pad>")
        options = {"truncation": {"strategy": strategy, "max_length": length, "stride": stride, "direction": direction}}
        for first, second in [(4, 7)] if length > 12 else [(4, 7), (3, 4)]:
            try:
                result = {"encoding": encoding(tokenizer.encode(TEXTS[first], TEXTS[second]))}
            except Exception:
                result = {"error": True}
            yield {"text": TEXTS[first], "pair": TEXTS[second]} | options | result
        if strategy == "longest_first":
            yield {"text": TEXTS[7]} | options | {"encoding": encoding(tokenizer.encode(TEXTS[7]))}
        tokenizer.no_truncation()
        tokenizer.no_padding()


def fnv(numbers):
    value = 0xCBF29CE484222325
    for number in numbers:
        value = ((value ^ number) * 0x100000001B3) & (2**64 - 1)
    return f"{value:016x}"


def unicode_checksums():
    every = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]

    def removed(normalizer):
        return [c for c in every if normalizer.normalize_str(f"a{chr(c)}b") == "ab"]

    def apart(pre_tokenizer, around):
        return [c for c in every if len(pre_tokenizer.pre_tokenize_str(around + chr(c) + around)) > 1]

    def mapped(normalizer):
        result = []
        for c in every:
            text = normalizer.normalize_str(chr(c))
            if text != chr(c):
                result += [c, *map(ord, text)]
        return result

    def bert_only(**parts):
        return N.BertNormalizer(**(dict(clean_text=False, handle_chinese_chars=False, strip_accents=False,
                                        lowercase=False) | parts))

    not_words = set(apart(P.Whitespace(), "a"))
    sets = {
        "letter": apart(P.Split(Regex(r"\p{L}"), "isolated"), "."),
        "number": apart(P.Split(Regex(r"\p{N}"), "isolated"), "."),
        "whitespace": apart(P.WhitespaceSplit(), "a"),
        "numeric": apart(P.Digits(True), "a"),
        "punctuation": apart(P.Punctuation(), "a"),
        "other": [c for c in removed(bert_only(clean_text=True)) if c not in (0, 0xFFFD)],
        "nonspacing_mark": removed(bert_only(strip_accents=True)),
        "mark": removed(N.StripAccents()),
        "word": [c for c in every if c not in not_words],
        "lowercase": mapped(N.Lowercase()),
        "nfc": mapped(N.NFC()), "nfd": mapped(N.NFD()), "nfkc": mapped(N.NFKC()), "nfkd": mapped(N.NFKD()),
    }
    return {name: [len(numbers), fnv(numbers)] for name, numbers in sets.items()}


def write(path, value):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def unigram(corpus):
    """The pieces that are learned, with the normalizer of `attend tokenizer train`."""
    tokenizer = Tokenizer(M.Unigram())
    tokenizer.normalizer = N.Sequence([N.Nmt(), N.NFKC(), N.Replace(Regex(" {2,}"), " "), N.Strip()])
    tokenizer.pre_tokenizer = P.Metaspace()
    tokenizer.train([str(corpus)], T.UnigramTrainer(vocab_size=259, special_tokens=["</s>", "<unk>"], unk_token="<unk>",
                                                    show_progress=False))
    return json.loads(tokenizer.to_str())["model"]


def main():
    shutil.rmtree(ROOT, ignore_errors=True)
    for name, make in TOKENIZERS.items():
        tokenizer = make()
        set_word_level(tokenizer, name)
        write(ROOT / name / "tokenizer.json", json.loads(tokenizer.to_str()))
        # Reloaded, because our tokenizer reads the file.
        tokenizer = Tokenizer.from_file(str(ROOT / name / "tokenizer.json"))
        write(ROOT / name / "cases.json", list(cases(tokenizer, name in TRUNCATED)))
    corpus = ROOT / "training/corpus.txt"
    corpus.parent.mkdir(parents=True)
    corpus.write_text(CORPUS)
    trained = {}  # <pad> comes after the learned tokens
    for name, fields, prefix in [("gpt2", dict(vocab_size=500, special_tokens=["<|endoftext|>"]), False),
                                 ("translation", dict(vocab_size=419, min_frequency=2,
                                                      special_tokens=["</s>", "<unk>"]), True)]:
        tokenizer = Tokenizer(M.BPE())
        tokenizer.pre_tokenizer = P.ByteLevel(add_prefix_space=prefix)
        tokenizer.train([str(corpus)], T.BpeTrainer(initial_alphabet=BYTES, show_progress=False, **fields))
        model = json.loads(tokenizer.to_str())["model"]
        trained[name] = {"vocab": model["vocab"], "merges": model["merges"]}
    tokenizer = Tokenizer(M.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = P.Metaspace()
    tokenizer.train([str(corpus)], T.BpeTrainer(vocab_size=399, special_tokens=["</s>", "<unk>"], show_progress=False))
    trained["metaspace"] = json.loads(tokenizer.to_str())["model"]
    trained["unigram"] = unigram(corpus)
    write(ROOT / "training/trained.json", trained)
    write(ROOT / "unicode.json", unicode_checksums())


if __name__ == "__main__":
    main()
