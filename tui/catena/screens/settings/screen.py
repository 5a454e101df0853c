"""The settings: each with its value and where that comes from; most are changed in place, the others in the editor."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from catena.errors import InvalidSettings, SettingsNotWritten
from catena.keys.bindings import keys_of
from catena.screens.common.dialog import STYLES, ListScreen, list_bindings
from catena.screens.common.picker import Picker, theme_picker, words_match
from catena.settings.checks import check_names
from catena.settings.definitions import Applies, Group, SettingDefinition, SettingKind
from catena.settings.effective import Effective, effective_settings, value_words
from catena.settings.file.document import SettingsDocument, read_text, settings_path
from catena.settings.file.writing import FileValue, SettingChange, file_value, write_setting
from catena.settings.settings import SETTINGS, TABLES, Settings, parse_settings
from catena.settings.tables import known_agent_names
from catena.terminal.programs import EditorFailed, edit_file
from catena.terminal.times import KeyPace
from catena.text.safe_text import safe_line
from catena.widgets.fields.text_fields import SafeInput
from catena.widgets.row_list import Row, RowList, Tone, Word
from catena.widgets.sheet_edges import SheetKey, Subject
from catena.widgets.typing_box import EdgeWord, TypingBox

_SHORT = 15  # rows of a terminal below which little is said
_OVERRIDES = "Written; {} overrides it."

_ADVANCED = "advanced"  # the row that opens those settings

_LONGEST = 24  # characters of a value in a row


class SettingsScreen(ListScreen[None]):
    """Every setting, in groups; the advanced are folded below one row, and found by the filter in any case."""

    class Changed(Message):
        """The settings file was changed; these hold now."""

        def __init__(self, settings: Settings) -> None:
            super().__init__()
            self.settings = settings

    CSS_PATH = [STYLES, "settings.tcss"]  # noqa: RUF012 - as Textual declares them
    HEADING = "Settings"
    EMPTY = "no match"
    KEYS = (
        SheetKey("{setting_change}", "change", "change"),
        SheetKey("{setting_reset}", "default", "reset"),
        SheetKey("{setting_file}", "in the file", "edit"),
        SheetKey("{settings_filter}", "filter", "filter"),
        SheetKey("{leave}", "close", "leave"),
    )
    BINDINGS: ClassVar[list[BindingType]] = list_bindings(KEYS)

    def __init__(
        self,
        settings: Settings,
        *,
        environment: Mapping[str, str],
        pace: KeyPace,
        subject: Subject | None = None,
        advanced: bool = False,
    ) -> None:
        """``settings``: those that hold, which are shown where the file has an error.

        ``advanced``: begin at those that are folded.
        """
        super().__init__(subject)
        self._settings = settings
        self._environment = environment
        self._pace = pace
        self._path = settings_path()
        self._listed: list[ListedSetting] = []
        self._trouble: tuple[str, str] = ("", "")  # a setting, and why its change was not written
        self._wrong: InvalidSettings | None = None  # the error of the file
        self._cursor_key: str | None = None  # of the row that was spoken of
        self._edited: ListedSetting | None = None  # in the field
        self._asked = ""  # the name of the setting that the same key removes from the file
        self._opened = self._begins_at_advanced = advanced  # the advanced settings

    def compose_filter(self) -> Iterator[Widget]:
        """The filter."""
        field = SafeInput(placeholder="/ filters", compact=True, id="filter")
        field.cursor_blink = False
        yield field

    def compose_field(self) -> ComposeResult:
        """The field for a number, which is seen only while one is typed."""
        field = SafeInput(compact=True, id="value")
        field.cursor_blink = False
        yield TypingBox(field, id="changing")

    def on_mount(self) -> None:
        """Read the settings."""
        self._read()
        if self._begins_at_advanced:
            self._show(self._first_advanced)

    @property
    def _filter(self) -> SafeInput:
        return self.query_one("#filter", SafeInput)

    @property
    def _first_advanced(self) -> str | None:
        return next((each.name for each in self._listed if each.group is Group.ADVANCED), None)

    @property
    def _chosen(self) -> ListedSetting | None:
        """The setting under the cursor."""
        key = self.chosen_key
        return next((each for each in self._listed if each.name == key), None)

    # What is shown.

    def _read(self) -> bool:
        """Read the file and show it; False where it has an error, which is said."""
        text, error = "", None
        try:
            text = read_text(self._path) or ""
            self._settings = parse_settings(self._path, text)
            effective = effective_settings(self._path, self._environment)
        except InvalidSettings as wrong:
            effective, error = (), wrong
        self._wrong = error
        self._listed = listed_settings(self._settings, effective, SettingsDocument(self._path, text))
        self._show()
        if error is not None:
            fix = keys_of(self).said("Nothing is written until that is fixed: {setting_file} opens the file.")
            self.say(f"{error}. {fix}")
        return error is None

    def _show(self, keep: str | None = None) -> None:
        name, why = self._trouble
        rows = [setting_row(each, self._path, why if each.name == name else "") for each in self._listed]
        shown = words_match(self._filter.value, rows)
        fold: list[Row] = []
        if not (self._filter.value.strip() or self._opened):
            hidden = {each.name for each in self._listed if each.folds}
            shown = [row for row in rows if row.key not in hidden]
            more = f"{len(hidden)} more"
            if any(row.group == Group.ADVANCED.value for row in shown):
                fold = [Row(_ADVANCED, more, group=Group.ADVANCED.value)]
            else:
                fold = [Row(_ADVANCED, Group.ADVANCED.value, note=more, group=" ")]
        every, some = len(rows), len(shown)
        self.show_head(count=f"{every:,}" if some == every else f"{some:,} of {every:,}")
        self.row_list.show([*shown, *fold], keep=keep or self.chosen_key)

    def on_row_list_moved(self, event: RowList.Moved) -> None:
        """Say what the setting under the cursor is, and when a change of it holds."""
        event.stop()
        if event.key == self._cursor_key:
            return
        self._cursor_key, self._asked = event.key, ""
        if (setting := self._chosen) is not None and not self._wrong:
            why = self._trouble[1] if self._trouble[0] == setting.name else ""
            self.say(why or about(setting, self._path, short=self.app.size.height < _SHORT))
        elif event.key == _ADVANCED and not self._wrong:
            self.say("")

    def on_row_list_chosen(self, event: RowList.Chosen) -> None:
        """Change the setting that was clicked."""
        event.stop()
        self.action_change()

    # The filter and the field.

    def action_filter(self) -> None:
        """Type in the filter."""
        self._ask_anew()
        self.set_focus(self._filter)

    def on_input_changed(self, event: SafeInput.Changed) -> None:
        """Filter the rows."""
        event.stop()
        if event.input is self._filter:
            self._show()

    def on_input_submitted(self, event: SafeInput.Submitted) -> None:
        """Keep the rows of the filter, or write what was typed."""
        event.stop()
        setting = self._edited
        if event.input is self._filter or setting is None or setting.definition is None:
            self.set_focus(None)
        elif self._write(setting, file_value(setting.definition, event.value.strip())):
            self._close_field()

    def _open_field(self, setting: ListedSetting) -> None:
        self._edited = setting
        box, field = self.query_one("#changing", TypingBox), self.query_one("#value", SafeInput)
        box.upper.show([EdgeWord(Content.styled(f"{setting.name}: {setting.does}", "$muted"))])
        field.value = setting.value
        field.action_end()
        self.add_class("-changing")
        self.set_focus(field)

    def _close_field(self) -> None:
        self._edited = None
        self.remove_class("-changing")
        self.set_focus(None)

    def action_leave(self) -> None:
        """Close the field or the filter; without one, close the sheet."""
        if self._edited is not None:
            self._close_field()
        elif self._filter.has_focus or self._filter.value:
            self.set_focus(None)
            self._filter.value = ""
        else:
            self.dismiss(None)

    # Changes.

    def action_change(self) -> None:
        """Change the setting under the cursor, in the way of its kind; open the advanced at their row."""
        self._ask_anew()
        if self.chosen_key == _ADVANCED:
            self._opened = True
            self._show(self._first_advanced)
            return
        setting = self._chosen
        if setting is None or self._edited is not None:
            return
        definition = setting.definition
        match definition.kind if definition else SettingKind.WRITTEN:
            case SettingKind.ON_OFF:
                self._write(setting, "off" if setting.value == "on" else "on")
            case SettingKind.TRUE_FALSE:
                self._write(setting, setting.value != "true")
            case SettingKind.NUMBER:
                self._open_field(setting)
            case SettingKind.THEME:
                before = self.app.theme
                self.app.push_screen(theme_picker(self.app), partial(self._theme_chosen, setting, before))
            case SettingKind.CHOICE | SettingKind.AGENT:
                rows = [Row(each, each) for each in self._choices(setting)]
                picker = Picker(setting.name, rows, keep=setting.value, note=setting.does)
                self.app.push_screen(picker, partial(self._value_chosen, setting))
            case SettingKind.WRITTEN:
                self.action_edit()

    def _choices(self, setting: ListedSetting) -> tuple[str, ...]:
        definition = setting.definition
        if definition is None or definition.kind is SettingKind.AGENT:
            return tuple(sorted(known_agent_names(self._settings.agents)))
        return definition.choices

    def _value_chosen(self, setting: ListedSetting, value: str | None) -> None:
        if value is not None:
            self._write(setting, value)

    def _theme_chosen(self, setting: ListedSetting, before: str, value: str | None) -> None:
        chosen = value if value is not None and self._write(setting, value) else None
        self.app.theme = chosen or before

    def action_reset(self) -> None:
        """Remove the setting under the cursor from the file, so that its default holds."""
        setting = self._chosen
        if setting is None or self._edited is not None:
            return
        if setting.definition is None:
            self.say("These tables are removed in the file.")
        elif setting.line is None:
            self.say(f"{setting.name} is not set in the file.")
        elif setting.written:
            self.say(f"{setting.name} is removed in the file.")
        elif setting.name != self._asked:  # the letter may have been meant for something else
            self._asked = setting.name
            self.say(
                keys_of(self).said(f"Remove {setting.name} from the file? Press {{setting_reset}} again.")
            )
        elif self._pace.alone:
            self._write(setting, None)

    def _ask_anew(self) -> None:
        """Forget a question that was not answered."""
        if self._asked:
            self._asked = ""
            self.say("")

    def _write(self, setting: ListedSetting, value: FileValue | None) -> bool:
        """Write a change; False where that was not possible, which is said at its row."""
        self._asked = ""
        change = SettingChange(tuple(setting.name.split(".")), value)
        try:
            settings = write_setting(self._path, change, check=check_names)
        except InvalidSettings as error:
            in_file = error.line is not None
            self._trouble = ("", "") if in_file else (setting.name, error.why)
            self._show()
            self.say(str(error) if in_file else error.why)
            return False
        except SettingsNotWritten as error:
            self.say(str(error))
            return False
        self._trouble = ("", "")
        self.post_message(self.Changed(settings))
        self._read()
        self._say_written(setting.name)
        return True

    def _say_written(self, name: str) -> None:
        setting = next(each for each in self._listed if each.name == name)
        if setting.variable:
            self.say(_OVERRIDES.format(setting.variable))
            return
        source = "" if setting.line else " (the default)"
        self.say(f"{name} is {setting.value}{source}: applies {setting.applies.value}.")

    def action_edit(self) -> None:
        """Open the file in the person's editor, at the setting under the cursor or at the error."""
        self._ask_anew()
        setting = self._chosen
        here = (setting.line or setting.near) if setting is not None else None
        line = (self._wrong and self._wrong.line) or here or 1
        if self._edited is None:
            self.run_worker(self._edit(line))

    async def _edit(self, line: int) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            await edit_file(self.app, str(self._path), line, self._environment)
        except OSError as error:
            self.say(f"{self._path.parent} cannot be created: {error.strerror}")
            return
        except EditorFailed as error:
            self.say(str(error))
            return
        self._trouble = ("", "")
        if not self._read():
            return
        try:
            check_names(self._settings)
        except InvalidSettings as error:
            self.say(str(error))
        else:
            self.post_message(self.Changed(self._settings))


