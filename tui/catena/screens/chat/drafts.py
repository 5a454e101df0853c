"""The composer while an action replaces its text: what is typed meanwhile is neither lost nor sent elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, Protocol, TypeVar

from catena.widgets.composer import Composer, ComposerSnapshot

if TYPE_CHECKING:
    from types import TracebackType

    from catena.screens.chat.presenter import TabPresenter
    from catena.workspace.tab import Tab
    from catena.workspace.tabs import OpenTabs


P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class _Sent:
    """A text submitted before it could be sent; its tab is None until the tab is shown."""

    text: str
    tab: Tab | None


class HandoverStep:
    """A running action that may put another text into the composer, as a context manager around it."""

    def __init__(self, handover: Handover, tab: Tab | None, *, stays: bool) -> None:
        self._handover = handover
        self.tab = tab
        self.stays = stays  # what is typed meanwhile belongs to this tab in any case
        self.task: asyncio.Task[object] | None = None
        self.done = False  # it has brought its text, or will bring none

    def __enter__(self) -> None:
        self.task = asyncio.current_task()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._handover.end(self, failed=error is not None)


class Handover:
    """The owner of the composer's text, and the texts that wait for another one.

    From the start of an action until its text is there, what is typed belongs behind that text. Enter waits until the
    transcript of its tab is on the screen.
    """

    def __init__(
        self,
        composer: Composer,
        tabs: OpenTabs,
        presenter: TabPresenter,
        *,
        send: Callable[[str, Tab], None],
        show: Callable[[Tab], None],
        keep: Callable[[Tab], None],
        changed: Callable[[], None],
        is_command: Callable[[str], bool],
    ) -> None:
        """``send`` does what Enter does in a tab; ``show`` tries once more to show one that could not be read.

        ``keep`` saves what is written in a tab; ``changed`` is called when what stands in the composer is to be saved;
        ``is_command`` is true for a text that is a command of ours.
        """
        self._composer = composer
        self._tabs = tabs
        self._presenter = presenter
        self._send = send
        self._show = show
        self._keep = keep
        self._changed = changed
        self._is_command = is_command
        # Of the tab's text, while another text may take its place.
        self._snapshot: ComposerSnapshot | None = None
        self._steps: list[HandoverStep] = []
        self._sent: list[_Sent] = []
        self._entered: HandoverStep | None = None
        self._missing: Tab | None = None  # it could not be shown, and the next Enter tries that once more
        composer.hold = self._hold
        presenter.returned = self._returned

    @property
    def tab(self) -> Tab | None:
        """The tab whose text is in the composer."""
        return self._composer.tab

    @property
    def waits(self) -> bool:
        """True while another text may come; what is typed then is not part of the present one."""
        return self._snapshot is not None

    @property
    def has_sent(self) -> bool:
        """True while a text waits to be sent."""
        return bool(self._sent)

    def write(self) -> None:
        """Write the composer's text to its tab, unless another text may come."""
        tab = self.tab
        if tab is not None and not self.waits and tab.write(self._composer.text):
            self._changed()

    def entered(self) -> HandoverStep | None:
        """Take the step that the Enter of a command began, to run the command in it."""
        entered, self._entered = self._entered, None
        return entered

    def begin(self, *, sent: bool = False, stays: bool = False) -> HandoverStep:
        """Begin an action. ``sent``: it consumed the composer's text. ``stays``: it never switches tabs."""
        if self._snapshot is None:
            if not sent:
                self.write()
            self._snapshot = (
                ComposerSnapshot("", "") if sent or self.tab is None else self._composer.snapshot()
            )
        elif all(step.task is not asyncio.current_task() for step in self._steps):
            self._restore_sent()  # meant for the action before; after this one the person sends it again
        step = HandoverStep(self, self.tab, stays=stays)
        self._steps.append(step)
        return step

    def switch(self, tab: Tab | None) -> None:
        """Switch the composer to a tab, with what was typed for that tab already."""
        composer, owner, snapshot = self._composer, self.tab, self._snapshot
        self._missing = None
        for step in self._steps:
            step.done = step.done or step.task is asyncio.current_task()
        if owner is tab and snapshot is None:
            return
        text = composer.text
        typed = snapshot.typed_since(text) if snapshot else text if owner is None else ""
        stays = any(step.stays and step.tab is owner and not step.done for step in self._steps)
        if (
            typed is None or stays or (snapshot is None and owner is not None)
        ):  # it is part of the text before
            if owner is not None and owner is not tab and owner in self._tabs.tabs:
                typed = ""
                if owner.write(text):
                    self._keep_elsewhere(owner)
            else:
                typed = text if typed is None else typed
        if tab is None:  # there is no tab to send it to
            waiting = [sent.text for sent in self._sent if sent.tab is None]
            typed = "\n".join(text for text in (*waiting, typed) if text.strip())
            self._sent = [sent for sent in self._sent if sent.tab is not None]
        base = tab.written if tab is not None else ""
        sent, self._sent = self._sent, []
        for each in sent:
            if each.tab is None and tab is not None:
                if not each.text.strip():  # it sent the text before, which is not sent in another tab
                    continue
                each, base = _Sent(base + each.text, tab), ""
            self._sent.append(each)
        composer.tab = tab
        self._snapshot = None
        composer.put(base + typed)
        if any(step.tab is tab and not step.done for step in self._steps):
            self._snapshot = ComposerSnapshot(base, "")
        if tab is not None and not self.waits and tab.write(base + typed):
            self._changed()

    def replace(self, text: str) -> None:
        """Replace the composer's text; the tab is the same."""
        typed = self._snapshot.typed_since(self._composer.text) if self._snapshot else ""
        self._composer.put(text + (self._composer.text if typed is None else typed))
        if self._snapshot is not None:
            self._snapshot = ComposerSnapshot(text, "")
            if self.tab is not None:
                self.tab.write(text)

    def prepend(self, text: str) -> None:
        """Put the beginning of a command before the composer's text; the rest is typed behind it."""
        if self._snapshot is not None:
            self.replace(text + self._snapshot.text)
        else:
            self._composer.put(text + self._composer.text)

    def end(self, step: HandoverStep, *, failed: bool) -> None:
        """End an action, whether or not it has brought a text."""
        self._steps.remove(step)
        if self._snapshot is not None and all(
            other.tab is not self.tab or other.done for other in self._steps
        ):
            self._stay(failed=failed)
        self.release()

    def _stay(self, *, failed: bool) -> None:
        """Keep the present text with what was typed; what was submitted is sent unless the action failed."""
        composer, snapshot, tab = self._composer, self._snapshot, self.tab
        assert snapshot is not None
        waiting = [sent.text for sent in self._sent if sent.tab is None]
        typed = snapshot.typed_since(composer.text)
        if typed is None or failed or tab is None:
            self._restore_sent()
            written = tab.written if tab is not None else snapshot.text
            if written != snapshot.text and typed is not None:  # put there by the action that failed
                composer.put(
                    "\n".join(part for part in (written, snapshot.typed_since(composer.text)) if part)
                )
        elif waiting:
            self._sent = [sent for sent in self._sent if sent.tab is not None]
            texts = [snapshot.before + waiting[0] + snapshot.after, *waiting[1:]]
            self._sent.extend(_Sent(text, tab) for text in texts if text.strip())
            composer.put(typed)
        self._snapshot = None
        self.write()

    def defer(self, text: str, tab: Tab) -> bool:
        """Defer a text that another one may come before; False if it can be sent at once."""
        if tab is not self.tab or not self.waits:
            return False
        self._sent.append(_Sent(text, tab))
        return True

    def release(self) -> None:
        """Send the texts whose tab is on the screen now, or no longer active."""
        ready = [sent for sent in self._sent if sent.tab is not None and self._may_go(sent.tab)]
        self._sent = [sent for sent in self._sent if sent not in ready]
        for sent in ready:
            assert sent.tab is not None
            self._send(sent.text.strip("\n").rstrip(), sent.tab)

    def _may_go(self, tab: Tab) -> bool:
        if tab is self.tab and self.waits:
            return False
        return tab is self._presenter.shown or tab is not self._tabs.active

    def give_up(self, tab: Tab) -> None:
        """Restore the waiting texts of a tab that cannot be shown to its draft."""
        self._missing = tab
        texts = [sent.text for sent in self._sent if sent.tab is tab]
        self._sent = [sent for sent in self._sent if sent.tab is not tab]
        if texts:
            self.rewrite(tab, lambda: tab.restore("\n".join(texts)))

    def rewrite(self, tab: Tab, change: Callable[[], None]) -> None:
        """Change the text of a tab, and show it if it is in the composer."""
        if tab is not self.tab:
            change()
            self._keep_elsewhere(tab)
            return
        snapshot, text = self._snapshot, self._composer.text
        typed = snapshot.typed_since(text) if snapshot else ""
        if not typed:
            typed = ""
            tab.write(text)
        change()
        self._composer.put(tab.written + typed)
        if snapshot is not None:
            self._snapshot = ComposerSnapshot(tab.written, "")
        self._changed()

    def _returned(self, tab: Tab, text: str) -> None:
        """Show a prompt that was returned to the draft; it is not part of what is typed for the coming text."""
        if tab is not self.tab:
            return
        typed = self._snapshot.typed_since(self._composer.text) if self._snapshot else None
        if typed is None:
            self._composer.restore(text)
        else:
            self._snapshot = ComposerSnapshot(tab.written + ("\n" if typed else ""), "")
            self._composer.put(self._snapshot.text + typed)

    def _keep_elsewhere(self, tab: Tab) -> None:
        if tab in self._tabs.tabs:
            self._keep(tab)

    def detach(self) -> None:
        """Write every text back to its tab, before the screen is removed."""
        tab = self.tab
        if self._snapshot is not None:
            self._restore_sent()
        if tab is not None:
            tab.write(self._composer.text)
        for sent in reversed([sent for sent in self._sent if sent.tab is not None]):
            assert sent.tab is not None
            sent.tab.restore(sent.text)
        self._sent.clear()
        self._snapshot = None

    def _hold(self) -> bool:
        """Handle Enter; True if it waits. If another text may come, only what was typed for that one is sent."""
        composer, snapshot, tab = self._composer, self._snapshot, self.tab
        if snapshot is None:
            if tab is None or tab is self._presenter.shown or tab is not self._tabs.active:
                self._enter(tab)
                return False
            if not composer.blank:
                self._sent.append(_Sent(composer.text, tab))
                composer.put("")
            if tab is self._missing:
                self._missing = None
                self._show(tab)
            return True
        typed = snapshot.typed_since(composer.text)
        if typed is not None and not composer.blank:  # else the old text was changed, and stays
            self._sent.append(_Sent(typed, None))
            composer.restore_snapshot(snapshot)
        return True

    def _enter(self, tab: Tab | None) -> None:
        """Begin a step for a command, so that what is typed next belongs to the tab that it opens."""
        if tab is not None and self._is_command(self._composer.text.strip("\n").rstrip()):
            tab.write("")
            self._entered = self.begin(sent=True)

    def _restore_sent(self) -> None:
        """Restore the texts that wait for one that has not come to the composer, unsent."""
        waiting = [sent.text for sent in self._sent if sent.tab is None and sent.text.strip()]
        self._sent = [sent for sent in self._sent if sent.tab is not None]
        if waiting and (snapshot := self._snapshot):
            typed = snapshot.typed_since(self._composer.text)
            if typed is None:
                self._composer.put("\n".join([self._composer.text, *waiting]))
            else:
                together = "\n".join([*waiting, typed] if typed else waiting)
                self._composer.put(snapshot.before + together + snapshot.after)


class _HasHandover(Protocol):
    @property
    def handover(self) -> Handover: ...


class _HasContext(Protocol):
    @property
    def _context(self) -> _HasHandover: ...


S = TypeVar("S", bound=_HasContext)


def hands_over(
    action: Callable[Concatenate[S, P], Awaitable[R]],
) -> Callable[Concatenate[S, P], Awaitable[R]]:
    """Mark an action that may bring another text: what is typed after its start belongs to that text."""

    @wraps(action)
    def asked(self: S, /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
        step = self._context.handover.begin()

        async def done() -> R:
            with step:
                return await action(self, *args, **kwargs)

        return done()

    return asked
