"""Directories without a tokenizer.json, and the tokenizers that transformers makes of them.

Everything is trained on our own corpus. build(name, directory) writes the files of one of NAMES and returns
the tokenizer that transformers makes of them.
"""
import json
import os
import pickle
from collections import Counter, OrderedDict

os.environ["TRUST_REMOTE_CODE"] = "True"  # transformers requires it before it reads a pickle, here one of
                                          # ours

import sentencepiece
import transformers
from sacremoses import MosesTokenizer
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer
from tokenizers import models as M
from tokenizers import normalizers as N
from tokenizers import pre_tokenizers as P
from tokenizers import trainers as T
from transformers.models.m2m_100.tokenization_m2m_100 import FAIRSEQ_LANGUAGE_CODES

from make_tokenizer_goldens import CORPUS
from sentencepiece_models import RULES, train

transformers.logging.set_verbosity_error()

def spm(path, rules=RULES, **fields):
    path.write_bytes(train(CORPUS.splitlines(), rules, **fields))


def write(path, value):
    path.write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def set_a_third_aside(path):
    """Texts may not have these pieces, which are there all the same."""
    model = sentencepiece_model_pb2.ModelProto.FromString(path.read_bytes())
    for piece in [piece for piece in model.pieces if piece.type == piece.NORMAL and piece.piece != "▁"][::3]:
        piece.type = piece.UNUSED
    path.write_bytes(model.SerializeToString())


def pieces(path):
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(i) for i in range(len(model))]


def t5(d, **fields):
    spm(d / "spiece.model", **(dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1) | fields))
    write(d / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "extra_ids": 100})


def t5_bytes(d, **fields):
    t5(d, byte_fallback=True, vocab_size=500, user_defined_symbols=["<sep>", "ing", "▁the"], **fields)


def t5_unused(d, **fields):
    t5(d, **(dict(vocab_size=400) | fields))
    set_a_third_aside(d / "spiece.model")


def xlm_roberta(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "config.json", {"model_type": "xlm-roberta"})


def albert(d, **fields):
    spm(d / "spiece.model", pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]", "[MASK]"], **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "AlbertTokenizer", "do_lower_case": True})


def t5_characters(d, **fields):
    t5(d, **(dict(model_type="char", user_defined_symbols=["<sep>", "ing"]) | fields))


def t5_words(d, **fields):
    t5(d, **(dict(model_type="word", vocab_size=400) | fields))


def t5_newer(d, **fields):
    t5(d, **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "T5Tokenizer", "extra_ids": 5, "legacy": False,
                                        "add_prefix_space": False})


def camembert(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "CamembertTokenizer"})


def mbart(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "MBartTokenizer", "src_lang": "de_DE", "tgt_lang": "fr_XX"})


def xlnet(d, **fields):
    spm(d / "spiece.model", control_symbols=["<cls>", "<sep>", "<pad>", "<mask>", "<eod>"],
        user_defined_symbols=["<eop>", ".", "(", ")"], **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "XLNetTokenizer"})


def big_bird(d, **fields):
    spm(d / "spiece.model", control_symbols=["[CLS]", "[SEP]", "[MASK]", "<pad>"], **fields)
    write(d / "config.json", {"model_type": "big_bird"})


def deberta_v2(d, **fields):
    spm(d / "spm.model", pad_id=0, bos_id=1, eos_id=2, unk_id=3, pad_piece="[PAD]", bos_piece="[CLS]", eos_piece="[SEP]",
        unk_piece="[UNK]", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "DebertaV2Tokenizer", "do_lower_case": True,
                                        "split_by_punct": True})


