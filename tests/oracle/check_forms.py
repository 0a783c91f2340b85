"""attend generate with json_schema, regex and grammar against transformers with XGrammar's own Python package.

    python check_forms.py --attend build/release/attend
    python check_forms.py --attend build/release/attend --model T5ForConditionalGeneration --seeds 5

Tiny random models with a real tokenizer, greedy and with beams. Ids are compared exactly; what has ended must also be
of its form to a judge that has nothing to do with XGrammar: jsonschema, or Python's re.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jsonschema
import torch
import xgrammar
from transformers import LogitsProcessor, LogitsProcessorList

from check_scoring import make_directory, texts_of
from common import Attend, AttendFailed, Table

MODELS = ["GPT2LMHeadModel", "GPTJForCausalLM", "CTRLLMHeadModel", "MarianMTModel", "BartForConditionalGeneration",
          "T5ForConditionalGeneration"]  # fmt: skip
REGEXES = [r"(yes|no|perhaps)", r"[a-z]{2,5}( [a-z]{1,4}){0,3}\.", r"\d{4}-(0[1-9]|1[0-2])", r"(東京|naïve|Zoë)+!",
           r"(a|b)*c", r" ?[A-Z][a-z]+, \d+"]  # fmt: skip
# The grammar, and a regular expression of the same language.
GRAMMARS = [
    ('root ::= item ("," item)*\nitem ::= [a-z]+ "=" [0-9]', r"[a-z]+=[0-9](,[a-z]+=[0-9])*"),
    ('root ::= "(" inner ")"\ninner ::= "x" | "y" "-" "z"', r"\((x|y-z)\)"),
]


def random_schema(pick: random.Random, depth: int = 0) -> dict[str, Any]:
    kinds = ["integer", "boolean", "enum", "string", "null"] + ["object", "array"] * (depth < 2) * 2
    kind = "object" if depth == 0 and pick.random() < 0.7 else pick.choice(kinds)
    if kind == "enum":
        return {"enum": pick.sample(["red", "light blue", 3, True, None, "grün"], pick.randint(1, 3))}
    if kind == "string":
        return {"type": "string"} | pick.choice([{"maxLength": 3}, {"pattern": "^[a-c]{1,3}$"}, {"minLength": 2, "maxLength": 4}])
    if kind == "array":
        return {"type": "array", "items": random_schema(pick, depth + 1), "maxItems": pick.randint(1, 3)}
    if kind == "object":
        names = pick.sample(["a", "name", "größe", "x y"], pick.randint(1, 3))
        return {"type": "object", "properties": {name: random_schema(pick, depth + 1) for name in names},
                "required": pick.sample(names, pick.randint(0, len(names))), "additionalProperties": False}  # fmt: skip
    return {"type": kind}


def as_read(schema: Any) -> Any:
    """Lengths as patterns of what JSON does not escape: of its own accord XGrammar writes control characters."""
    if isinstance(schema, list):
        return [as_read(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    read = {key: as_read(part) for key, part in schema.items() if key not in ("minLength", "maxLength")}
    if read.keys() != schema.keys():
        length = f"{{{schema.get('minLength', 0)},{schema.get('maxLength', '')}}}"
        read["pattern"] = rf'^[^\x00-\x1f"\\]{length}$'
    return read


def random_form(pick: random.Random) -> tuple[dict[str, Any], xgrammar.Grammar, Any]:
    """Settings of a generation config, the same for XGrammar, and what judges a text."""
    kind = pick.choice(["json_schema", "json_schema", "regex", "grammar"])
    if kind == "json_schema":
        schema = random_schema(pick)
        grammar = xgrammar.Grammar.from_json_schema(as_read(schema), max_whitespace_cnt=16)
        return {kind: schema}, grammar, lambda text: jsonschema.validate(json.loads(text), schema) is None
    if kind == "regex":
        regex = pick.choice(REGEXES)
        return {kind: regex}, xgrammar.Grammar.from_regex(regex), lambda text: re.fullmatch(regex, text) is not None
    rules, regex = pick.choice(GRAMMARS)
    return {kind: rules}, xgrammar.Grammar.from_ebnf(rules), lambda text: re.fullmatch(regex, text) is not None


class Constrained(LogitsProcessor):
    """Rules out what may not come, from the whole text of each row every time."""

    def __init__(self, compiled: xgrammar.CompiledGrammar, prompt: int) -> None:
        self.compiled, self.prompt = compiled, prompt

    def __call__(self, tokens: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        result = torch.full_like(scores, float("-inf"))
        for row, (text, values) in enumerate(zip(tokens[:, self.prompt :].tolist(), scores, strict=True)):
            matcher = xgrammar.GrammarMatcher(self.compiled)
            if not all(not matcher.is_terminated() and matcher.accept_token(token) for token in text):
                continue
            if matcher.is_terminated():
                continue
            mask = xgrammar.allocate_token_bitmask(1, scores.shape[1])
            matcher.fill_next_token_bitmask(mask)
            allowed = (mask[0, :, None] >> torch.arange(32)) & 1
            allowed = allowed.flatten()[: scores.shape[1]].bool()
            result[row, allowed] = values[allowed]
        return result


def check(attend: Attend, name: str, seed: int) -> tuple[dict[str, Any], int, int, list[str]]:
    """The settings, the number of texts and of those that ended, and what is wrong."""
    pick = random.Random(f"{name} {seed}")
    with TemporaryDirectory() as folder, torch.no_grad():
        directory = Path(folder) / "model"
        model, tokenizer = make_directory(name, seed, directory)
        form, grammar, judge = random_form(pick)
        end = tokenizer.eos_token_id
        info = xgrammar.TokenizerInfo.from_huggingface(tokenizer, vocab_size=len(tokenizer), stop_token_ids=[end])
        # Its cache parses grammars again from its own output, which is wrong if "ß" comes before "e" (\xdfe).
        compiled = xgrammar.GrammarCompiler(info, cache_enabled=False).compile_grammar(grammar)
        settings = {"max_new_tokens": pick.choice([20, 40]), "num_beams": pick.choice([1, 1, 3]), "eos_token_id": end}
        encoded = [tokenizer(text, return_tensors="pt").input_ids for text in texts_of(pick, 4, 3)]
        wrong, ended = [], 0
        for ids in encoded:
            prompt = 1 if model.config.is_encoder_decoder else ids.shape[1]
            wanted = model.generate(input_ids=ids, **settings,
                                    logits_processor=LogitsProcessorList([Constrained(compiled, prompt)]))  # fmt: skip
            inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
            got = attend.generate(directory, inputs, settings | form)["sequences"]
            if got.tolist() != wanted.tolist():
                wrong.append(f"{got[0, prompt:].tolist()} for {wanted[0, prompt:].tolist()}")
            text = got[0, prompt:].tolist()
            if end in text:
                ended += 1
                said = tokenizer.decode(text[: text.index(end)])
                try:
                    good = judge(said)
                except (ValueError, jsonschema.ValidationError):
                    good = False
                if not good:
                    wrong.append(f"{said!r} is not of the form")
        return form | settings, len(encoded), ended, wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--model", choices=MODELS, help="only this one")
    parser.add_argument("--seeds", type=int, default=4, help="how many")
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    table = Table([("model", 30), ("seed", 4), ("texts", 5), ("ended", 5), ("settings", 110)])
    for name in [options.model] if options.model else MODELS:
        for seed in range(options.first_seed, options.first_seed + options.seeds):
            try:
                settings, texts, ended, wrong = check(Attend(options.attend.resolve()), name, seed)
            except AttendFailed as error:
                settings, texts, ended, wrong = {}, 0, 0, [str(error)]
            table.row([name, seed, texts, ended, json.dumps(settings, ensure_ascii=False)[:110]], bool(wrong), wrong)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
