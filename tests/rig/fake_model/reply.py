"""What the model answers, from what it was sent; pure.

Without a keyword the answer is ``[echo] users=N assistants=M last="…" all=first|second|…``: the number of
messages of each side, the last prompt, and every prompt's last 40 characters. A keyword in the last line of
the last prompt changes that:

======================================  ==================================================================
LONG n, SLOW n                          n words, 10 ms or 500 ms apart
CUT n                                   n words, then the connection is dropped
TOOL, TOOLSHELL, TOOLWRITE, TOOLREAD    a call of such a tool; after its result, the echo
TOOLNAMED name {json}                   a call of the tool whose name ends so, with these arguments
THINK                                   a thought before the echo
EMPTY                                   nothing, and a normal end
HANG                                    nothing, and no end
FAIL429 (any status), FAILNR429         an HTTP error; NR: with the header that forbids to try again
FAIL429 ONCE                            the same, until the model hears this line a second time
FAILCTX                                 the error of a prompt that is too long
======================================  ==================================================================
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Role = Literal["user", "assistant", "tool"]

# A side request (a title, a summary) quotes the history: what a keyword in it asked for was done long ago.
LONGEST_PROMPT_WITH_KEYWORDS = 400

SHELLS = ("Bash", "bash", "run_shell_command")
WRITERS = ("Write", "write", "write_file")
READERS = ("Read", "read", "read_file")
TOOLS_WANTED = {"TOOLSHELL": SHELLS, "TOOLWRITE": WRITERS, "TOOLREAD": READERS, "TOOL": WRITERS + SHELLS}

WORKING_DIRECTORY = (
    re.compile(r"(/[^\s`\"<'\)\\]*/acp-cwd[^\s`\"<'\)\\]*)"),
    re.compile(r"[Ww]orking [Dd]irectory(?: is)?:?\s*[`\"]?(/[^\s`\"<\\]+)"),
)
# What agents put around a person's words.
NOISE = re.compile(r"<(system-reminder|session_context|environment_context)>.*?</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Heard:
    """One message of a request, with the agent's own additions taken out."""

    role: Role
    texts: tuple[str, ...]
    tool_result: bool = False
    results: tuple[str, ...] = ()  # the texts of tools that are in it

    @property
    def text(self) -> str:
        """Its blocks as one text."""
        return "\n".join(self.texts)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that the agent offers to the model, with the JSON schema of its arguments."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Failure:
    """An HTTP error."""

    status: int
    message: str
    forbids_retry: bool = False


@dataclass(frozen=True, slots=True)
class Reply:
    """What the model does with a request."""

    text: str = ""
    thought: str = ""
    tool: ToolUse | None = None
    failure: Failure | None = None
    pause: float = 0.0  # seconds after each word
    cut: bool = False
    hang: bool = False
    number: int = 0  # which request it answers
    prompts: int = 0

    @property
    def words(self) -> list[str]:
        """The text in the pieces in which it is streamed."""
        return re.findall(r"\S+\s*", self.text)


def without_noise(text: str) -> str:
    """What a person wrote, byte for byte, without what agents put around it."""
    cleaned = NOISE.sub("", text)
    return text if cleaned == text else cleaned.strip()


def reply_to(heard: Sequence[Heard], tools: Sequence[Tool], raw: str, number: int) -> Reply:
    """The answer to request ``number``, whose body was ``raw``."""
    prompts = [message for message in heard if message.role == "user" and message.text]
    answers = [message for message in heard if message.role == "assistant" and message.text]
    last = prompts[-1].text if prompts else ""
    echo = (
        f'[echo] users={len(prompts)} assistants={len(answers)} last="{last[-120:]}" '
        f"all={'|'.join(prompt.text[-40:].replace(chr(10), ' ') for prompt in prompts)}"
    )
    return _asked_for(_keyword_line(prompts), echo, heard, tools, raw, number, len(prompts))