def llama(d, **fields):
    spm(d / "tokenizer.model", **(dict(rules="identity", model_type="bpe", byte_fallback=True, vocab_size=520,
                                       remove_extra_whitespaces=False) | fields))
    write(d / "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "legacy": True})


def bpe_symbols(d, **fields):
    llama(d, byte_fallback=False, vocab_size=300, user_defined_symbols=["<sep>", "ing", "▁the", "12"], rules=RULES,
          remove_extra_whitespaces=True, **fields)


def gemma(d, **fields):
    spm(d / "tokenizer.model", **(dict(rules="identity", model_type="bpe", byte_fallback=True, vocab_size=520, pad_id=0, eos_id=1, bos_id=2,
                                       unk_id=3, pad_piece="<pad>", eos_piece="<eos>", bos_piece="<bos>", add_dummy_prefix=False,
                                       allow_whitespace_only_pieces=True, split_digits=True, remove_extra_whitespaces=False,
                                       user_defined_symbols=["<mask>", "<start_of_turn>", "<end_of_turn>", "\n", "▁▁", "▁▁▁"]) | fields))
    write(d / "tokenizer_config.json", {"tokenizer_class": "GemmaTokenizer"})


def llama_newer(d, **fields):
    llama(d, **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "LlamaTokenizer", "legacy": False, "add_eos_token": True})


def llama_unused(d, **fields):
    llama(d, **fields)
    set_a_third_aside(d / "tokenizer.model")


def m2m_100(d, **fields):
    spm(d / "sentencepiece.bpe.model", **(dict(model_type="bpe") | fields))
    # Some pieces have no id, and the ids have another order.
    own = pieces(d / "sentencepiece.bpe.model")[3:]
    write(d / "vocab.json", {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>"] + own[::-1][:-7])})
    write(d / "tokenizer_config.json", {"tokenizer_class": "M2M100Tokenizer", "src_lang": "de", "tgt_lang": "fr"})
    # As in the checkpoints; without it transformers does not find the languages in a text.
    languages = FAIRSEQ_LANGUAGE_CODES["m2m100"]
    write(d / "special_tokens_map.json", {"additional_special_tokens": [f"__{name}__" for name in languages]})


def marian(d, **fields):
    spm(d / "source.spm", **fields)
    spm(d / "target.spm", **(fields | dict(vocab_size=230)))
    both = sorted(set(pieces(d / "source.spm")[3:-9]) | set(pieces(d / "target.spm")[3:]))
    write(d / "vocab.json", {token: i for i, token in enumerate(["</s>", "<unk>", ">>fr<<", ">>de<<"] + both + ["<pad>"])})
    write(d / "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de"})


def marian_separate(d, **fields):
    marian(d, **fields)
    for name, own in (("vocab", "source.spm"), ("target_vocab", "target.spm")):
        tokens = ["</s>", "<unk>", "<pad>", ">>fr<<"] + pieces(d / own)[:2:-1]
        write(d / f"{name}.json", {token: i for i, token in enumerate(tokens)})
    write(d / "tokenizer_config.json", {"tokenizer_class": "MarianTokenizer", "source_lang": "en", "target_lang": "de",
                                        "separate_vocabs": True})


def nllb(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "NllbTokenizer", "src_lang": "deu_Latn", "tgt_lang": "fra_Latn"})


def nllb_legacy(d, **fields):
    nllb(d, **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "NllbTokenizer", "legacy_behaviour": True})


def pegasus(d, **fields):
    spm(d / "spiece.model", **(dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1) | fields))
    write(d / "tokenizer_config.json", {"tokenizer_class": "PegasusTokenizer"})


def xglm(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "XGLMTokenizer"})


def plbart(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "PLBartTokenizer", "src_lang": "java", "tgt_lang": "en_XX"})


def plbart_multi(d, **fields):
    spm(d / "sentencepiece.bpe.model", **fields)
    write(d / "tokenizer_config.json", {"tokenizer_class": "PLBartTokenizer", "language_codes": "multi", "src_lang": "ruby"})


def mpnet(d):
    tokens = ["<s>", "<pad>", "</s>", "<unk>", "[UNK]", "<mask>"]
    words = CORPUS.lower().split()
    letters = sorted({letter for word in words for letter in word})
    tokens += [word for word in dict.fromkeys(words) if word.isalpha()] + letters + ["##" + letter for letter in letters]
    (d / "vocab.txt").write_text("".join(token + "\n" for token in dict.fromkeys(tokens)))
    write(d / "tokenizer_config.json", {"tokenizer_class": "MPNetTokenizer", "do_lower_case": True})


