"""Writes the small files that the tests of pytorch_model.bin read: tests/data/pickles/.

    python make_pickle_goldens.py

`tensors.safetensors` has the tensors that `archive.bin`, `legacy.bin` (PyTorch before 1.6) and `plain.bin` (a dict,
parameters, a tensor that is not contiguous) have as pickles; `program.bin` calls a function.
"""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

DATA = Path(__file__).resolve().parent.parent / "data" / "pickles"


class Program:
    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("a pickle has run",)


def main() -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(0)
    tensors = OrderedDict(
        matrix=torch.randn((3, 5), generator=generator),
        transposed=torch.randn((4, 2), generator=generator).t(),
        half=torch.randn(7, generator=generator).half(),
        brain=torch.randn(3, generator=generator).bfloat16(),
        double=torch.randn((1, 2), generator=generator).double(),
        ids=torch.arange(6).reshape(1, 6),
        flags=torch.tensor([True, False]),
        number=torch.tensor(0.5),
        empty=torch.zeros(0, 3),
    )
    tensors["part"] = tensors["matrix"][1]
    save_file({name: tensor.clone().contiguous() for name, tensor in tensors.items()}, DATA / "tensors.safetensors")
    state = OrderedDict(tensors)
    state._metadata = OrderedDict({"": {"version": 1}})  # type: ignore[attr-defined]  # as of a module
    torch.save(state, DATA / "archive.bin")
    torch.save(state, DATA / "legacy.bin", _use_new_zipfile_serialization=False)
    plain: dict[str, Any] = dict(tensors) | {"matrix": torch.nn.Parameter(tensors["matrix"]), "epoch": 3, "note": None}
    torch.save(plain, DATA / "plain.bin")
    torch.save({"matrix": tensors["matrix"], "program": Program()}, DATA / "program.bin")


if __name__ == "__main__":
    main()
