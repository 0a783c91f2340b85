"""Directories of the tokenizers of every family, with fields of their files drawn by chance.

draw(rng, kind, directory) writes one; load(directory) is what transformers makes of it: AutoTokenizer, or where
that cannot read the directory the class that the directory names.
"""
import copy
import json
import os
import pickle
from collections import Counter, OrderedDict

os.environ["TRUST_REMOTE_CODE"] = "True"  # transformers requires it before it reads a pickle, here one of
                                          # ours

import transformers
from transformers import AddedToken, AutoTokenizer

import slow_tokenizers
from make_tokenizer_goldens import CORPUS
from slow_tokenizers import byte_level, spm, write

MBART = "ar_AR cs_CZ de_DE en_XX es_XX fr_XX ja_XX ro_RO zh_CN".split()
NLLB = "deu_Latn fra_Latn eng_Latn zho_Hans".split()
CLASS_NAMES = {
    "bert": "BertTokenizer", "electra": "ElectraTokenizer", "roberta": "RobertaTokenizer", "bart": "BartTokenizer",
    "deberta": "DebertaTokenizer", "gpt2": "GPT2Tokenizer", "gpt": "OpenAIGPTTokenizer", "ctrl": "CTRLTokenizer",
    "xlm": "XLMTokenizer", "transfo_xl": "TransfoXLTokenizer", "t5": "T5Tokenizer", "xlm_roberta": "XLMRobertaTokenizer",
    "camembert": "CamembertTokenizer", "mbart": "MBartTokenizer", "mbart50": "MBart50Tokenizer", "albert": "AlbertTokenizer",
    "xlnet": "XLNetTokenizer", "big_bird": "BigBirdTokenizer", "deberta_v2": "DebertaV2Tokenizer", "llama": "LlamaTokenizer",
    "m2m_100": "M2M100Tokenizer", "marian": "MarianTokenizer", "nllb": "NllbTokenizer", "pegasus": "PegasusTokenizer",
    "xglm": "XGLMTokenizer", "blenderbot": "BlenderbotTokenizer", "codegen": "CodeGenTokenizer", "mpnet": "MPNetTokenizer",
    "gemma": "GemmaTokenizer", "qwen2": "Qwen2Tokenizer", "whisper": "WhisperTokenizer",
    "byt5": "ByT5Tokenizer",
    "plbart": "PLBartTokenizer", "biogpt": "BioGptTokenizer", "blenderbot_small": "BlenderbotSmallTokenizer"}
KINDS = list(CLASS_NAMES)
SIZES = {"mask_token": ["<MASK!>", "[mask]"], "pad_token": ["<blank>"], "unk_token": []}


def wordpiece(d):
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = CORPUS.lower().split() + CORPUS.split()
    letters = sorted({letter for word in words for letter in word})
    tokens += [w for w in dict.fromkeys(words) if w.isalpha()] + letters + ["##" + letter for letter in letters]
    (d / "vocab.txt").write_text("".join(token + "\n" for token in dict.fromkeys(tokens)))


def fairseq(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)


def camembert(d, **fields):
    # Its checkpoints have these two before the others.
    spm(d / "sentencepiece.bpe.model", **fields)


BUILDERS = dict(slow_tokenizers.BUILDERS) | {
    "bert": wordpiece, "electra": wordpiece, "bart": lambda d: byte_level(d, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], ""),
    "camembert": camembert, "mbart": fairseq, "mbart50": fairseq, "xlm_roberta": fairseq}
SENTENCEPIECE = ["t5", "xlm_roberta", "camembert", "mbart", "mbart50", "albert", "xlnet", "big_bird", "deberta_v2", "llama", "gemma",
                 "m2m_100", "marian", "nllb", "pegasus", "xglm", "plbart"]


def maybe(rng, fields, chance=0.4):
    return {name: rng.choice(values) for name, values in fields.items() if rng.random() < chance}


def sentencepiece_fields(rng, kind):
    fields = maybe(rng, {"rules": ["nmt_nfkc", "nmt_nfkc_cf", "identity"], "add_dummy_prefix": [False],
                         "remove_extra_whitespaces": [False], "split_digits": [True]}, 0.25)
    if kind == "llama":
        return {name: fields[name] for name in fields if name in ("add_dummy_prefix", "split_digits")}
    if kind == "gemma":
        return {"split_digits": False} if "split_digits" in fields else {}
    if kind not in ("camembert", "xlnet") and rng.random() < 0.25:
        fields["user_defined_symbols"] = rng.choice([["<sep>", "ing"], ["▁the", "12"], ["<extra>"]])
    if rng.random() < 0.25:
        kinds = ["bpe"] if kind in ("nllb", "pegasus", "xglm") else ["bpe", "bpe", "char", "word"]
        fields["model_type"] = rng.choice(kinds)
    return fields