def word_bpe(d, lower):
    tokenizer = Tokenizer(M.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.normalizer = N.BertNormalizer() if lower else None
    tokenizer.pre_tokenizer = P.BertPreTokenizer() if lower else P.WhitespaceSplit()
    tokenizer.train_from_iterator(CORPUS.splitlines()[:12], T.BpeTrainer(
        vocab_size=380, special_tokens=["<unk>"], end_of_word_suffix="</w>", show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    (d / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(merge) + "\n" for merge in model["merges"]))
    return model["vocab"]


def gpt(d):
    write(d / "vocab.json", word_bpe(d, True))
    write(d / "tokenizer_config.json", {"tokenizer_class": "OpenAIGPTTokenizer"})


def without_some(tokens):
    return [token for i, token in enumerate(dict.fromkeys(tokens)) if i % 37 != 36]


def ends_marked(d, lower, first):
    """CTRL's vocabulary: what does not end a word is marked, and some of what the merges make has no id."""
    tokens = [token[:-4] if token.endswith("</w>") else token + "@@" for token in word_bpe(d, lower) if token != "<unk>"]
    write(d / "vocab.json", {token: i for i, token in enumerate(without_some(first + tokens))})


def blenderbot_small(d):
    ends_marked(d, True, ["__null__", "__start__", "__end__", "__unk__", "__newln__"])
    write(d / "tokenizer_config.json", {"tokenizer_class": "BlenderbotSmallTokenizer"})


def ctrl(d):
    ends_marked(d, False, ["<unk>"])
    write(d / "tokenizer_config.json", {"tokenizer_class": "CTRLTokenizer"})


def biogpt(d):
    vocabulary = word_bpe(d, False)
    merges = (d / "merges.txt").read_text().splitlines()[1:]
    (d / "merges.txt").write_text("".join(f"{merge} {1000 - i}\n" for i, merge in enumerate(merges)))
    learned = [token for token in vocabulary if token != "<unk>"]
    escapes = ["&apos;</w>", "&quot;</w>", "&amp;</w>", "&lt;</w>", "@-@</w>", "&", "#", ";", ";</w>", "@", "-", "</w>"]
    tokens = ["<s>", "<pad>", "</s>", "<unk>"] + without_some(learned + escapes)
    write(d / "vocab.json", {token: i for i, token in enumerate(dict.fromkeys(tokens))})
    write(d / "tokenizer_config.json", {"tokenizer_class": "BioGptTokenizer"})


def byte_level(d, specials, name):
    tokenizer = Tokenizer(M.BPE())
    tokenizer.pre_tokenizer = P.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(CORPUS.splitlines(), T.BpeTrainer(
        vocab_size=400, special_tokens=specials, initial_alphabet=sorted(P.ByteLevel.alphabet()), show_progress=False))
    model = json.loads(tokenizer.to_str())["model"]
    (d / "merges.txt").write_text("#version: 0.2\n" + "".join(" ".join(merge) + "\n" for merge in model["merges"]))
    write(d / "vocab.json", model["vocab"])
    write(d / "tokenizer_config.json", {"tokenizer_class": name})


def roberta(d):
    byte_level(d, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "RobertaTokenizer")


def deberta(d):
    byte_level(d, ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"], "DebertaTokenizer")


def gpt2(d):
    byte_level(d, ["<|endoftext|>"], "GPT2Tokenizer")


def blenderbot(d):
    byte_level(d, ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], "BlenderbotTokenizer")
    write(d / "tokenizer_config.json", {"tokenizer_class": "BlenderbotTokenizer", "add_prefix_space": True})


def codegen(d):
    byte_level(d, ["<|endoftext|>"], "CodeGenTokenizer")


def qwen2(d):
    byte_level(d, ["<|endoftext|>", "<|im_start|>", "<|im_end|>"], "Qwen2Tokenizer")


def byt5(d):
    write(d / "tokenizer_config.json", {"tokenizer_class": "ByT5Tokenizer"})


def whisper(d):
    marks = ["<|startoftranscript|>", "<|notimestamps|>"]
    byte_level(d, ["<|endoftext|>", *marks], "WhisperTokenizer")
    write(d / "tokenizer_config.json", {"tokenizer_class": "WhisperTokenizer", "additional_special_tokens": marks})


def opt(d):
    byte_level(d, ["<s>", "<pad>", "</s>", "<unk>"], "GPT2Tokenizer")
    roles = {"bos_token": "</s>", "eos_token": "</s>", "unk_token": "</s>", "pad_token": "<pad>"}
    write(d / "tokenizer_config.json", {"tokenizer_class": "GPT2Tokenizer", "add_bos_token": True} | roles)
    write(d / "special_tokens_map.json", roles)


def xlm(d, lower=True):
    vocabulary = word_bpe(d, lower)
    merges = (d / "merges.txt").read_text().splitlines()[1:]
    (d / "merges.txt").write_text("".join(f"{merge} {1000 - i}\n" for i, merge in enumerate(merges)))
    # Some intermediate results of the merges have no id.
    learned = [token for i, token in enumerate(vocabulary) if token != "<unk>" and i % 37 != 36]
    tokens = ["<s>", "</s>", "<pad>", "<unk>"] + [f"<special{i}>" for i in range(9)] + learned
    write(d / "vocab.json", {token: i for i, token in enumerate(tokens)})
    write(d / "tokenizer_config.json", {"tokenizer_class": "XLMTokenizer", "do_lowercase_and_remove_accent": lower})


def xlm_cased(d):
    xlm(d, False)


def transfo_xl(d, lower=False):
    text = CORPUS.lower() if lower else CORPUS
    words = [word for line in text.splitlines() for word in MosesTokenizer().tokenize(line, True, escape=False)]
    tokens = ["<eos>", "<unk>", "@,@", "@.@", "@-@", "kitchen", "was", "walk", "5", "000", "'", "'s", '"', "...", "Mr.", "Mr", "i.e.", "No",
              "No.", "pp", "pp.", "hall.", "U.S.", "well", "known", "c", "'d", "c'", "o", "'clock"] + words
    (d / "vocab.txt").write_text("".join(f"{token} 7\n" for token in tokens))
    write(d / "tokenizer_config.json", {"tokenizer_class": "TransfoXLTokenizer", "lower_case": lower})


def transfo_xl_lower(d):
    transfo_xl(d, True)


def transfo_xl_pickle(d):
    transfo_xl(d)
    words = list(dict.fromkeys(line.split()[0] for line in (d / "vocab.txt").read_text().splitlines()))
    value = {"counter": Counter(words), "special": ["<eos>"], "idx2sym": words, "min_freq": 0, "lower_case": False,
             "sym2idx": OrderedDict((word, i) for i, word in enumerate(words)), "unk_idx": words.index("<unk>")}
    (d / "vocab.pkl").write_bytes(pickle.dumps(value, protocol=4))
    (d / "vocab.txt").unlink()


BUILDERS = {f.__name__: f for f in (t5, t5_bytes, t5_unused, t5_characters, t5_words, t5_newer, camembert, mbart, xlm_roberta, albert, xlnet, big_bird, deberta_v2, llama, gemma,
                                    llama_newer, llama_unused, bpe_symbols, m2m_100, marian, marian_separate, nllb, nllb_legacy, pegasus, xglm, plbart, plbart_multi, gpt, ctrl,
                                    biogpt, blenderbot_small, roberta,
                                    deberta, gpt2, blenderbot, codegen, qwen2, whisper, byt5, opt, mpnet, xlm, xlm_cased, transfo_xl, transfo_xl_lower, transfo_xl_pickle)}
NAMES = list(BUILDERS)
TWO_SIDED = ["mbart", "m2m_100", "marian", "marian_separate", "nllb", "plbart", "plbart_multi"]
MOSES = ["biogpt", "xlm", "xlm_cased", "transfo_xl", "transfo_xl_lower", "transfo_xl_pickle"]
SENTENCEPIECE = NAMES[:NAMES.index("gpt")]


def build(name, directory, **fields):
    directory.mkdir(parents=True, exist_ok=True)
    BUILDERS[name](directory, **fields)
    return load(directory)


def load(directory):
    """AutoTokenizer; the class that the directory names where transformers cannot convert the model."""
    try:
        return transformers.AutoTokenizer.from_pretrained(str(directory))
    except Exception:
        name = json.loads((directory / "tokenizer_config.json").read_text())["tokenizer_class"].removesuffix("Fast")
        return getattr(transformers, name).from_pretrained(str(directory))
