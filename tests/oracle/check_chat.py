"""attend chat against transformers: what chat templates make of conversations, and greedy answers.

    python check_chat.py --attend build/release/attend

Templates are rendered by apply_chat_template and by attend's /prompt, in conversations with and without a system
prompt. Answers come from a tiny random model with a real tokenizer, turn after turn.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2
import torch
import transformers

from check_scoring import make_directory, texts_of
from common import Attend, AttendFailed, Table

# Written here, each in the style of a well-known family of chat models.
TEMPLATES = {
    "chatml": "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + "
    "'<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    "chatml-default-system": """{%- if messages[0]['role'] == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- else %}
    {{- "<|im_start|>system\\nBe brief.<|im_end|>\\n" }}
{%- endif %}
{%- for message in messages %}
    {%- if (message.role == "user") or (message.role == "system" and not loop.first) or (message.role == "assistant") %}
        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
    {%- endif %}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
""",
    "end-after-each": "{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}",
    "names-in-lines": """{% for message in messages %}
{% if message['role'] == 'user' %}
{{ '<|user|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'system' %}
{{ '<|system|>\\n' + message['content'] + eos_token }}
{% elif message['role'] == 'assistant' %}
{{ '<|assistant|>\\n'  + message['content'] + eos_token }}
{% endif %}
{% if loop.last and add_generation_prompt %}
{{ '<|assistant|>' }}
{% endif %}
{% endfor %}
""",
    "brackets": """{% if messages[0]['role'] == 'system' %}{% set rest = messages[1:] %}{% set system = messages[0]['content'] %}{% else %}{% set rest = messages %}{% set system = false %}{% endif %}
{% for message in rest %}{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('Roles must alternate') }}{% endif %}
{% if loop.index0 == 0 and system != false %}{% set content = '<<S>>\\n' + system + '\\n<</S>>\\n\\n' + message['content'] %}{% else %}{% set content = message['content'] %}{% endif %}
{% if message['role'] == 'user' %}{{ bos_token + '[I] ' + content.strip() + ' [/I]' }}{% elif message['role'] == 'assistant' %}{{ ' ' + content.strip() + ' ' + eos_token }}{% endif %}
  {% endfor %}""",
    "headers": "{% set all = messages %}{% for message in all %}{% set content = '<|begin|>' + message['role'] + "
    "'<|end|>\\n\\n' + message['content'] | trim + '<|eot|>' %}{% if loop.index0 == 0 %}{% set content = bos_token + "
    "content %}{% endif %}{{ content }}{% endfor %}{% if add_generation_prompt %}{{ '<|begin|>assistant<|end|>\\n\\n' }}{% endif %}",
    "no-system": "{{ bos_token }}{# a remark #}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}"
    "{% endif %}{% for message in messages %}{{ '<turn>' ~ ('model' if message['role'] == 'assistant' else message['role']) }}\n"
    "{{ message['content'] | trim }}<end>\n{% endfor %}{% if add_generation_prompt is defined and add_generation_prompt %}"
    "{{ '<turn>model\\n' }}{% endif %}",
}  # fmt: skip
UNREADABLE = {
    "include": "{% include 'turn.jinja' %}",
    "unclosed": "{% for message in messages %}{{ message.content }}",
    "unknown": "{% for message in messages %}{% do message.content %}{% endfor %}",
    "syntax": "{% for message in messages %}{{ message.content + }}{% endfor %}",
}
CONTENTS = ["Who lives in Bath?", "  two spaces  ", "{{ not a tag }}", "Zoë's 東京 \U0001f600", "'quoted' \"text\"", "<|im_end|>"]


def conversation(pick: random.Random, turns: int, system: bool) -> list[dict[str, str]]:
    roles = ["system"] * system + ["user", "assistant"] * turns
    return [{"role": role, "content": pick.choice(CONTENTS)} for role in roles]


def check_template(attend: Attend, text: str, seed: int, folder: Path) -> list[str]:
    _, tokenizer = make_directory("GPT2LMHeadModel", seed, folder)
    tokenizer.chat_template = text
    tokenizer.save_pretrained(folder)
    pick = random.Random(seed)
    findings = []
    for turns in range(4):
        for system in (False, True):
            messages = conversation(pick, turns, system)
            question = pick.choice(CONTENTS)
            (folder / "messages.json").write_text(json.dumps(messages))
            try:
                wanted = tokenizer.apply_chat_template(
                    [*messages, {"role": "user", "content": question}], tokenize=False, add_generation_prompt=True
                )
            except jinja2.TemplateError as refusal:
                wanted = f"refused: {refusal}"
            try:
                got = attend.run("chat", folder, "--load", folder / "messages.json", stdin=f"/prompt {question}\n")
                got = got.removesuffix("\n")
            except AttendFailed as error:
                got = "refused: " + str(error).rpartition(": ")[2]
            if got != wanted:
                findings.append(f"{got!r} for {wanted!r}")
    return findings


def check_answers(attend: Attend, seed: int, folder: Path) -> list[str]:
    model, tokenizer = make_directory("GPT2LMHeadModel", seed, folder)
    tokenizer.chat_template = TEMPLATES["end-after-each"]
    tokenizer.save_pretrained(folder)
    pick = random.Random(seed)
    questions = texts_of(pick, 3, 3)
    messages: list[dict[str, str]] = []
    for question in questions:
        messages.append({"role": "user", "content": question})
        ids = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt")
        made = model.generate(ids, max_new_tokens=6, do_sample=False, pad_token_id=0)
        answer = tokenizer.decode(made[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        before = tokenizer.decode(ids[0], skip_special_tokens=True, clean_up_tokenization_spaces=False)
        messages.append({"role": "assistant", "content": answer[len(before) :].lstrip()})
    saved = folder / "saved.json"
    stdin = "".join(question + "\n" for question in questions) + f"/save {saved}\n"
    attend.run("chat", folder, "--no-sample", "--max-new-tokens", "6", stdin=stdin)
    got = json.loads(saved.read_text())
    return [] if got == messages else [f"{got} for {messages}"]


def check_unreadable(attend: Attend, text: str, folder: Path) -> list[str]:
    _, tokenizer = make_directory("GPT2LMHeadModel", 0, folder)
    tokenizer.chat_template = text
    tokenizer.save_pretrained(folder)
    try:
        return [f"no error, but {attend.run('chat', folder, stdin='Hi.')!r}"]
    except AttendFailed as error:
        helps = str(error).startswith("exit 1: attend: ") and "--template" in str(error) and "\n" not in str(error)
        return [] if helps else [str(error)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attend", type=Path, required=True, help="the command to check")
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    transformers.logging.set_verbosity_error()
    attend = Attend(options.attend.resolve())
    table = Table([("what", 32), ("seed", 4)])
    rows: list[tuple[str, int, Any]] = []
    for seed in range(options.seeds):
        rows += [(name, seed, lambda f, t=text, s=seed: check_template(attend, t, s, f)) for name, text in TEMPLATES.items()]
        rows.append(("answers", seed, lambda f, s=seed: check_answers(attend, s, f)))
    rows += [(f"unreadable: {name}", 0, lambda f, t=text: check_unreadable(attend, t, f)) for name, text in UNREADABLE.items()]
    for name, seed, check in rows:
        with TemporaryDirectory() as folder, torch.no_grad():
            findings = check(Path(folder))
            table.row([name, seed], bool(findings), findings[:3])
    return table.status()


if __name__ == "__main__":
    sys.exit(main())