def own_fields(rng, kind):
    flag = [True, False]
    return maybe(rng, {
        "bert": {"do_lower_case": flag, "strip_accents": [True, False, None], "tokenize_chinese_chars": flag},
        "electra": {"do_lower_case": flag, "strip_accents": [True, False, None], "tokenize_chinese_chars": flag},
        "roberta": {"add_prefix_space": flag, "trim_offsets": flag}, "bart": {"add_prefix_space": flag, "trim_offsets": flag},
        "deberta": {"add_prefix_space": flag, "add_bos_token": flag}, "gpt2": {"add_prefix_space": flag, "add_bos_token": flag},
        "gpt": {}, "ctrl": {}, "xlm": {"do_lowercase_and_remove_accent": flag, "lang2id": [{"en": 0, "de": 1}]},
        "transfo_xl": {"lower_case": flag},
        "t5": {"extra_ids": [100, 5, 0], "legacy": flag, "add_prefix_space": flag},
        "xlm_roberta": {}, "camembert": {"additional_special_tokens": [["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"]]},
        "mbart": {"src_lang": MBART, "tgt_lang": MBART}, "mbart50": {"src_lang": MBART, "tgt_lang": MBART},
        "albert": {"do_lower_case": flag, "remove_space": flag, "keep_accents": flag},
        "xlnet": {"do_lower_case": flag, "remove_space": flag, "keep_accents": flag}, "big_bird": {},
        "deberta_v2": {"do_lower_case": flag, "split_by_punct": flag},
        "llama": {"legacy": flag, "add_prefix_space": flag, "add_bos_token": flag, "add_eos_token": flag,
                  "spaces_between_special_tokens": flag},
        "m2m_100": {"src_lang": ["de", "fr", "en"], "tgt_lang": ["de", "fr", "en"]},
        "nllb": {"src_lang": NLLB, "tgt_lang": NLLB, "legacy_behaviour": flag}, "pegasus": {}, "xglm": {},
        "blenderbot": {"add_prefix_space": flag}, "codegen": {"add_prefix_space": flag},
        "gemma": {"add_bos_token": flag, "add_eos_token": flag}, "qwen2": {"add_prefix_space": flag},
        "whisper": {"add_prefix_space": flag, "predict_timestamps": flag},
        "byt5": {"extra_ids": [125, 5, 0]},
        "mpnet": {"do_lower_case": flag, "strip_accents": [True, False, None], "tokenize_chinese_chars": flag},
        "plbart": {"src_lang": ["java", "python", "__en_XX__"], "tgt_lang": ["java", "en_XX"], "language_codes": ["base", "multi"]},
        "marian": {}, "biogpt": {}, "blenderbot_small": {}}[kind], 0.6)


NAMES = ["<new>", "newer", "ÀB", "[X]", "lamp s", "<|a|>", "ing"]


def added_token(rng, text):
    return {"content": text, "lstrip": rng.random() < 0.3, "rstrip": rng.random() < 0.3, "single_word": rng.random() < 0.2,
            "normalized": rng.random() < 0.4, "special": rng.random() < 0.4}