def _asked_for(
    line: str,
    echo: str,
    heard: Sequence[Heard],
    tools: Sequence[Tool],
    raw: str,
    number: int,
    prompts: int,
) -> Reply:
    if match := re.search(r"\bFAIL(NR)?(\d{3})\b", line):
        status = int(match[2])
        if not (re.search(r"\bONCE\b", line) and _times_heard(line, heard) > 1):
            failure = Failure(status, f"fake error ({status})", bool(match[1]))
            return Reply(failure=failure, number=number)
        return Reply(echo, number=number, prompts=prompts)
    if re.search(r"\bFAILCTX\b", line):
        too_long = Failure(400, "prompt is too long: 250000 tokens > 200000 maximum")
        return Reply(failure=too_long, number=number)
    if re.search(r"\bHANG\b", line):
        return Reply(hang=True, number=number, prompts=prompts)
    if re.search(r"\bEMPTY\b", line):
        return Reply(number=number, prompts=prompts)
    if match := re.search(r"\b(LONG|SLOW|CUT)\b(?:\s+(\d+))?", line):
        return _counting(match[1], match[2], number, prompts)
    thought = "thinking about it, step one, step two" if re.search(r"\bTHINK\b", line) else ""
    if (use := _tool_use(line, tools, raw, number)) is not None:
        if _tool_has_answered(heard):
            return Reply(f"[after-tool] {echo}", thought, number=number, prompts=prompts)
        if not use.name:
            return Reply(f"[no-tool-available] {echo}", thought, number=number, prompts=prompts)
        return Reply(f"Calling {use.name} now.", thought, use, number=number, prompts=prompts)
    return Reply(echo, thought, number=number, prompts=prompts)


def _tool_use(line: str, tools: Sequence[Tool], raw: str, number: int) -> ToolUse | None:
    """The call that a line asks for, without a name where no such tool is offered; None if it asks for none."""
    if match := re.search(r"\bTOOLNAMED (\w+) (\{.*\})", line):
        # Agents put the name of its server before that of a tool, each in another way; `write` is not `todowrite`.
        ending = (tool.name for tool in tools if tool.name.endswith(match[1]))
        name = min(ending, key=len, default="")
        return ToolUse(name, json.loads(match[2]))
    if match := re.search(r"\b(TOOLSHELL|TOOLWRITE|TOOLREAD|TOOL)\b", line):
        offered = {tool.name: tool for tool in tools}
        for name in TOOLS_WANTED[match[1]]:
            if name in offered:
                return ToolUse(name, _arguments(offered[name], _working_directory(raw), number))
        return ToolUse("", {})
    return None


def _keyword_line(prompts: Sequence[Heard]) -> str:
    # A block before the prompt's was told, not asked; and agents merge a prompt that failed with the next:
    # only the last line of the last block is what is asked for now.
    asked = prompts[-1].texts[-1] if prompts else ""
    if len(asked) > LONGEST_PROMPT_WITH_KEYWORDS:
        return ""
    lines = [line for line in asked.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _counting(keyword: str, count: str | None, number: int, prompts: int) -> Reply:
    default, pause = {"LONG": (300, 0.01), "SLOW": (60, 0.5), "CUT": (10, 0.02)}[keyword]
    words = int(count or default)
    counted = " ".join(f"w{i}" for i in range(1, words + 1))
    text = f"[{keyword.lower()} {words}] {counted} [end]"
    return Reply(text, pause=pause, cut=keyword == "CUT", number=number, prompts=prompts)


def _times_heard(line: str, heard: Sequence[Heard]) -> int:
    said = [text for message in heard if message.role == "user" for text in message.texts]
    return sum(text.strip().endswith(line.strip()) for text in said)


def _tool_has_answered(heard: Sequence[Heard]) -> bool:
    for message in reversed(heard):
        if message.tool_result:
            return True
        if message.role == "user" and message.text:
            return False
    return False


def _working_directory(raw: str) -> str:
    """Where a tool should write: a directory whose name begins with acp-cwd is always recognised."""
    for pattern in WORKING_DIRECTORY:
        if match := pattern.search(raw):
            return match[1].rstrip(".,")
    return tempfile.gettempdir()


def _arguments(tool: Tool, directory: str, number: int) -> dict[str, Any]:
    properties: Mapping[str, Any] = tool.schema.get("properties") or {}
    required = tool.schema.get("required") or list(properties)
    output = Path(directory) / f"shell{number}.txt"
    known = {
        "command": f"echo fake-shell-{number} > {output} && cat {output}",
        "content": f"hello from the fake model {number}\n",
        **dict.fromkeys(("file_path", "filePath", "absolute_path", "path"), f"{directory}/fake{number}.txt"),
    }
    return {
        name: known[name] if name in known else _any_value(schema)
        for name, schema in properties.items()
        if name in known or name in required
    }


def _any_value(schema: Mapping[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    values: dict[str, Any] = {"boolean": False, "integer": 10, "number": 10, "array": [], "object": {}}
    return values.get(str(schema.get("type")), "fake")
