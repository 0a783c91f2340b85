"""attend explain --attribute of decoders and of encoders with decoders against inseq, token by token.

    python check_inseq.py --attend build/release/attend
    python check_inseq.py --attend build/release/attend --model MarianMTModel --seeds 5

Needs inseq (0.7.1) in addition to requirements.txt; it runs with the same transformers. Its defaults are others than
ours: it attributes probabilities, integrates by itself in as many steps, and shows norms. Here both attribute the
logit of the token that comes next, with a baseline of "<unk>" in the place of every token that is none of the
tokenizer's special ones, by 50 steps of Gauss and Legendre's rule, added up over each token's vector.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import inseq
import torch
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedTokenizerBase

from attribution_originals import PAIRED, make_directory
from check_scoring import WORDS
from common import Attend, AttendFailed, Table
from originals import head_class

LIMIT = 1e-4  # of a score, relative to the method's largest
NAMES = ["GPT2LMHeadModel", "GPTNeoForCausalLM", "T5ForConditionalGeneration", "BartForConditionalGeneration", "MarianMTModel"]
METHODS = {"gradient-input": "input_x_gradient", "integrated-gradients": "integrated_gradients"}
Sides = list[torch.Tensor]


def plain_ends(tokenizer: Any, directory: Path, paired: bool) -> None:
    """Sources end with "</s>", and nothing else is added: inseq strips what begins a text."""
    end = [("</s>", tokenizer.eos_token_id)] if paired else []
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single="$A </s>" if paired else "$A", special_tokens=end)
    tokenizer.save_pretrained(directory)


def keep_special(model: Any, tokenizer: PreTrainedTokenizerBase) -> None:
    """Lets inseq's baselines keep special tokens, as ours do."""
    encode = model.encode

    def encoded(*args: Any, **named: Any) -> Any:
        batch = encode(*args, **named)
        special = torch.isin(batch.input_ids, torch.tensor(tokenizer.all_special_ids))
        batch.baseline_ids = torch.where(special, batch.input_ids, tokenizer.unk_token_id)
        return batch

    model.encode = encoded


def theirs(directory: Path, method: str, tokenizer: Any, source: str, text: str) -> list[Sides]:
    """Of each token that is written: numbers for each side."""
    name = json.loads((directory / "config.json").read_text())["architectures"][0]
    original = head_class(name).from_pretrained(directory, attn_implementation="eager").eval()
    model = inseq.load_model(original, METHODS[method], tokenizer=tokenizer)
    keep_special(model, tokenizer)
    paired = name in PAIRED
    steps = {"n_steps": 50, "internal_batch_size": 50} if method == "integrated-gradients" else {}
    out = model.attribute(source, text, attributed_fn="logit", attribute_target=paired, show_progress=False, **steps)
    found = out.sequence_attributions[0]
    sides = [found.source_attributions] if paired else []
    sides.append(found.target_attributions)  # [tokens, written, d]
    sums = [side.sum(-1).double() for side in sides]
    return [[side[:, column] for side in sums] for column in range(sums[-1].shape[1])]


def check(attend: Attend, name: str, seed: int) -> tuple[dict[str, float], int, list[str]]:
    pick = random.Random(f"{name} {seed}")
    paired = name in PAIRED
    words = [word for word in WORDS if word.isascii()]
    with TemporaryDirectory() as temporary:
        directory, file = Path(temporary) / "model", Path(temporary) / "found.json"
        tokenizer = make_directory(name, seed, directory)
        plain_ends(tokenizer, directory, paired)
        source = " ".join(pick.choices(words, k=5))
        text = " ".join(pick.choices(words, k=3))
        methods = ",".join(METHODS)
        explain = ("--attribute", methods, "--baseline", "unk", "--json", file, "--threads", "1")
        ours: list[dict[str, Any] | None] = []
        if paired:
            attend.run("explain", directory, source, "--target", text, *explain)
            ours = json.loads(file.read_text())["attributions"]
        else:
            whole = f"{source} {text}"
            ids, first = tokenizer(whole).input_ids, len(tokenizer(source).input_ids)
            for place in range(first - 1, len(ids) - 1):
                attend.run("explain", directory, whole, "--place", str(place), "--toward",
                           tokenizer.convert_ids_to_tokens(ids[place + 1]), *explain)  # fmt: skip
                (result,) = json.loads(file.read_text())["attributions"]
                # Means the likelier one of "a" and " a".
                ours.append(result if result["toward_id"] == ids[place + 1] else None)
        errors: dict[str, float] = {}
        wrong = []
        for number, method in enumerate(METHODS):
            written = theirs(directory, method, tokenizer, source, text if paired else whole)
            for result, sides in zip(ours, written, strict=False):  # theirs also has the attribution of a
                                                                    # target's end
                if result is None:
                    continue
                found = [torch.tensor(side["scores"], dtype=torch.float64) for side in result["methods"][number]["sides"]]
                known = int(result["place"]) + 1  # tokens of the text before the predicted one; later ones
                                                  # have no effect
                wanted = [*sides[:-1], torch.cat([sides[-1][:known], torch.zeros(len(found[-1]) - known)])]
                if [len(side) for side in found] != [len(side) for side in wanted]:
                    wrong.append(f"{method}: inseq reads other tokens")
                    continue
                largest = max(float(side.abs().max()) for side in wanted)
                error = max(float((a - b).abs().max()) for a, b in zip(found, wanted, strict=True)) / largest
                errors[method] = max(error, errors.get(method, 0.0))
            if not errors.get(method, 1.0) <= LIMIT:
                wrong.append(f"{method}: off by {errors.get(method, 1.0):.1e}")
        return errors, sum(result is not None for result in ours), wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True)
    parser.add_argument("--model", choices=NAMES, help="one architecture only")
    parser.add_argument("--seeds", type=int, default=2)
    options = parser.parse_args()
    attend = Attend(options.attend.resolve())
    table = Table([("model", 30), ("seed", 4), ("tokens", 6), *((method, len(method)) for method in METHODS)])
    for name in [options.model] if options.model else NAMES:
        for seed in range(options.seeds):
            try:
                errors, tokens, wrong = check(attend, name, seed)
            except AttendFailed as failure:
                errors, tokens, wrong = {}, 0, [str(failure)]
            table.row([name, seed, tokens, *(f"{errors.get(method, float('nan')):.1e}" for method in METHODS)], bool(wrong), wrong)
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