def draw(rng, kind, directory):
    """Returns what was drawn, in words."""
    directory.mkdir(parents=True)
    trained = sentencepiece_fields(rng, kind) if kind in SENTENCEPIECE else {}
    builder = kind
    if kind == "marian" and rng.random() < 0.4:
        builder = "marian_separate"
    if kind == "xlm":
        BUILDERS["xlm"](directory, rng.random() < 0.5)
    else:
        BUILDERS[builder](directory, **trained)
    path = directory / "tokenizer_config.json"
    config = json.loads(path.read_text()) if path.exists() else {}
    for name in ("legacy", "do_lower_case", "extra_ids", "src_lang", "tgt_lang"):
        config.pop(name, None)
    config |= {"tokenizer_class": CLASS_NAMES[kind]} | own_fields(rng, kind)
    if kind == "m2m_100":
        config |= {"src_lang": config.get("src_lang", "en")}
    config |= maybe(rng, {"padding_side": ["left", "right"], "truncation_side": ["left", "right"],
                          "clean_up_tokenization_spaces": [True, False]})
    if kind == "transfo_xl" and rng.random() < 0.5:
        to_pickle(rng, directory)
    if kind == "marian" and rng.random() < 0.5:
        only_by_target(directory)
    form = rng.choice(["plain", "plain", "legacy", "decoder", "saved", "saved_fast"])
    if kind == "pegasus" and form != "saved_fast":  # its fast class forgets tokens that were added
        form = "plain"
    # Transformer-XL treats its special tokens as regular expressions.
    new = rng.sample([name for name in NAMES if kind != "transfo_xl" or name.isalpha()], rng.randint(1, 3))
    if form == "plain" and rng.random() < 0.3 and kind not in ("camembert", "m2m_100"):
        config["additional_special_tokens"] = new
    write(path, config)
    if form == "legacy":
        size = len(load(directory)) + (8 if kind == "m2m_100" else 0)  # it used to have made-up words
        write(directory / "added_tokens.json", {text: size + i for i, text in enumerate(new)})
        if rng.random() < 0.5 and kind != "m2m_100":
            write(directory / "special_tokens_map.json", {"additional_special_tokens": new[:1]})
    elif form == "decoder":
        size = len(load(directory))
        decoder = {str(size + i): added_token(rng, text) for i, text in enumerate(new)}
        config["added_tokens_decoder"] = decoder
        if rng.random() < 0.5 and kind not in ("camembert", "m2m_100"):
            config["additional_special_tokens"] = new[:1]
        write(path, config)
    elif form.startswith("saved"):
        tokenizer = load(directory) if form == "saved_fast" else named_class(directory)
        tokenizer.add_tokens([AddedToken(**added_token(rng, text)) for text in new])
        if rng.random() < 0.3 and kind not in ("gpt2", "gpt", "ctrl"):
            tokenizer.add_special_tokens({"mask_token": "<MASK!>"} if kind not in ("transfo_xl",) else {"bos_token": "<bos>"})
        tokenizer.save_pretrained(directory)
    return f"{kind} {form} {trained} " + json.dumps({k: v for k, v in json.loads(path.read_text()).items()
                                                     if k not in ("added_tokens_decoder",)})[:700] + " new " + str(new)


def to_pickle(rng, d):
    words = [line.split()[0] for line in (d / "vocab.txt").read_text().splitlines()]
    words = list(dict.fromkeys(words))
    value = {"counter": Counter(words), "special": ["<eos>"], "min_freq": 0, "max_size": None, "lower_case": False, "delimiter": None,
             "vocab_file": None, "never_split": ["<eos>"], "idx2sym": words,
             "sym2idx": OrderedDict((word, i) for i, word in enumerate(words))}
    if rng.random() < 0.5:
        value["unk_idx"] = words.index("<unk>")
    name = rng.choice(["vocab.pkl", "vocab.bin"])
    if name == "vocab.bin":
        import torch
        torch.save(value, d / name)
    else:
        (d / name).write_bytes(pickle.dumps(value, protocol=rng.choice([2, 3, 4])))
    (d / "vocab.txt").unlink()


def only_by_target(d):
    """Some letters are in vocab.json, but not among the pieces of the source."""
    for name in ("vocab", "target_vocab"):
        if (d / f"{name}.json").exists():
            vocabulary = json.loads((d / f"{name}.json").read_text())
            for text in ("’", "▁’", "ж", "😀", "▁<new>", "Ж", "—"):
                vocabulary.setdefault(text, max(vocabulary.values()) + 1)
            write(d / f"{name}.json", vocabulary)


DEFAULTS = {}


def copy_defaults():
    """Some classes let go of lists that are defaults of theirs, and what one tokenizer adds to such a list is then in all."""
    for name in CLASS_NAMES.values():
        make = getattr(transformers, name).__init__
        make.__defaults__ = copy.deepcopy(DEFAULTS.setdefault(name, make.__defaults__))


def named_class(directory):
    copy_defaults()
    name = json.loads((directory / "tokenizer_config.json").read_text())["tokenizer_class"].removesuffix("Fast")
    return getattr(transformers, name).from_pretrained(str(directory))


def load(directory):
    copy_defaults()
    try:
        return AutoTokenizer.from_pretrained(str(directory))
    except Exception:
        return named_class(directory)
