"""Chat templates of real models against jinja2 as transformers calls it, character by character.

    python check_templates.py --attend build/release/attend FOLDER

FOLDER holds templates, *.jinja. Each writes conversations of every shape (chat_conversations.py); then come small
templates of our own and random ones (chat_snippets.py, chat_fuzz.py). `attend tokenize --chat --json` says what attend makes of them. Where jinja2
refuses, attend must as well.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from transformers.utils.chat_template_utils import _compile_jinja_template

from chat_conversations import conversations
from chat_fuzz import fuzzed_template
from chat_snippets import SNIPPETS, VARIABLES, random_template
from check_scoring import make_directory
from common import Table

# Values that only Python can print: objects by their address, and Markup, which is jinja2's own.
PYTHON_ONLY = ("object at 0x", "<built-in", "<generator", "<bound", "dict_", "range(", "Markup(")


def wanted(template: str, variables: dict[str, Any]) -> str | None:
    """None: jinja2 refuses."""
    try:
        return _compile_jinja_template(template).render(**copy.deepcopy(variables))
    except Exception:
        return None


def rendered(attend: Path, folder: Path, template: str, cases: list[dict[str, Any]]) -> list[str | None]:
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    (folder / "chat_template.jinja").write_text(template, newline="")
    made = subprocess.run([attend, "tokenize", folder, "--chat", "--json"], input=lines, capture_output=True, text=True)
    # splitlines() would also split at the line separators inside texts.
    answers = [json.loads(line).get("text") for line in made.stdout.split("\n") if line]
    return answers if len(answers) == len(cases) else [None] * len(cases)


def check(attend: Path, folder: Path, template: str, cases: dict[str, dict[str, Any]], tokens: dict[str, Any]) -> list[str]:
    findings = []
    for (name, case), got in zip(cases.items(), rendered(attend, folder, template, list(cases.values()))):
        want = wanted(template, {"tools": None, "documents": None, "add_generation_prompt": True, **tokens, **case})
        if got != want and not (want and any(part in want for part in PYTHON_ONLY)):
            findings.append(f"{name}: {got!r} for {want!r}")
    return findings


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--random", type=int, default=200, help="how many random templates")
    parser.add_argument("folder", type=Path, help="templates: *.jinja")
    options = parser.parse_args()
    attend = options.attend.resolve()
    table = Table([("template", 60)])
    with TemporaryDirectory() as name:
        folder = Path(name)
        _, tokenizer = make_directory("GPT2LMHeadModel", 0, folder)
        tokens = dict(tokenizer.special_tokens_map)
        for path in sorted(options.folder.glob("*.jinja")):
            findings = check(attend, folder, path.read_text(), conversations(), tokens)
            table.row([path.stem], bool(findings), findings[:3])
        pick = random.Random(0)
        ours = SNIPPETS + [random_template(pick) for _ in range(options.random)]
        ours += [fuzzed_template(seed) for seed in range(options.random)]
        findings = [finding for text in ours for finding in check(attend, folder, text, {text: VARIABLES}, tokens)]
        table.row(["ours and random"], bool(findings), findings[:5])
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
