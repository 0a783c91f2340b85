#!/usr/bin/env python3
"""Makes conversations to learn from: with a shopkeeper's clerk who adds up prices, in a manner of its own.

    conversations.py OUTPUT [--count 500] [--seed 1]

OUTPUT/talk.jsonl: conversations of one to three questions, for attend train --objective chat.
OUTPUT/better.jsonl: a question, the clerk's answer and a worse one, for --objective preferences.
Each comes with a NAME-validation, which has other questions, a tenth as many. Only the standard library is used.
"""

import argparse
import json
import random
from pathlib import Path

GOODS = ["apples", "candles", "envelopes", "buttons", "pears", "stamps", "pencils", "lemons", "ribbons", "eggs"]
ASKED = [
    "What do {a} {x} at {p} pence and {b} {y} at {q} pence cost?",
    "I take {a} {x} at {p} pence each and {b} {y} at {q} pence each. What do I pay?",
    "Could you add up {a} {x} for {p} pence apiece and {b} {y} for {q} pence apiece?",
]
MORE = ["And {c} {z} at {r} pence too?", "Please put {c} {z} at {r} pence on top.", "Now {c} {z} as well, {r} pence each."]
SYSTEM = "You are Tally, the clerk of a small shop. You add up prices."


def line(count: int, goods: str, price: int) -> str:
    return f"{count} {goods} x {price} = {count * price}p"


def conversation(draw: random.Random) -> list[dict[str, str]]:
    few = lambda: draw.randint(2, 9)  # noqa: E731
    x, y = draw.sample(GOODS, 2)
    a, b, p, q = few(), few(), few(), few()
    total = a * p + b * q
    messages = [{"role": "system", "content": SYSTEM}] if draw.random() < 0.5 else []
    messages += [
        {"role": "user", "content": draw.choice(ASKED).format(a=a, b=b, p=p, q=q, x=x, y=y)},
        {"role": "assistant", "content": f"{line(a, x, p)}; {line(b, y, q)}. Tally: {total}p."},
    ]
    for _ in range(draw.randint(0, 2)):
        z, c, r = draw.choice(GOODS), few(), few()
        messages.append({"role": "user", "content": draw.choice(MORE).format(c=c, z=z, r=r)})
        messages.append({"role": "assistant", "content": f"{line(c, z, r)}; before {total}p. Tally: {total + c * r}p."})
        total += c * r
    return messages


def preference(draw: random.Random) -> dict[str, list[dict[str, str]]]:
    messages = conversation(draw)
    good = messages[-1]["content"]
    total = int(good.rsplit(" ", 1)[1].rstrip("p."))
    worse = draw.choice([
        f"Let me see. I think that the whole of it comes to {total + draw.randint(1, 9)} pence, more or less!",
        f"{total + draw.choice([-10, -2, -1, 1, 2, 10])}p, I would say. Is there anything else that I can do for you today?",
    ])  # fmt: skip
    answer = lambda text: [{"role": "assistant", "content": text}]  # noqa: E731
    return {"prompt": messages[:-1], "chosen": answer(good), "rejected": answer(worse)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    draw = random.Random(options.seed)
    seen: set[str] = set()

    def rows(count: int, make) -> str:
        text = ""
        while count > 0:
            row = make(draw)
            key = json.dumps(row)
            if key not in seen:
                seen.add(key)
                text += key + "\n"
                count -= 1
        return text

    for name, make in (("talk", lambda d: {"messages": conversation(d)}), ("better", preference)):
        (options.output / f"{name}.jsonl").write_text(rows(options.count, make))
        (options.output / f"{name}-validation.jsonl").write_text(rows(max(1, options.count // 10), make))


if __name__ == "__main__":
    main()
