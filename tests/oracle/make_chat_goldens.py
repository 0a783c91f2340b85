"""tests/data/chat_snippets.json: what jinja2, as transformers sets it up, makes of small templates of our own.

    python make_chat_goldens.py
"""

from __future__ import annotations

import copy
import json
from pathlib import Path

from transformers.utils.chat_template_utils import _compile_jinja_template

from chat_snippets import SNIPPETS, VARIABLES


def render(text: str) -> str | None:
    """None: refused."""
    try:
        return _compile_jinja_template(text).render(**copy.deepcopy(VARIABLES))
    except Exception:
        return None


def main() -> None:
    cases = ",\n".join(json.dumps({"template": text, "text": render(text)}, ensure_ascii=False) for text in SNIPPETS)
    path = Path(__file__).resolve().parents[1] / "data" / "chat_snippets.json"
    path.write_text(f'{{"variables": {json.dumps(VARIABLES, ensure_ascii=False)},\n"cases": [\n{cases}\n]}}\n')


if __name__ == "__main__":
    main()