@dataclass(frozen=True, slots=True)
class ListedSetting:
    """One row: a setting, or the tables of a name, which have no ``definition``."""

    name: str
    group: Group
    does: str
    value: str
    line: int | None  # of the file, where it is set
    near: int | None = None  # the line of its table, where it may be set
    variable: str | None = None
    definition: SettingDefinition | None = None
    applies: Applies = Applies.START

    @property
    def folds(self) -> bool:
        """True for an advanced setting that nobody has set."""
        return self.group is Group.ADVANCED and self.line is None and self.variable is None

    @property
    def written(self) -> bool:
        """True where it is edited in the file."""
        return self.definition is None or self.definition.kind is SettingKind.WRITTEN


def listed_settings(
    settings: Settings, effective: Sequence[Effective], document: SettingsDocument
) -> list[ListedSetting]:
    """Every setting in the order of the sheet; ``effective`` says where each value comes from."""
    known: Mapping[tuple[str, ...], Effective] = {each.key: each for each in effective}
    return sorted(_listed(settings, known, document), key=lambda each: list(Group).index(each.group))


def _listed(
    settings: Settings, known: Mapping[tuple[str, ...], Effective], document: SettingsDocument
) -> Iterator[ListedSetting]:
    for each in SETTINGS:
        found = known.get(each.key, Effective(each.key, each.value(settings)))
        yield ListedSetting(
            each.name,
            each.group,
            each.does,
            value_words(found.value),
            found.line,
            document.line_of(each.key),
            found.variable,
            each,
            each.applies,
        )
    for table in TABLES:
        names = table.names(settings)
        line = document.line_of((table.name,)) if names else None
        words = value_words(names)
        yield ListedSetting(table.name, table.group, table.does, words, line, applies=table.applies)


def _source_words(setting: ListedSetting, path: Path) -> str:
    """Where a value comes from; "" for a default, since most are."""
    if setting.variable:
        return setting.variable
    return f"{path.name}:{setting.line}" if setting.line else ""


def setting_row(setting: ListedSetting, path: Path, trouble: str = "") -> Row:
    """The row of a setting; ``trouble``: why its last change was not written."""
    value = safe_line(setting.value)
    return Row(
        setting.name,
        setting.name,
        note=safe_line(trouble or setting.does),
        mark=Word("!", Tone.FAILURE) if trouble else None,
        columns=(Word(_source_words(setting, path), Tone.FAINT),),
        time=value if len(value) <= _LONGEST else f"{value[: _LONGEST - 1]}…",
        group=setting.group.value,
    )


def about(setting: ListedSetting, path: Path, *, short: bool = False) -> str:
    """The description of the setting under the cursor; ``short``: there are few rows."""
    if short:
        return setting.does
    source = _source_words(setting, path)
    now = f"{setting.value} ({source})" if source else setting.value
    return f"{setting.name}: {setting.does}. Now {now}; a change applies {setting.applies.value}."
