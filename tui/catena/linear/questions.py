"""Questions of agents as lines: permission requests with numbered answers, forms field by field, web pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import assert_never

from catena.linear import rows
from catena.linear.context import LinearContext, is_sentence
from catena.linear.input import InputLine
from catena.text.call_text import relative
from catena.text.changes_text import MOST_LINES, change_lines
from catena.text.safe_text import safe, safe_line
from catena.workspace.questions.forms import DECLINED, about_field, given_input, page_lines, ways_of
from catena.workspace.questions.permission_words import (
    NO_ANSWER,
    WITH_REASON,
    always_words,
    first_rows,
    more_words,
    note_words,
    question_words,
    saved_words,
    subject_lines,
)
from catena.workspace.tab import Tab
from catena_acp.continuity.conversation_events import ElicitationOpened, PermissionOpened, Question
from catena_acp.errors import QuestionChanged
from catena_acp.permissions.options import option_of
from catena_acp.permissions.rule import Rule, first_choice, proposals
from catena_acp.port.elicitation.checks import check
from catena_acp.port.elicitation.requests import (
    CANCEL,
    DECLINE,
    ElicitationAnswer,
    Form,
    UnknownField,
    Value,
    WebPage,
)
from catena_acp.port.session_events import PermissionOption

_OTHERWISE = "A space before a text sends it as a prompt, /stop stops the agent."
_TOO_LATE = "The agent is no longer waiting for that answer."
_RULES = 3
_ROWS = 40  # of what is asked, beside its change


@dataclass(frozen=True, slots=True)
class NumberedAnswer:
    """One numbered answer: an option of the agent, alone, with a rule that is kept, or with a reason."""

    words: str
    option: PermissionOption | None = None  # None: a form is filled in, or a page was opened
    rule: Rule | None = None
    reason: bool = False


class Questions:
    """The open question of the tab that is read."""

    def __init__(self, context: LinearContext, *, send: Callable[[Tab, str], object]) -> None:
        """``send`` sends a reason as the next prompt."""
        self._context = context
        self._send = send
        self._asked: Question | None = None  # that was said
        self._asked_at = 0.0
        self._said = 0  # choices of it, from the first one on
        self._answered: set[str] = set()  # by the person
        self._read_whole = ""  # the question of which all was read, or which was answered once
        self._choices: tuple[NumberedAnswer, ...] = ()

    @property
    def open(self) -> Question | None:
        """The question that waits for the person, once it was said."""
        tab = self._context.tab
        first = tab.asks[0] if tab and tab.asks else None
        return first if first is not None and first is self._asked and not _opened(first) else None

    def announce(self) -> None:
        """Say the first open question, unless it was said; what is shown of it is read by Enter again."""
        tab = self._context.tab
        first = tab.asks[0] if tab and tab.asks else None
        if first is None or first is self._asked or _opened(first):
            return
        if self._read_whole == first.ask_id:
            self._read_whole = ""
        self._asked, self._asked_at = first, self._context.clock()
        self._say(first)

    def closed(self, ask_id: str) -> None:
        """Say that a question is over which the person did not answer: the agent, a stop or a rule did."""
        if self._asked is not None and self._asked.ask_id == ask_id:
            self._asked = None
            if ask_id not in self._answered:
                self._context.out.line("Note: That question is closed.")
        self._answered.discard(ask_id)

    def repeat(self) -> None:
        """Say the open question again."""
        if (asked := self.open) is not None:
            self._say(asked, whole=True)

    def postpone(self) -> bool:
        """Say that the open question goes on waiting; False if none is open."""
        if self.open is None:
            return False
        self._context.say(f"The question is still open. {self._ways(self.open)}")
        return True

    def _say(self, asked: Question, *, whole: bool = False) -> None:
        """Say a question with its choices; of a request, first only those that its agent has."""
        out = self._context.out
        match asked:
            case PermissionOpened():
                self._choices = tuple(self._permission_choices(asked))
                out.lines(self._permission_lines(asked))
            case ElicitationOpened():
                self._choices = tuple(_elicitation_choices(asked))
                out.lines(_elicitation_lines(asked))
            case _:
                assert_never(asked)
        brief = isinstance(asked, PermissionOpened) and not (whole or self._context.verbose)
        self._said = sum(1 for each in self._choices if not (brief and (each.rule or each.reason)))
        out.lines(f"{number}: {choice.words}" for number, choice in enumerate(self._choices[: self._said], 1))
        out.last_line(self._ways(asked) if not self._choices else f"Choose: {self._ways(asked)}", bells=2)

    def _ways(self, asked: Question) -> str:
        if not self._choices:
            return f"{NO_ANSWER}: /stop stops the agent. Enter alone reads this again."
        left = len(self._choices) - self._said
        ways = [] if left else [f"1 to {len(self._choices)}"]
        if isinstance(asked, PermissionOpened):
            ways += ["y" if left else "y allows once"] if option_of(asked.options, allow=True) else []
            ways += ["n" if left else "n rejects"] if _rejection(asked) else []
            ways += ["d reads the change"] if asked.subject.diffs else []
            ways += ["d reads all"] if not asked.subject.diffs and self._is_cut(asked) else []
        again = f"Enter reads {left} more." if left else "Enter alone reads this again."
        return f"{', '.join(ways)}. {again}" if ways else again

    # --- permission requests

    def _permission_lines(self, asked: PermissionOpened) -> Iterator[str]:
        tab = self._context.here
        directory = tab.conversation.record.cwd
        waiting = f" (1 of {len(tab.asks)})" if len(tab.asks) > 1 else ""
        yield f"Asks:{waiting} {question_words(asked.subject)}"
        shown, left = first_rows(self._subject(asked), _ROWS)
        yield from map(rows.set_in, shown)
        if left and not self._context.verbose:
            yield f"Note: {more_words(left)}"
        if diffs := asked.subject.diffs:
            yield from change_lines(diffs, directory, most=None if self._context.verbose else MOST_LINES)
        yield from (f"Note: {note}" for note in note_words(asked))

    def _subject(self, asked: PermissionOpened) -> list[str]:
        """All that a request is about, without the names of files that its change tells."""
        directory = self._context.here.conversation.record.cwd
        told = {relative(diff.path, directory) for diff in asked.subject.diffs}
        return [line for line in subject_lines(asked.subject, directory) if line not in told]

    def _is_cut(self, asked: PermissionOpened) -> bool:
        """True if not all of what is asked was said: neither a line beside its change nor one of that."""
        if self._context.verbose:
            return first_rows(self._subject(asked), _ROWS)[1] > 0
        diffs, directory = asked.subject.diffs, self._context.here.conversation.record.cwd
        changed = sum(1 for _ in change_lines(diffs, directory))
        said = sum(1 for _ in change_lines(diffs, directory, most=MOST_LINES))
        return changed > said or first_rows(self._subject(asked), _ROWS)[1] > 0

    def _permission_choices(self, asked: PermissionOpened) -> Iterator[NumberedAnswer]:
        for option in asked.options:
            yield NumberedAnswer(safe_line(option.name), option)
        once = option_of(asked.options, allow=True)
        if once is not None:
            rules = proposals(asked.subject)
            at = first_choice(rules) if rules else 0
            for rule in rules[at : at + _RULES]:
                yield NumberedAnswer(always_words(rule), once, rule)
        if (rejection := _rejection(asked)) is not None:
            yield NumberedAnswer(WITH_REASON, rejection, reason=True)

    def read_change(self) -> bool:
        """Read all that the open question is about; False if it is no permission request."""
        asked = self.open
        if not isinstance(asked, PermissionOpened):
            return False
        self._read_whole = asked.ask_id
        out = self._context.out
        out.lines(change_lines(asked.subject.diffs, self._context.here.conversation.record.cwd))
        out.lines(map(rows.set_in, self._subject(asked)))
        return True

    # --- answers

    async def answer(self, line: InputLine) -> None:
        """Answer the open question by a line; one that is no answer, and Enter alone, decide nothing."""
        asked, text = self.open, line.text.strip()
        if asked is None:
            return
        context = self._context
        if not text:
            self.repeat()
            return
        if line.pasted and is_sentence(text):
            await context.keep(text)
            return
        early = context.is_early(line.arrived, self._asked_at)
        if line.pasted or (early and self._choice(asked, text)[0] is not None):
            context.say_early()
            return
        if text.lower() == "d" and self.read_change():
            return
        if text.isdecimal() and self._said < int(text[:4]) <= len(self._choices):
            self.repeat()  # it was not read yet
            return
        choice, reason = self._choice(asked, text)
        if choice is None and is_sentence(text):
            await context.keep(text)
        elif choice is None:
            context.say(f"Not an answer: “{_shown(text)}”. {self._ways(asked)}{context.hint(_OTHERWISE)}")
        elif isinstance(asked, PermissionOpened) and self._is_unread(asked, choice):
            self._read_whole = asked.ask_id
            context.say("Not all of it was read: d reads it, or answer again.")
        elif isinstance(asked, PermissionOpened):
            await self._answer_permission(asked, choice, reason)
        else:
            await self._answer_elicitation(asked, choice)

    def _is_unread(self, asked: PermissionOpened, choice: NumberedAnswer) -> bool:
        """True if a choice would allow what was not read whole."""
        allows = choice.option is not None and not choice.option.kind.startswith("reject")
        return allows and self._is_cut(asked) and self._read_whole != asked.ask_id

    async def decide(self, kind: str, reason: str = "") -> bool:
        """Allow or reject the open request by a command; False if none is open that can be."""
        asked = self.open
        if not isinstance(asked, PermissionOpened):
            return False
        if kind == "allow" and self._context.is_early(self._context.arrived, self._asked_at):
            self._context.say_early()
            return True
        option = option_of(asked.options, allow=True) if kind == "allow" else _rejection(asked)
        if option is None:
            return False
        await self._answer_permission(asked, NumberedAnswer(safe_line(option.name), option), reason)
        return True

    async def close(self) -> None:
        """Reject or decline the open question: the input is over, and nobody answers it."""
        asked = self.open
        if isinstance(asked, PermissionOpened):
            if not await self.decide("reject"):
                await self._context.here.conversation.answer(asked.ask_id, None)
        elif asked is not None:
            await self._context.here.conversation.answer_elicitation(asked.ask_id, DECLINE)

    def _choice(self, asked: Question, text: str) -> tuple[NumberedAnswer | None, str]:
        word, _, rest = text.partition(" ")
        if word.isdecimal() and len(word) < 4 and 1 <= int(word) <= self._said:
            choice = self._choices[int(word) - 1]
            return (choice, rest.strip()) if not rest or choice.reason else (None, "")
        if not isinstance(asked, PermissionOpened):
            return None, ""
        option = None
        if text.lower() in ("y", "yes"):
            option = option_of(asked.options, allow=True)
        elif text.lower() in ("n", "no"):
            option = _rejection(asked)
        elif word.lower() == "r" and rest.strip():
            option = _rejection(asked)
            return (
                (NumberedAnswer(safe_line(option.name), option, reason=True), rest.strip())
                if option
                else (None, "")
            )
        return (NumberedAnswer(safe_line(option.name), option), "") if option else (None, "")

    async def _answer_permission(self, asked: PermissionOpened, choice: NumberedAnswer, reason: str) -> None:
        context, tab = self._context, self._context.here
        if choice.reason and not reason:
            given = await context.ask("Reason (sent as your next prompt), Enter for none: ")
            if given is None:
                self.postpone()
                return
            reason = given.strip()
            if all(ask.ask_id != asked.ask_id for ask in tab.asks):
                context.say(_TOO_LATE)
                return
        assert choice.option is not None
        try:
            if tab.asks_otherwise(asked):
                raise QuestionChanged
            if choice.rule is not None:
                await tab.conversation.rules.add(choice.rule)
            self._answered.add(asked.ask_id)
            await tab.conversation.answer(asked.ask_id, choice.option.id, asked.tool_call)
        except QuestionChanged as error:
            self._answered.discard(asked.ask_id)
            context.say(str(error))
            return
        context.out.line(f"Answered: {choice.words}")
        if choice.rule is not None:
            answered = await context.tabs.apply_rules(tuple)
            context.say(saved_words(answered))
        if reason:
            self._send(tab, reason)

    async def _answer_elicitation(self, asked: ElicitationOpened, choice: NumberedAnswer) -> None:
        context, tab = self._context, self._context.here
        answer: ElicitationAnswer | None = DECLINE
        if choice.words != DECLINED:
            if isinstance(asked.request, WebPage):
                answer = ElicitationAnswer("accept")
            else:
                answer = await self._fill(asked.request)
        if answer is None:
            context.say("Not sent: the form is still open.")
            self.repeat()
            return
        if all(ask.ask_id != asked.ask_id for ask in tab.asks):
            context.say(_TOO_LATE)
            return
        context.out.line("Answered: declined" if answer in (DECLINE, CANCEL) else "Answered: sent")
        self._answered.add(asked.ask_id)
        await tab.conversation.answer_elicitation(asked.ask_id, answer)

    async def _fill(self, form: Form) -> ElicitationAnswer | None:
        """Ask for each field; None where the person leaves it with `/cancel`, or the input ends."""
        context, content = self._context, dict[str, Value]()
        fields = [field for field in form.fields if not isinstance(field, UnknownField)]
        context.say("/cancel leaves the form open.")
        for number, field in enumerate(fields, start=1):
            title = safe_line(field.label.title)
            needed = "" if field.label.required else ", optional"
            context.out.line(f"Field {number} of {len(fields)}: {title}{needed}")
            context.out.lines(about_field(field, theirs=rows.set_in))
            while True:
                line = await context.ask(rows.set_in(f"{title}: "), keeps=False)
                if line is None or line.strip() == "/cancel":  # a command of another name comes next
                    return None
                checked = check(field, given_input(field, line.strip()))
                if not checked.error:
                    break
                context.out.line(f"Trouble: {safe_line(checked.error)}")
            if checked.value is not None:
                content[field.label.name] = checked.value
        return ElicitationAnswer("accept", content)


def _elicitation_lines(asked: ElicitationOpened) -> Iterator[str]:
    first, *more = safe(asked.request.message).splitlines() or ["a form"]
    yield f"Asks: {first}"
    yield from (rows.set_in(line) for line in more if line.strip())
    if isinstance(asked.request, WebPage):
        yield from map(rows.set_in, page_lines(asked.request))


def _elicitation_choices(asked: ElicitationOpened) -> Sequence[NumberedAnswer]:
    return [NumberedAnswer(words) for words in ways_of(asked.request)]


def _rejection(asked: PermissionOpened) -> PermissionOption | None:
    """The option that rejects, for once if there is such."""
    return option_of(asked.options, allow=False, lasting=True)


def _opened(asked: Question) -> bool:
    return isinstance(asked, ElicitationOpened) and asked.opened


def _shown(text: str) -> str:
    line = safe_line(text)
    return line if len(line) <= 30 else f"{line[:27]}..."
