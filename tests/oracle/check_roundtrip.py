"""A model directory that attend wrote, in transformers: loads without a remark, same tokens, same logits, same ids.

    python check_roundtrip.py MODEL_DIRECTORY --attend build/release/attend
    python check_roundtrip.py MODEL_DIRECTORY --attend build/release/attend --texts some.txt --target-texts other.txt
    python check_roundtrip.py --fresh --attend build/release/attend
    python check_roundtrip.py --heads --attend build/release/attend
    python check_roundtrip.py --self-test

For what `attend train` and `attend init` made, of any family. `--fresh`: a small fresh model of every family.
`--heads`: the same body under every head, each of whose tensors must be drawn as the original draws it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import warnings
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Callable, Sequence

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
from transformers import CONFIG_MAPPING, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerFast

import remote_configs
import remote_heads
from check_generation import differences
from common import Attend, AttendFailed, Runner, Table, Tensors, compare
from float64 import double_of
from forward import Original
from model_cases import CASES
from models import make_model
from original_generate import original_generate
from random_inputs import IGNORED, make_inputs
from stand_in import Spoiled, StandIn

TEXTS = [
    "A small boat waits at the end of the pier.",
    "Why would anyone paint a door green?",
    "Two children, one dog and three umbrellas: it rains again!",
    "Rain.",
    "The museum opens at 9:30, but the café next door never closes before midnight.",
    "Grüße aus Köln – schönes Wetter heute.",
]
TARGET_TEXTS = [
    "Ein kleines Boot wartet am Ende des Stegs.",
    "Warum sollte jemand eine Tür grün streichen?",
    "Zwei Kinder, ein Hund und drei Schirme: es regnet wieder!",
    "Regen.",
    "Das Museum öffnet um 9:30 Uhr, aber das Café nebenan schließt nie vor Mitternacht.",
    "Greetings from Cologne, fine weather today.",
]
NEW_TOKENS = 20


def pad(rows: Sequence[Sequence[int]], filler: int, left: bool = False) -> torch.Tensor:
    longest = max(map(len, rows))
    padded = [[filler] * (longest - len(r)) * left + [*r] + [filler] * (longest - len(r)) * (not left) for r in rows]
    return torch.tensor(padded)


def encode(model: PreTrainedModel, source: list[list[int]], target: list[list[int]], left: bool = False) -> Tensors:
    """The batch as transformers users make it: padded, with a mask; labels where the model has a loss."""
    config = model.config
    filler = config.pad_token_id or 0
    ids, mask = pad(source, filler, left), pad([[1] * len(row) for row in source], 0, left)
    inputs = {"input_ids": ids, "attention_mask": mask}
    head = type(model).__name__
    if config.is_encoder_decoder:
        inputs["labels"] = pad(target, IGNORED)
    elif head.endswith(("LMHeadModel", "MaskedLM")):
        inputs["labels"] = ids.masked_fill(mask == 0, IGNORED)
    return inputs


def check(attend: Runner, directory: Path, texts: list[str], target_texts: list[str]) -> Table:
    table = Table([("check", 10), ("size", 40)])
    original, exact = Original.load(directory), Original.load(directory, torch.float64)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    source = [tokenizer(text)["input_ids"] for text in texts]
    target = [tokenizer(text_target=text)["input_ids"] for text in target_texts]

    def row(name: str, size: str, compare_now: Callable[[], list[str]]) -> None:
        try:
            found = compare_now()
        except AttendFailed as error:
            found = [str(error)]
        table.row([name, size], bool(found), found)

    def tokens() -> list[str]:
        made = attend.tokenize(directory, texts)
        return [f"{t!r}: {a} for {b}" for t, a, b in zip(texts, made, source, strict=True) if list(a) != b]

    def forward() -> list[str]:
        inputs = encode(original.model, source, target)
        gradients = "labels" in inputs
        got = attend.forward(directory, inputs, gradients=gradients)
        findings = compare(original.run(inputs, gradients=gradients), got, exact.run(inputs, gradients=gradients))
        return [str(finding) for finding in findings if finding.failed]

    def generation(settings: dict[str, Any]) -> list[str]:
        inputs = encode(original.model, source, target, left=not original.model.config.is_encoder_decoder)
        inputs.pop("labels", None)
        settings = {"max_new_tokens": NEW_TOKENS} | settings
        wanted = original_generate(original.model, inputs, settings)
        return differences(wanted, attend.generate(directory, inputs, settings))

    row("tokens", f"{sum(map(len, source))} tokens in {len(texts)} texts", tokens)
    row("forward", f"{len(original.names)} tensors in the checkpoint", forward)
    if original.model.can_generate():
        padding = {} if original.model.config.pad_token_id is not None else {"pad_token_id": 0}
        row("greedy", f"{NEW_TOKENS} new tokens", lambda: generation({"num_beams": 1} | padding))
        row("beams", "4 beams", lambda: generation({"num_beams": 4} | padding))
    return table


BERT_SIZES = "vocab_size=101 hidden_size=36 num_hidden_layers=2 num_attention_heads=3 intermediate_size=50"
LLAMA_SIZES = f"num_key_value_heads=1 {BERT_SIZES}"
GPT_SIZES = "vocab_size=101 n_embd=36 n_layer=2 n_head=3 n_positions=40"
PAIR_SIZES = " ".join(
    f"{stack}_{name}" for stack in ("encoder", "decoder") for name in ("layers=2", "attention_heads=3", "ffn_dim=50")
)
FRESH = {  # family: fields that make its usual preset small
    **{family: BERT_SIZES for family in ("bert", "roberta", "xlm-roberta", "deberta", "deberta-v2", "camembert", "data2vec-text",
                                         "ernie", "megatron-bert", "mpnet", "roberta-prelayernorm", "roformer", "xlm-roberta-xl")},
    **{family: f"{BERT_SIZES} embedding_size=30" for family in ("electra", "albert")},
    "distilbert": "vocab_size=101 dim=36 n_layers=2 n_heads=3 hidden_dim=50",
    "big_bird": f"{BERT_SIZES} block_size=4 num_random_blocks=1",
    **{family: GPT_SIZES for family in ("gpt2", "openai-gpt", "attend-gpt3")},
    "ctrl": f"{GPT_SIZES} dff=50",
    "gptj": f"{GPT_SIZES} rotary_dim=4",
    "gpt_neo": 'vocab_size=101 hidden_size=36 num_layers=2 num_heads=3 attention_types=[[["global","local"],1]]',
    **{f: f"vocab_size=101 d_model=36 pad_token_id=1 {PAIR_SIZES}" for f in ("bart", "m2m_100", "mbart", "plbart")},
    **{f: f"vocab_size=101 d_model=36 {PAIR_SIZES}" for f in ("pegasus", "blenderbot", "blenderbot-small")},
    "codegen": "vocab_size=101 n_embd=48 n_layer=2 n_head=4 n_positions=40 rotary_dim=4",
    "opt": "vocab_size=101 hidden_size=36 word_embed_proj_dim=36 num_hidden_layers=2 num_attention_heads=3 ffn_dim=50",
    "xglm": "vocab_size=101 d_model=36 num_layers=2 attention_heads=3 ffn_dim=50",
    "biogpt": BERT_SIZES,
    "marian": f"vocab_size=101 d_model=36 pad_token_id=100 decoder_start_token_id=100 eos_token_id=0 {PAIR_SIZES}",
    **{f: LLAMA_SIZES for f in ("llama", "mistral", "qwen2", "granite", "starcoder2", "cohere")},
    **{f: f"{LLAMA_SIZES} head_dim=6" for f in ("qwen3", "gemma", "gemma2", "gemma3_text")},
    **{f: f"{LLAMA_SIZES} pad_token_id=0" for f in ("phi3", "smollm3", "olmo2", "olmo3")},
    **{f: f"{LLAMA_SIZES} partial_rotary_factor=0.5" for f in ("phi", "stablelm")},
    "bloom": "vocab_size=101 hidden_size=36 n_layer=2 n_head=3",
    "falcon": "vocab_size=101 hidden_size=36 num_hidden_layers=2 num_attention_heads=3",
    "mpt": "vocab_size=101 d_model=36 n_layers=2 n_heads=3",
    "modernbert": f"{LLAMA_SIZES} pad_token_id=0 local_attention=4".replace("num_key_value_heads=1 ", ""),
    "nomic_bert": f"{GPT_SIZES} n_inner=50",
    **{f: f"{BERT_SIZES} type_vocab_size=2" for f in ("new", "jina_bert")},
    "mixtral": f"{LLAMA_SIZES} num_local_experts=5",
    "olmoe": f"{LLAMA_SIZES} pad_token_id=0 num_experts=5 num_experts_per_tok=2",
    **{f: f"{LLAMA_SIZES} num_experts=5 num_experts_per_tok=2 moe_intermediate_size=10" for f in ("qwen2_moe", "qwen3_moe")},
    "gpt_oss": f"{LLAMA_SIZES} head_dim=6 pad_token_id=0 num_local_experts=5 num_experts_per_tok=2",
    "gpt_neox": f"{LLAMA_SIZES} rotary_pct=0.5".replace("num_key_value_heads=1 ", ""),
    **{f: "hidden_size=36 num_hidden_layers=2 num_attention_heads=3 intermediate_size=50 image_size=17 patch_size=4"
       for f in ("vit", "vit_msn")},
    "xlm": "vocab_size=101 emb_dim=36 n_layers=2 n_heads=3 n_langs=3",
    "xlnet": "vocab_size=101 d_model=36 n_layer=2 n_head=3 d_inner=50",
    "transfo-xl": "vocab_size=101 cutoffs=[20,60] d_model=36 d_embed=36 n_layer=2 n_head=3 d_head=12 d_inner=50 mem_len=0 same_length=false",
    **{f: "vocab_size=101 d_model=36 d_kv=12 d_ff=50 num_layers=2 num_decoder_layers=2 num_heads=3" for f in ("t5", "mt5", "umt5")},
}


def check_fresh(attend: Attend) -> Table:
    """What a fresh model of every family computes in transformers, which must miss and ignore nothing."""
    table = Table([("family", 12), ("tensors", 7), ("value", 8)])
    assert FRESH.keys() == {case.family for case in CASES.values()}, "a family is missing"
    for family, fields in FRESH.items():
        with TemporaryDirectory() as folder:
            directory = Path(folder) / family
            settings = [part for field in fields.split() for part in ("--set", field)]
            try:
                attend.run("init", family, directory, "--seed", "3", *settings)
                original = Original.load(directory)  # refuses missing and unexpected tensors
                layout = "plain" if family in ("vit", "vit_msn", "transfo-xl") else "right"  # they take no
                                                                                             # masks
                inputs = make_inputs(original.model.config, layout, 0)
                findings = compare(original.run(inputs, gradients=True), attend.forward(directory, inputs, gradients=True),
                                   Original.load(directory, double_of(family)).run(inputs, gradients=True))  # fmt: skip
            except (AttendFailed, RuntimeError) as error:
                table.row([family, "-", "-"], True, [str(error)])
                continue
            bad = [str(f) for f in findings if f.failed]
            table.row([family, len(original.names), f"{max(f.error for f in findings if not f.noise):.1e}"], bool(bad), bad)
    return table


# Initialized differently from transformers, on purpose: Marian as in its paper, T5's heads without the factor
# sqrt(width), which makes a new head almost certain of any prediction. A small DeBERTa has no convolution.
OWN_WAY = ("marian", "attend-gpt3")
WIDE = {"T5ForTokenClassification": "classifier.weight"}
# If a file lacks them, Marian makes them itself, and only MarianMTModel does not report it.
SINES = {f"{prefix}{stack}.embed_positions.weight" for prefix in ("", "model.") for stack in ("encoder", "decoder")}
CONFIDENCE = 5  # standard deviations of an estimate from this many numbers


def drawn_otherwise(original: torch.nn.Module, made: Tensors, head: str) -> list[str]:
    """Tensors of another distribution than the original's: its mean and standard deviation, with room for chance."""
    findings = []
    for name, fresh in original.state_dict().items():
        if name not in made or name == WIDE.get(head):
            continue
        a, b = fresh.double().flatten(), made[name].double().flatten()
        if a.numel() < 2 or fresh.std() == 0:
            alike = bool(torch.equal(a, b))
        else:
            room = CONFIDENCE * float(a.std()) / a.numel() ** 0.5
            alike = abs(float(a.std() - b.std())) < 1.5 * room and abs(float(a.mean() - b.mean())) < 1.5 * room
        if not alike:
            findings.append(f"{name}: mean {b.mean():.2g}, deviation {b.std():.2g} for {a.mean():.2g}, {a.std():.2g}")
    return findings


