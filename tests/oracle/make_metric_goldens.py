"""Writes what the originals of our metrics say of small data of our own, to tests/data/metrics: sacrebleu to
goldens.json; scikit-learn, scipy, seqeval, rouge_score and SQuAD's script (as transformers has it) to figures.json.

    python tests/oracle/make_metric_goldens.py
"""

import json
import warnings
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import seqeval.metrics
import sklearn.metrics
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU, CHRF
from scipy.stats import pearsonr, spearmanr
from seqeval.metrics.sequence_labeling import get_entities
from transformers.data.metrics import squad_metrics

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


def classification(labels, predicted, expected):
    average = "binary" if labels == 2 else "macro"
    f1, macro, precision, recall = (
        score(expected, predicted, average=a, zero_division=0)
        for score, a in [(sklearn.metrics.f1_score, average), (sklearn.metrics.f1_score, "macro"),
                         (sklearn.metrics.precision_score, average), (sklearn.metrics.recall_score, average)])
    return {"labels": labels, "predicted": predicted, "expected": expected, "figures": {
        "accuracy": sklearn.metrics.accuracy_score(expected, predicted), "f1": f1, "precision": precision,
        "recall": recall, "macro_f1": macro, "matthews": sklearn.metrics.matthews_corrcoef(expected, predicted)}}


def multi_label(labels, predicted, expected):
    def indicators(examples):
        return np.array([[label in example for label in range(labels)] for example in examples], dtype=int)
    ours, theirs = indicators(predicted), indicators(expected)
    f1, macro, precision, recall = (
        score(theirs, ours, average=a, zero_division=0)
        for score, a in [(sklearn.metrics.f1_score, "micro"), (sklearn.metrics.f1_score, "macro"),
                         (sklearn.metrics.precision_score, "micro"), (sklearn.metrics.recall_score, "micro")])
    return {"labels": labels, "predicted": predicted, "expected": expected, "figures": {
        "accuracy": sklearn.metrics.accuracy_score(theirs, ours), "f1": f1, "precision": precision,
        "recall": recall, "macro_f1": macro}}


def regression(predicted, expected):
    figures = {"pearson": pearsonr(predicted, expected)[0], "spearman": spearmanr(predicted, expected)[0],
               "mean_squared_error": sklearn.metrics.mean_squared_error(expected, predicted)}
    return {"predicted": predicted, "expected": expected,
            "figures": {name: None if np.isnan(value) else float(value) for name, value in figures.items()}}


def tags(predicted, expected):
    figures = {"accuracy": seqeval.metrics.accuracy_score(expected, predicted)}
    names = sorted({tag for sequence in predicted + expected for tag in sequence})
    if any(tag.startswith(("B-", "I-")) for tag in names):
        figures |= {name: getattr(seqeval.metrics, f"{name}_score")(expected, predicted, zero_division=0)
                    for name in ["f1", "precision", "recall"]}
    else:
        flat = [[tag for sequence in side for tag in sequence] for side in (expected, predicted)]
        figures["macro_f1"] = figures["f1"] = sklearn.metrics.f1_score(*flat, average="macro")
    return {"tags": names, "predicted": predicted, "expected": expected,
            "entities": [get_entities(sequence) for sequence in expected], "figures": figures}


def answers(examples):
    data = [SimpleNamespace(qas_id=i, answers=[{"text": a} for a in expected])
            for i, (_, expected) in enumerate(examples)]
    exact, f1 = squad_metrics.get_raw_scores(data, {i: predicted for i, (predicted, _) in enumerate(examples)})
    figures = squad_metrics.make_eval_dict(exact, f1)
    has = [e.qas_id for e in data if any(squad_metrics.normalize_answer(a["text"]) for a in e.answers)]
    result = {"exact_match": figures["exact"], "f1": figures["f1"]}
    if len(has) < len(data):
        yes = squad_metrics.make_eval_dict(exact, f1, has)
        no = squad_metrics.make_eval_dict(exact, f1, [i for i in range(len(data)) if i not in has])
        result |= {"has_answer_exact_match": yes["exact"], "has_answer_f1": yes["f1"],
                   "no_answer_exact_match": no["exact"]}
    return {"examples": examples, "normalized": [squad_metrics.normalize_answer(p) for p, _ in examples],
            "figures": result}


def rouge(pairs):
    names = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
    scores = [RougeScorer(names).score(target=reference, prediction=hypothesis) for hypothesis, reference in pairs]
    return {"pairs": pairs, "texts": [{n: score[n].fmeasure for n in names} for score in scores],
            "figures": {n: sum(score[n].fmeasure for score in scores) / len(scores) for n in names}}


