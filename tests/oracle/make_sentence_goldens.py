"""Writes tests/data/sentences/goldens.json: vectors of sentence-transformers, by what the files of a directory say.

    python tests/oracle/make_sentence_goldens.py

The bodies are those of tests/data/models; every other file of a directory is in the goldens. Its tokenizer.json is the one without or
with special tokens of "tokenizers".
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import torch

from sentence_cases import TEXTS, make_cases, similarities, tokenizer_json

GOLDENS = Path(__file__).resolve().parents[1] / "data/sentences/goldens.json"


def numbers(tensor: torch.Tensor) -> list[list[float]]:
    """With as many digits as a float32 needs."""
    return [[float(np.format_float_scientific(x, unique=True)) for x in row] for row in tensor.float().cpu().numpy()]


def main() -> None:
    torch.set_num_threads(1)
    goldens = []
    with tempfile.TemporaryDirectory() as folder:
        for i, case in enumerate(make_cases()):
            directory = Path(folder) / str(i)
            case.write(directory)
            calls = [{"options": call.options, "texts": call.texts, "vectors": numbers(call.vectors(directory))}
                     for call in case.calls]  # fmt: skip
            files = {name: content for name, content in case.contents().items() if name != "tokenizer.json"}
            golden = {"name": case.name, "body": case.body, "special_tokens": case.special_tokens, "files": files, "calls": calls}
            if not case.calls:
                golden |= {"texts": TEXTS, "similarities": numbers(similarities(directory, TEXTS, TEXTS))}
            goldens.append(golden)
    GOLDENS.parent.mkdir(exist_ok=True)
    tokenizers = ",\n".join(json.dumps(tokenizer_json(special)) for special in (False, True))
    cases = ",\n".join(json.dumps(golden) for golden in goldens)
    GOLDENS.write_text(f'{{"tokenizers": [\n{tokenizers}],\n"cases": [\n{cases}]}}\n')


if __name__ == "__main__":
    main()