def heads_of(family: str) -> dict[str, type[PreTrainedModel]]:
    """The architectures of a family in transformers, by name."""
    if family in remote_configs.FAMILIES:
        return remote_heads.heads_of(family)
    place = CONFIG_MAPPING[family].__module__.replace(".configuration_", ".modeling_")
    return {
        name: each
        for name, each in vars(importlib.import_module(place)).items()
        if isinstance(each, type) and issubclass(each, PreTrainedModel) and each.__module__ == place
        and not name.endswith("PreTrainedModel")
    }  # fmt: skip


def check_heads(attend: Attend) -> Table:
    """Every head of every family on one fresh body: loads whole in transformers, drawn as there."""
    table = Table([("architecture", 34), ("tensors", 7)])
    for family, fields in FRESH.items():
        if family == "attend-gpt3":
            continue
        with TemporaryDirectory() as folder:
            body = Path(folder) / family
            settings = [part for field in fields.split() for part in ("--set", field)]
            attend.run("init", family, body, "--seed", "3", *settings)
            for head, kind in heads_of(family).items():
                directory = Path(folder) / head
                labels = ["--labels", "no,perhaps,yes"] if "Classification" in head else []
                try:
                    attend.run("convert", body, directory, "--architecture", head, "--seed", "4", *labels)
                except AttendFailed as error:
                    known = "is not supported for", "is_decoder: expected true"
                    if not any(each in str(error) for each in known):
                        table.row([head, "-"], True, [str(error)])
                    continue
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model, loading = kind.from_pretrained(directory, output_loading_info=True)
                    torch.manual_seed(0)
                    original = kind(model.config)
                wrong = {what: [name for name in names if name not in SINES] for what, names in loading.items()}
                bad = [f"{what}: {', '.join(map(str, names))}" for what, names in wrong.items() if names]
                if labels and model.config.num_labels != 3:
                    bad.append(f"{model.config.num_labels} labels")
                if family not in OWN_WAY:
                    bad += drawn_otherwise(original, load_file(directory / "model.safetensors"), head)
                table.row([head, len(model.state_dict())], bool(bad), bad)
    return table


