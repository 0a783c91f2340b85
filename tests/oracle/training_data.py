"""Small data sets of our own, one for each objective, and tiny tokenizers that read them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable, Sequence

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

SENTENCES = [
    "The ferry leaves the harbour at nine.",
    "Nobody has seen the grey cat since Tuesday!",
    "Rain.",
    "She painted the kitchen door green, and then the window frames as well.",
    "Why is the bakery closed?",
    "Two old men play chess under the lime trees.",
    "It isn't far: cross the bridge and turn left.",
    "The museum's lift was out of order again.",
    "A train of forty wagons rolled slowly past the station in the dark.",
    "Good soup!",
    "Anna gave Peter the map that her uncle had drawn.",
]
LABELS = ["bad", "fine", "good"]
TAGS = ["B-PER", "I-PER", "O", "PUNCT"]


def lines(path: Path, rows: Sequence[str]) -> list[Path]:
    path.write_text("".join(row + "\n" for row in rows))
    return [path]


def classification(folder: Path) -> list[Path]:
    return lines(folder / "data.tsv", [f"{text}\t{LABELS[i * 5 % 3]}" for i, text in enumerate(SENTENCES)])


def regression(folder: Path) -> list[Path]:
    rows = [f"{a}\t{b}\t{i * 7 % 5 / 2 - 0.75}" for i, (a, b) in enumerate(zip(SENTENCES, SENTENCES[3:]))]
    return lines(folder / "data.tsv", rows)


def multi_label(folder: Path) -> list[Path]:
    rows = [{"text": text, "labels": [LABELS[j] for j in range(3) if (i * 3 + 1) >> j & 1]} for i, text in enumerate(SENTENCES)]
    return lines(folder / "data.jsonl", [json.dumps(row) for row in rows])


def token_classification(folder: Path) -> list[Path]:
    rows = []
    for text in SENTENCES:
        for word in text.split():
            tag = "B-PER" if word in ("Anna", "Peter") else "I-PER" if word == "uncle" else "PUNCT" if word[-1] in ".!?" else "O"
            rows.append(f"{word}\t{tag}")
        rows.append("")
    return lines(folder / "data.txt", rows)


def question_answering(folder: Path) -> list[Path]:
    context = " ".join(SENTENCES)
    asked = [("When does the ferry leave?", "nine"), ("Who has the map?", "Peter"), ("What did she paint?", "the kitchen door"),
             ("How many wagons?", "forty"), ("Where do they play chess?", "under the lime trees")]  # fmt: skip
    rows = []
    for i, (question, answer) in enumerate(asked):
        text = context if i % 2 == 0 else next(sentence for sentence in SENTENCES if answer in sentence)
        rows.append({"id": str(i), "question": question, "context": text,
                     "answers": {"text": [answer], "answer_start": [text.index(answer)]}})  # fmt: skip
    rows.append({"question": "Who won?", "context": SENTENCES[5], "answers": {"text": [], "answer_start": []}})
    return lines(folder / "data.jsonl", [json.dumps(row) for row in rows])


def multiple_choice(folder: Path) -> list[Path]:
    rows: list[dict[str, Any]] = [
        {"question": SENTENCES[4], "choices": ["It is Sunday.", "It rains.", "Two old men."], "label": 0},
        {"question": "What was broken?", "context": SENTENCES[7], "choices": ["The lift", "The door"], "label": 0},
        {"question": "Who drew it?", "context": SENTENCES[10], "choices": ["Anna", "Peter", "the uncle", "nobody"], "label": 3},
        {"question": SENTENCES[6], "choices": ["Thank you!", "Good soup!"], "label": "Thank you!"},
        {"question": "How was it?", "choices": ["Nine.", SENTENCES[9], SENTENCES[8]], "label": 1},
    ]
    return lines(folder / "data.jsonl", [json.dumps(row) for row in rows])


def running_text(folder: Path) -> list[Path]:
    return lines(folder / "data.txt", SENTENCES[:6] + [""] + SENTENCES[6:])


def sequence_to_sequence(folder: Path) -> list[Path]:
    sources, targets = folder / "data.source", folder / "data.target"
    return lines(sources, SENTENCES) + lines(targets, [" ".join(reversed(text.split())) for text in SENTENCES])


# The kinds of tokenizers: each learns a few hundred tokens from the sentences.
def word_pieces() -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.train_from_iterator(SENTENCES, trainers.WordPieceTrainer(vocab_size=130, special_tokens=list(BERT.values()), show_progress=False))
    return tokenizer


def byte_level(specials: list[str], prefix: bool = False) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(SENTENCES, trainers.BpeTrainer(vocab_size=330, special_tokens=specials, initial_alphabet=alphabet, show_progress=False))
    return tokenizer


def unigram(specials: list[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.train_from_iterator(SENTENCES, trainers.UnigramTrainer(vocab_size=150, special_tokens=specials, unk_token="<unk>", show_progress=False))
    return tokenizer


BERT = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
ROBERTA = {"cls_token": "<s>", "pad_token": "<pad>", "sep_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>",
           "bos_token": "<s>", "eos_token": "</s>"}  # fmt: skip
GPT2 = {"eos_token": "<|endoftext|>", "bos_token": "<|endoftext|>", "unk_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
T5 = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
ALBERT = {"pad_token": "<pad>", "unk_token": "<unk>", "cls_token": "[CLS]", "sep_token": "[SEP]", "mask_token": "[MASK]"}
XLNET = {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>", "cls_token": "<cls>", "sep_token": "<sep>", "pad_token": "<pad>",
         "mask_token": "<mask>"}  # fmt: skip


def framed(tokenizer: Tokenizer, single: str, pair: str, roles: dict[str, str], names: Sequence[str]) -> PreTrainedTokenizerFast:
    special = sorted(set(roles.values()))
    ids = [(token, tokenizer.token_to_id(token)) for token in special]
    tokenizer.post_processor = processors.TemplateProcessing(single=single, pair=pair, special_tokens=ids)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_input_names=list(names), **roles)


WITH_TYPES, WITHOUT_TYPES = ("input_ids", "token_type_ids", "attention_mask"), ("input_ids", "attention_mask")
TOKENIZERS: dict[str, Callable[[], PreTrainedTokenizerFast]] = {
    "bert": lambda: framed(word_pieces(), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", BERT, WITH_TYPES),
    "distilbert": lambda: framed(word_pieces(), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", BERT, WITHOUT_TYPES),
    "roberta": lambda: framed(byte_level(list(dict.fromkeys(ROBERTA.values()))), "<s> $A </s>", "<s> $A </s> </s> $B </s>", ROBERTA, WITHOUT_TYPES),
    "gpt2": lambda: PreTrainedTokenizerFast(tokenizer_object=byte_level(["<|endoftext|>"]), model_input_names=list(WITHOUT_TYPES), **GPT2),
    "t5": lambda: framed(unigram(list(T5.values())), "$A </s>", "$A </s> $B </s>", T5, WITHOUT_TYPES),
    "albert": lambda: framed(unigram(list(ALBERT.values())), "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", ALBERT, WITH_TYPES),
    "xlnet": lambda: framed(unigram(list(XLNET.values())), "$A <sep> <cls>:2", "$A <sep> $B:1 <sep>:1 <cls>:2", XLNET, WITH_TYPES),
}
