"""Conversations of every shape that chat templates know, as the keywords of apply_chat_template."""

from __future__ import annotations

from typing import Any

CALL = {"name": "get_weather", "arguments": {"city": "Zürich", "days": 3, "exact": True, "unit": None, "ratio": 0.5}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": 'The weather of "today" & <soon>',
            "parameters": {
                "type": "object",
                "properties": {
                    "city": {"type": "string", "description": "A town, like 東京"},
                    "days": {"type": "integer", "enum": [1, 3, 7], "default": 3},
                    "exact": {"type": "boolean"},
                    "where": {
                        "type": "object",
                        "properties": {"lat": {"type": "number"}, "names": {"type": "array", "items": {"type": "string"}}},
                        "required": ["lat"],
                    },
                    "unit": {"type": ["string", "null"], "nullable": True},
                },
                "required": ["city"],
            },
            "return": {"type": "string", "description": "what it is like"},
        },
    },
    {"type": "function", "function": {"name": "stop", "description": "Ends all", "parameters": {"type": "object", "properties": {}}}},
]
DOCUMENTS = [
    {"title": "Bath's \"spa\"", "text": "Warm.\nWet."},
    {"title": "東京", "text": "Large", "contents": "Large", "doc_id": 7},
]


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assistant(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


def call(identity: str = "abcdef123", arguments: Any = None, content: Any = "", **more: Any) -> dict[str, Any]:
    function = {"name": CALL["name"], "arguments": CALL["arguments"] if arguments is None else arguments}
    return assistant(content, tool_calls=[{"id": identity, "type": "function", "function": function}], **more)


def result(content: Any = '{"sky": "clear"}', identity: str = "abcdef123") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": identity, "name": CALL["name"], "content": content}


SYSTEM = {"role": "system", "content": "  Be brief & kind. "}
PLAIN = [user("Who lives in Bath?")]
TURNS = [user("Hi 'there'"), assistant(" Zoë's 東京 😀 \n"), user('{{ no tag }} "quoted"')]
THOUGHT = [user("2+2?"), assistant("<think>\nadd them\n</think>\n\n4"), user("and 3+3?")]
REASONED = [user("2+2?"), assistant("4", reasoning_content="add\nthem", reasoning="add", thinking="add"), user("and 3+3?")]
CALLED = [user("Rain?"), call(), result()]
CALLED_ON = [*CALLED, assistant("No."), user("And tomorrow?")]
TWO_CALLS = [
    user("Rain?"),
    assistant(None, tool_calls=call()["tool_calls"] + call("ghijkl456", {"city": 'the "old"\ntown'})["tool_calls"]),
    result(),
    result("wet", "ghijkl456"),
]
PARTS = [user([{"type": "text", "text": "What is "}, {"type": "text", "text": "this?"}]), assistant([{"type": "text", "text": "A cat."}]), user("Sure?")]
PICTURE = [user([{"type": "image"}, {"type": "text", "text": "What is this?"}])]


def conversations() -> dict[str, dict[str, Any]]:
    """By name: messages, and what else is given."""
    cases: dict[str, dict[str, Any]] = {}
    for name, messages in [("plain", PLAIN), ("turns", TURNS), ("thought", THOUGHT), ("reasoned", REASONED), ("parts", PARTS), ("picture", PICTURE)]:
        for system in (False, True):
            for prompt in (True, False):
                given = {"messages": [SYSTEM] * system + messages, "add_generation_prompt": prompt}
                cases[f"{name}{'+system' * system}{'' if prompt else ', no prompt'}"] = given
    cases["empty"] = {"messages": [], "add_generation_prompt": True}
    cases["developer"] = {"messages": [{"role": "developer", "content": "Obey."}, *PLAIN], "add_generation_prompt": True}
    cases["two systems"] = {"messages": [SYSTEM, *PLAIN, SYSTEM, *TURNS], "add_generation_prompt": True}
    cases["user twice"] = {"messages": PLAIN + PLAIN, "add_generation_prompt": True}
    cases["answer last"] = {"messages": TURNS[:2], "add_generation_prompt": False}
    for thinking in (True, False):
        more = {"enable_thinking": thinking, "thinking": thinking, "reasoning_effort": "high" if thinking else "low"}
        for name, messages in [("plain", PLAIN), ("thought", THOUGHT), ("reasoned", REASONED)]:
            cases[f"{name}, thinking {thinking}"] = {"messages": messages, "add_generation_prompt": True, **more}
        cases[f"called, thinking {thinking}"] = {"messages": CALLED_ON, "tools": TOOLS, "add_generation_prompt": True, **more}
    for name, messages in [("plain", PLAIN), ("turns", TURNS), ("called", CALLED), ("called on", CALLED_ON), ("two calls", TWO_CALLS)]:
        for system in (False, True):
            given = {"messages": [SYSTEM] * system + messages, "tools": TOOLS, "add_generation_prompt": True}
            cases[f"tools: {name}{'+system' * system}"] = given
    as_text = [user("Rain?"), call(arguments='{"city": "Bath"}'), result()]
    cases["tools: arguments as text"] = {"messages": as_text, "tools": TOOLS, "add_generation_prompt": True}
    reasoned = [user("Rain?"), call(content=None, reasoning_content="look", thinking="look"), result({"sky": ["clear"]})]
    cases["tools: reasoned"] = {"messages": reasoned, "tools": TOOLS, "add_generation_prompt": True}
    cases["no tools: called"] = {"messages": CALLED_ON, "add_generation_prompt": True}
    cases["tools: none"] = {"messages": PLAIN, "tools": [], "add_generation_prompt": True}
    cases["documents"] = {"messages": PLAIN, "documents": DOCUMENTS, "add_generation_prompt": True}
    cases["documents and tools"] = {"messages": [SYSTEM, *TURNS], "documents": DOCUMENTS, "tools": TOOLS, "add_generation_prompt": True}
    cases["controls"] = {"messages": PLAIN, "documents": DOCUMENTS, "controls": {"length": "long"}, "add_generation_prompt": True}
    return cases
