"""Writes tests/data/metrics/goldens.json: what sacrebleu says of a few small corpora (our own sentences).

    python tests/oracle/make_metric_goldens.py
"""

import json
from itertools import product
from pathlib import Path

from sacrebleu.metrics import BLEU, CHRF

# (hypothesis, reference)
PLAIN = [
    ("The lamp on the table is green.", "The lamp on the table is green."),
    ("She paid 1,250.50 euros for it, in 2019.", "She paid 1,250.50 euros for it in 2019, she said."),
    ("Is this well-known (or not)?", "Is that well-known, or is it not?"),
    ("Pages 12-14 are missing", "Pages 12-14, and 20- 22, are missing."),
    ("He said: \"It's late; don't wait!\"", "He said: 'It is late - do not wait!'"),
    ("50% off & more: a/b, c_d, e@f.org #1 ~x^y`z {a|b} [c] <d> $5 *+= \\", "50 % off and more: a/b c_d, e@f.org # 1"),
    ("Der Zug hält nicht überall, leider.", "Der Zug hält leider nicht überall."),
    ("and so on...", "and so on ..."),
    (".5 and 5. and ,5 and 5,", "0.5 and 5 and 0,5 and 5"),
    ("the the the the the", "the cat saw the dog"),
]
UNICODE = [
    ("«Où est-il ?» demanda‑t‑elle… 3 €", "« Où est-il ? » demanda-t-elle ... 3€"),
    ("ΟΔΟΣ ΣΟΦΙΑΣ, ΑΣ' Σ.", "οδός Σοφίας, ας Σ"),
    ("İstanbul'da IĞDIR ÇOK UZAK", "istanbul'da ığdır çok uzak"),
    ("今天天气很好,我们去公园吧。", "今天天氣很好,我們去公園。"),
    ("Цена — 5 000 руб. (№ 7)", "Цена 5000 руб. — № 7"),
    ("1²+2³=9 ≠ 10 → ½ x⁄y ५,६", "1² + 2³ = 9 → ½ ५,६ x"),
    ("नमस्ते दुनिया।", "नमस्ते, दुनिया।"),
    ("👩‍🔬 writes 🧪🧪 notes!!", "👩‍🔬 writes 🧪 notes!"),
    ("a b\u3000c d\x1ce", "a b c d e"),
    ("ǅUNGLA STRASSE ẞ ﬁn", "ǆungla straße ß fin"),
]
ENTITIES = [
    ("&quot;A&quot; &amp;amp; B &lt;b&gt; <skipped>end", "\"A\" & B <b> end"),
    ("  leading and trailing  \t ", "leading and trailing"),
    ("", "an empty hypothesis"),
    ("an empty reference", ""),
    ("   ", "!"),
]
CORPORA = {
    "plain": PLAIN,
    "unicode": UNICODE,
    "entities": ENTITIES,
    "everything": PLAIN + UNICODE + ENTITIES,
    "too short for 4-grams": [("one two", "one two"), ("three", "three")],
    "no 3-gram matches": [("a b c d e f", "a b x d e y"), ("g h i j", "g h k j")],
    "nothing matches": [("a b c d e", "f g h i j k l")],
    "empty output": [("", "f g h")],
}


def bleu(hypotheses, references, tokenizer, lowercase):
    metric = BLEU(tokenize=tokenizer, lowercase=lowercase)
    score = metric.corpus_score(hypotheses, [references])
    signature = metric.get_signature().format().rsplit("|version", 1)[0]
    return {"tokenizer": tokenizer, "lowercase": lowercase, "score": score.score, "precisions": score.precisions,
            "line": score.format(signature=signature)}


def chrf(hypotheses, references, word_order, lowercase):
    metric = CHRF(word_order=word_order, lowercase=lowercase)
    score = metric.corpus_score(hypotheses, [references])
    signature = metric.get_signature().format().rsplit("|version", 1)[0]
    return {"word_order": word_order, "lowercase": lowercase, "score": score.score,
            "line": score.format(signature=signature)}


def corpus(name, pairs):
    hypotheses, references = (list(side) for side in zip(*pairs))
    tokenizers = ["13a", "intl", "char", "none"]
    return {
        "name": name, "hypotheses": hypotheses, "references": references,
        "words": {name: [BLEU(tokenize=name)._preprocess_segment(line) for line in hypotheses]
                  for name in tokenizers if name != "none"},
        "bleu": [bleu(hypotheses, references, t, l) for t, l in product(tokenizers, [False, True])],
        "chrf": [chrf(hypotheses, references, w, l) for w, l in product([0, 1, 2], [False, True])],
    }


folder = Path(__file__).parent.parent / "data" / "metrics"
folder.mkdir(parents=True, exist_ok=True)
text = json.dumps([corpus(*item) for item in CORPORA.items()], ensure_ascii=False, indent=1)
(folder / "goldens.json").write_text(text + "\n", encoding="utf-8")