ANSWERS = [
    ("the Green Lamp", ["green lamp"]),
    ("in 1,250", ["1250", "in the year 1250"]),
    ("a an the", ["the"]),
    ("", []),
    ("something", []),
    ("something", ["", "the"]),
    ("An  oak\u00a0tree -- there!", ["oak tree", "an elm"]),
    ("well-known", ["well known", "wellknown"]),
    ("the\u2013a\u2014lake the_end the\u0301 th\u00e9 a\u00e9 \u0391\u03a3", ["\u2013 \u2014lake theend", "\u03b1\u03c2"]),
    ("red red blue", ["red blue blue", "blue"]),
    ("\u00c9TAT \u0130zmir", ["\u00e9tat i\u0307zmir"]),
    ("x", [" y "]),
]
TAGS = [
    # (predicted, expected): IOB2, then tags that only a lenient reader treats as entities, then IOBES
    ("B-PER I-PER O B-LOC", "B-PER I-PER O B-LOC"),
    ("B-PER O O B-LOC I-LOC", "B-PER I-PER O B-LOC I-LOC"),
    ("I-PER I-PER I-LOC O I-LOC", "B-PER I-PER B-LOC O B-LOC"),
    ("B-PER B-PER I-LOC I-LOC", "I-PER B-PER I-PER I-LOC"),
    ("O O O", "O B-MISC I-MISC"),
    ("S-PER B-LOC I-LOC E-LOC S-PER", "S-PER B-LOC I-LOC E-LOC O"),
    ("E-PER E-PER I-PER S-LOC E-LOC", "B-PER E-PER O S-LOC E-LOC"),
    ("B-A-B I-A-B I-A O", "B-A-B I-A-B O I-A"),
    ("B I O I", "B I I S"),
    ("O", "O"),
]
ROUGE = [
    ("The lamp on the table is green.", "The green lamp is on the table."),
    ("the the the cat", "the cat the hat"),
    ("", "an empty hypothesis"),
    ("an empty reference", ""),
    ("\u212aelvin \u00dcber 5\u00b0C well-known_words", "kelvin ber 5 c well known words"),
    ("\u4eca\u5929", "\u4eca\u5929"),
    ("one", "one"),
    ("police killed the gunman\nthe dog barked at the gunman", "the gunman was shot down by police\nthe dog barked"),
    ("a b c\nd e f\n\na b c", "c b a\na b\nf e d c"),
    ("x y x y x\ny x y", "y x y y x x\nx x y"),
    ("\n", "only one\nof two"),
]


def figures():
    warnings.simplefilter("ignore")  # for constant data and for tags without entities
    random = np.random.default_rng(7)

    def drawn(labels, examples):
        expected = random.integers(labels, size=examples)
        return [np.where(random.random(examples) < 0.6, expected, random.integers(labels, size=examples)).tolist(),
                expected.tolist()]

    def subsets(examples):
        return [np.flatnonzero(row).tolist() for row in random.random((examples, 5)) < [0.5, 0.3, 0.1, 0.7, 0]]

    noise, close = random.normal(size=(2, 30)), 1e6 + random.normal(size=(2, 20)) * 1e-3
    sequences = [[side.split() for side in pair] for pair in TAGS]
    words = [("NOUN VERB ADP", "NOUN NOUN ADP"), ("X", "PUNCT"), ("VERB NOUN", "VERB NOUN")]
    return {
        "classification": [classification(labels, *drawn(labels, examples))
                           for labels, examples in [(2, 40), (3, 50), (10, 12), (5, 1)]] + [
            classification(2, [0, 0, 0], [0, 1, 0]), classification(2, [0, 0], [0, 0]),
            classification(2, [1, 1, 1], [0, 1, 0]), classification(4, [3, 3, 3], [1, 1, 1]),
            classification(1, [0, 0], [0, 0])],
        "multi_label": [multi_label(5, subsets(30), subsets(30)), multi_label(3, [[], []], [[], []]),
                        multi_label(3, [[0, 2], [1]], [[2, 0], []])],
        "regression": [regression(noise[0].tolist(), (noise[0] + noise[1]).tolist()),
                       regression(close[0].tolist(), (close[0] + close[1]).tolist()),
                       regression([1, 2, 2, 3, 3, 3, 0], [5, 4, 5, 1, 1, 2, 9]),
                       regression([1.0, 2.0], [3.0, 1.0]), regression([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
                       regression([0.1, 0.2, 0.3], [0.1, 0.1, 0.1])],
        "tags": [tags([p], [e]) for p, e in sequences] + [
            tags([p for p, _ in sequences], [e for _, e in sequences]),
            tags(*[[pair[side].split() for pair in words] for side in (0, 1)])],
        "answers": [answers(ANSWERS), answers([example for example in ANSWERS if example[1] and example[0] != "a an the"
                                               and example[1] != ["", "the"]])],
        "rouge": [rouge(ROUGE)],
    }


folder = Path(__file__).parent.parent / "data" / "metrics"
folder.mkdir(parents=True, exist_ok=True)
text = json.dumps([corpus(*item) for item in CORPORA.items()], ensure_ascii=False, indent=1)
(folder / "goldens.json").write_text(text + "\n", encoding="utf-8")


def one_case_a_line(groups):
    """JSON that diffs well and yet is short."""
    rows = [f' {json.dumps(name)}: [\n  ' + ",\n  ".join(json.dumps(c, default=int) for c in cases) + "\n ]"
            for name, cases in groups.items()]
    return "{\n" + ",\n".join(rows) + "\n}\n"


(folder / "figures.json").write_text(one_case_a_line(figures()), encoding="utf-8")
