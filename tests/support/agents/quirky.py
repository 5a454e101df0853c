"""An agent that keeps sessions, with the habits of real ones that its command line names; standard library only.

It answers a prompt with all that the session was asked so far, `[heard] one|two`, so that an answer proves what it
holds. Sessions are files below the folder that HOME_OF_SESSIONS names; what it was asked for is in `requests.jsonl`
there. Habits:

greets, greets-early      says something behind, or before, the answer to `session/new`
greets-loaded             … behind the answer to `session/load`
greets-oddly              with a plan, a thought, a tool call and an unknown update instead of words
replays-late              tells a loaded session's history behind the answer to `session/load`
replays-behind            … behind the first prompt, before its answer, which follows without a pause
ends-late                 … and its commands behind that; `NAME=…` says what it calls itself
loads-once                … and has nothing to tell of one that it loaded before
no-resume, no-load, no-fork  are not offered
local-commands            answers slash commands by itself: they are in no session
refuses-commands          refuses slash commands
compacts                  `/compact` is a compaction without a word
compacts-aloud            … that tells of its beginning, of its summary, and of its end twice
forks-asleep              a fork must be opened before it can be prompted
forgets-forks             … and is not found when it is opened either
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

Message = dict[str, Any]
Kept = list[list[str]]  # who, and what they said

GREETING = "Welcome to quirky 1.0"


class Agent:
    """Its pipes, its sessions and its habits."""

    def __init__(self, habits: frozenset[str], folder: Path) -> None:
        self.habits = habits
        self.folder = folder
        self.live: set[str] = set()
        self.untold: set[str] = set()  # sessions whose history comes with their first prompt
        folder.mkdir(parents=True, exist_ok=True)

    def send(self, *messages: Message) -> None:
        lines = (json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
        sys.stdout.write("".join(lines))
        sys.stdout.flush()

    def update(self, session_id: str, kind: str, **fields: Any) -> Message:
        update = {"sessionUpdate": kind, **fields}
        return {"method": "session/update", "params": {"sessionId": session_id, "update": update}}

    def text(self, session_id: str, who: str, text: str, message_id: str | None = None) -> Message:
        more = {"messageId": message_id} if message_id else {}
        content = {"type": "text", "text": text}
        return self.update(session_id, f"{who}_message_chunk", content=content, **more)

    def kept(self, session_id: str) -> Kept | None:
        path = self.folder / f"{session_id}.json"
        found: Kept | None = json.loads(path.read_text()) if path.exists() else None
        return found

    def keep(self, session_id: str, said: Kept) -> None:
        # Whole at once: others look, and we may be killed.
        written = self.folder / f".{session_id}.{os.getpid()}"
        written.write_text(json.dumps(said))
        written.replace(self.folder / f"{session_id}.json")

    def born(self, said: Kept) -> str:
        session_id = f"q{sum(1 for _ in self.folder.glob('q*.json')) + 1}"
        self.keep(session_id, said)
        return session_id

    def forgot(self, session_id: str) -> bool:
        return self.kept(session_id) is None or ("forgets-forks" in self.habits and session_id != "q1")

    def history(self, session_id: str) -> list[Message]:
        said = self.kept(session_id) or []
        return [
            self.text(session_id, who, words, f"{session_id}.{at}") for at, (who, words) in enumerate(said)
        ]

    # --- requests

    def answer(self, request: Message) -> None:
        asked = {"method": request["method"], **request.get("params", {})}
        with (self.folder / "requests.jsonl").open("ab", buffering=0) as record:  # a line is one write
            record.write(json.dumps(asked).encode() + b"\n")
        if "id" not in request:
            return
        perform = getattr(self, request["method"].replace("/", "_").lstrip("_"), None)
        if perform is None:
            self.refuse(request, -32601, "Method not found")
        else:
            perform(request, request["params"])

    def reply(self, request: Message, result: Any) -> Message:
        return {"id": request["id"], "result": result}

    def refuse(self, request: Message, code: int, message: str) -> None:
        self.send({"id": request["id"], "error": {"code": code, "message": message}})

    def not_found(self, request: Message, session_id: str) -> None:
        self.refuse(request, -32002, f"Session {session_id} not found")

    def initialize(self, request: Message, _: Message) -> None:
        name = next((habit[5:] for habit in self.habits if habit.startswith("NAME=")), "quirky")
        can = {"resume", "fork", "close"} - {habit.removeprefix("no-") for habit in self.habits}
        offered = {
            "loadSession": "no-load" not in self.habits,
            "sessionCapabilities": {ability: {} for ability in can},
        }
        info = {"name": name, "title": "Quirky", "version": "1"}
        self.send(
            self.reply(request, {"protocolVersion": 1, "agentCapabilities": offered, "agentInfo": info})
        )

    def session_new(self, request: Message, _: Message) -> None:
        session_id = self.born([])
        self.live.add(session_id)
        greeting = self.greeting(session_id)
        if "greets-early" in self.habits:
            self.send(*greeting, self.reply(request, {"sessionId": session_id}))
        elif "greets" in self.habits:
            self.send(self.reply(request, {"sessionId": session_id}), *greeting)
        else:
            self.send(self.reply(request, {"sessionId": session_id}))

    def greeting(self, session_id: str) -> list[Message]:
        if "greets-oddly" not in self.habits:
            return [self.text(session_id, "agent", GREETING)]
        entry = {"content": "look around", "priority": "low", "status": "pending"}
        return [
            self.update(session_id, "plan", entries=[entry]),
            self.update(session_id, "agent_thought_chunk", content={"type": "text", "text": "hm"}),
            self.update(
                session_id, "tool_call", toolCallId="t", title="Scan the project", status="completed"
            ),
            self.update(session_id, "something_new", of="its own"),
        ]

    def session_load(self, request: Message, params: Message) -> None:
        session_id = params["sessionId"]
        if self.forgot(session_id):
            return self.not_found(request, session_id)
        if "loads-once" in self.habits:
            mark = self.folder / f"{session_id}.loaded"
            if mark.exists():
                return self.refuse(request, -32603, "No previous sessions found for this project.")
            mark.touch()
        self.live.add(session_id)
        history, answered = self.history(session_id), self.reply(request, {})
        # All of it with a single write, so that what comes behind the answer comes before the client can go on.
        if "replays-behind" in self.habits:
            self.untold.add(session_id)
            self.send(answered)
        elif "replays-late" in self.habits:
            ended = [self.update(session_id, "available_commands_update", availableCommands=[])]
            self.send(answered, *history, *(ended if "ends-late" in self.habits else []))
        else:
            self.send(
                *history, answered, *(self.greeting(session_id) if "greets-loaded" in self.habits else [])
            )
        return None

    def session_resume(self, request: Message, params: Message) -> None:
        session_id = params["sessionId"]
        if self.forgot(session_id):
            return self.not_found(request, session_id)
        self.live.add(session_id)
        self.send(self.reply(request, {}))
        return None

    def session_fork(self, request: Message, params: Message) -> None:
        said = self.kept(params["sessionId"])
        if said is None:
            return self.not_found(request, params["sessionId"])
        session_id = self.born(said)
        if not {"forks-asleep", "forgets-forks"} & self.habits:
            self.live.add(session_id)
        self.send(self.reply(request, {"sessionId": session_id}))
        return None

    def session_close(self, request: Message, params: Message) -> None:
        self.live.discard(params["sessionId"])
        self.send(self.reply(request, {}))

    def session_prompt(self, request: Message, params: Message) -> None:
        session_id = params["sessionId"]
        if session_id not in self.live:
            return self.not_found(request, session_id)
        prompt: str = params["prompt"][-1]["text"]
        over = self.reply(request, {"stopReason": "end_turn"})
        if session_id in self.untold:
            self.untold.discard(session_id)
            self.send(*self.history(session_id))
        said = self.kept(session_id) or []
        if prompt.startswith("/") and "refuses-commands" in self.habits:
            return self.refuse(request, -32603, f"Slash command not supported in ACP integration: {prompt}")
        if prompt == "/compact" and "compacts" in self.habits:
            self.keep(session_id, [["user", "This is what was said before, in short."]])
            self.send(self.update(session_id, "compaction_update", status="completed"), over)
            return None
        if prompt == "/compact" and "compacts-aloud" in self.habits:
            told = {"compactionId": f"compaction-{request['id']}"}
            summary = [{"type": "text", "text": "in short"}]
            self.send(
                self.update(session_id, "compaction_update", status="in_progress", **told),
                self.update(session_id, "compaction_update", status="completed", summary=summary, **told),
                self.update(session_id, "compaction_update", status="completed", **told),
                over,
            )
            return None
        if prompt.startswith("/") and "local-commands" in self.habits:
            self.send(self.text(session_id, "agent", f"{prompt} was run here"), over)
            return None
        whole = "\n".join(block["text"] for block in params["prompt"])
        said.append(["user", whole])
        if prompt.startswith("fail: "):
            self.keep(session_id, said)
            self.send(self.text(session_id, "agent", prompt.removeprefix("fail: ")), over)
            return None
        # What was told stands in a block of its own before the prompt.
        prompts = "|".join(words.rpartition("\n")[2] for who, words in said if who == "user")
        said.append(["agent", f"[heard] {prompts}"])
        self.keep(session_id, said)
        self.send(self.text(session_id, "agent", said[-1][1], f"{session_id}.{len(said) - 1}"), over)
        return None


def main() -> None:
    agent = Agent(frozenset(sys.argv[1:]), Path(os.environ["HOME_OF_SESSIONS"]))
    for line in sys.stdin:
        message = json.loads(line)
        if "method" in message:
            agent.answer(message)


if __name__ == "__main__":
    main()