def make_directory(directory: Path) -> None:
    """A Marian directory with a byte-level BPE tokenizer, as attend writes them, made by the original's own parts."""
    make_model("marian", 0, directory)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(vocab_size=100, special_tokens=["</s>", "<unk>"], show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)  # the size allows only single characters; unknown ones are
                                                   # dropped
    tokenizer.post_processor = processors.TemplateProcessing("$A </s>", "$A </s> $B </s>", [("</s>", 0)])
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>", unk_token="<unk>").save_pretrained(directory)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", type=Path)
    parser.add_argument("--attend", type=Path, help="the command to check")
    parser.add_argument("--texts", type=Path, help="one a line, instead of a few of our own")
    parser.add_argument("--target-texts", type=Path, help="their translations; as many lines")
    parser.add_argument("--fresh", action="store_true", help="a fresh model of every family, without a tokenizer")
    parser.add_argument("--heads", action="store_true", help="every head of every family on a fresh body")
    parser.add_argument("--self-test", action="store_true", help="check the check itself, without attend")
    options = parser.parse_args()
    if options.self_test:
        with TemporaryDirectory() as folder:
            make_directory(Path(folder))
            short = TEXTS[3:4] + TEXTS[1:2], TARGET_TEXTS[3:4] + TARGET_TEXTS[3:4]  # within the 40 positions
            passing, failing = (check(runner, Path(folder), *short) for runner in (StandIn(), Spoiled()))
        good = passing.rows == 4 and not passing.failures and failing.rows == failing.failures
        print("self-test", "passed" if good else "FAILED")
        return 0 if good else 1
    if options.fresh and options.attend is not None:
        return check_fresh(Attend(options.attend.resolve())).status()
    if options.heads and options.attend is not None:
        return check_heads(Attend(options.attend.resolve())).status()
    if options.attend is None or options.model is None:
        parser.error("a model and --attend, or --self-test, are needed")
    texts = options.texts.read_text().rstrip("\n").split("\n") if options.texts else TEXTS
    targets = options.target_texts.read_text().rstrip("\n").split("\n") if options.target_texts else TARGET_TEXTS
    if len(texts) != len(targets):
        parser.error(f"{len(texts)} texts, {len(targets)} target texts")
    return check(Attend(options.attend.resolve()), options.model, texts, targets).status()


if __name__ == "__main__":
    sys.exit(main())
