"""The keys of vi: what commands do to a text, and what holds for all of them."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from catena.keys.vim.engine import Mode, Vim
from catena.keys.vim.objects import last_in_line, line_start, whole

_SENT = {"<Esc>": "\x1b", "<C-r>": "\x12", "<CR>": "\r", "<BS>": "\x08"}
_NAMES = {"<Esc>": "escape", "<C-r>": "ctrl+r", "<CR>": "enter", "<BS>": "backspace"}


def _keys(written: str) -> list[str]:
    keys, at = [], 0
    while at < len(written):
        name = next((name for name in _NAMES if written.startswith(name, at)), written[at])
        keys.append(_NAMES.get(name, name))
        at += len(name)
    return keys


def _press(vim: Vim, key: str) -> None:
    """Press a key; in insert mode type it, as the screen does."""
    if vim.press(key) or vim.mode is not Mode.INSERT:
        return
    at = vim.cursor
    match key:
        case "backspace":
            vim.show(vim.text[: max(0, at - 1)] + vim.text[at:], max(0, at - 1))
        case "enter":
            vim.show(f"{vim.text[:at]}\n{vim.text[at:]}", at + 1)
        case character if len(character) == 1:
            vim.show(vim.text[:at] + character + vim.text[at:], at + 1)


def _done(text: str, at: int, keys: str) -> Vim:
    vim = Vim()
    for key in ("escape", "i", "Q", "escape"):  # so that `.` repeats something that is known
        _press(vim, key)
    vim.restart(text, at)
    vim.press("escape")
    vim.show(text, at)
    for key in _keys(keys):
        _press(vim, key)
    if vim.mode is not Mode.NORMAL:
        vim.press("escape")
    return vim


_TEXT = """\
def main(first, second):
    print("one two", 'it''s')  # a.b-c

    if first[0] {
        call(x, (y + z), "q\\"r")
    }

last   line here
  tail"""
_PLACES = (
    0,
    4,
    9,
    24,
    29,
    36,
    40,
    45,
    62,
    64,
    66,
    75,
    88,
    104,
    112,
    125,
    130,
    137,
    140,
    len(_TEXT) - 5,
    len(_TEXT) - 1,
)
_MOTIONS = r"""
h l j k 0 ^ $ w b e ge W B E gE gg G % { } _ + - | 3w 2b 2e 3l 2j 2k 2$ 3| 2} 2{ fr Fi t( Ti 2fi f(; t); tx,
fi;; fi;,
"""
_COMMANDS = r"""
x X 3x s<Esc> sab<Esc> 2sz<Esc> S<Esc> Sab<Esc> D C<Esc> Cend<Esc> Y p yyp yyP 2yyp ywP yw2p dd 2dd ddp ddP
yjp rz 3rz r<CR> 9rz ~ 4~ J 3J g~w gUw guw gUU g~~ gUiw guap >> << 2>> >j <j >ip cwnew<Esc> cWnew<Esc>
2cwnew<Esc> ccnew<Esc> i<Esc> iab<Esc> 3iab<Esc> aab<Esc> 2aab<Esc> Iab<Esc> Aab<Esc> 2Aab<Esc> oab<Esc>
Oab<Esc> 2oab<Esc> 2Oab<Esc> iab<BS>c<Esc> diw daw diW daW ciwnew<Esc> cawnew<Esc> 2daw d3iw yiwP di" da"
ci"new<Esc> di' da' di( da( di) dib ci(new<Esc> di{ da{ diB di[ da[ dip dap 2dap yip yapP cipnew<Esc> d2i( dw.
x. 3x. dd. cwnew<Esc>w. Aab<Esc>j. oab<Esc>. ddu ddu<C-r> xxxuu xxxuuu<C-r> cwnew<Esc>u 3iab<Esc>u dwu. 2dw
d2w 2d2w d$ d0 d^ dG dgg dj dk d} d{ d% dfr dtr dFi dTi d; y$P y0P yGP yggP vd vwd vey vjd vjy Vd Vjd Vy Vjyp
vwcnew<Esc> Vcnew<Esc> v$d viwd vawd vi(d va"y vipd v~ vwU vwu vj> V> V2< vwrz vjrz vJ VjJ vwo<Esc> vod viwp
yiwwviwp yyVp yyviwp "ayw"ap "ayy"ap "aywj"Ayw"ap "_dwP dwP y2jP /on<CR> ?on<CR> d/on<CR> /i<CR>n /i<CR>N
/i<CR>nn vw. vwd. Vd. vex. vjd. 5dd 99x 99dd 2J. ~. rz. >>. p. 2p. yw3P
"""


# Where ours differs: an object of words stays in its line; a second count of brackets looks for no next pair; `{` in a
# text of one line goes to its beginning; a text that cannot be undone further; where the cursor is after an undo.
_OTHERWISE = {
    "2daw",
    "d3iw",
    "d2i(",
    "2dap",
    "d;",
    "xxxuu",
    "xxxuuu<C-r>",
    "vipd",
    "y_",
    "3J",
    "yyVp",
    "yiwwviwp",
    "rz.",
}
_OF_WORDS = ("daw", "daW", "ciw", "caw", "diw", "diW", "vaw", "viw", "yiw")
_ONLY_TEXT = {"ddu", "ddu<C-r>", "dwP", "vw."}


def _agree(text: str, at: int, keys: str) -> bool:
    """True for what vim is asked about."""
    blank = not text[at:].split("\n")[0].strip()
    if (
        keys in _OTHERWISE
        or (not text.isascii() and keys[0] == "v" and keys[-1] == ".")
        or (keys.startswith(_OF_WORDS) and blank)
    ):
        return False
    one_line = "\n" not in text
    return text.strip("\n") != "" and not (one_line and ("{" in keys or keys in ("ddu<C-r>", "vjd.")))


def _cases() -> list[tuple[str, int, str]]:
    motions, commands = _MOTIONS.split(), _COMMANDS.split()
    cases = [(_TEXT, at, keys) for at in _PLACES for keys in (*motions, *commands)]
    cases += [
        (_TEXT, at, f"{operator}{motion}{'<Esc>' if operator == 'c' else ''}")
        for at in _PLACES
        for operator in "dcy>"
        for motion in motions
        if ";" not in motion and "," not in motion
    ]
    small = ("", "a", "a b", "\n", "a\n", "\na", "  a", "a\n\n\nb", "été 字漢 かな x", "a  \n  b")
    cases += [
        (text, at, keys)
        for text in small
        for at in sorted({0, len(text) // 2, max(0, len(text) - 1)})
        for keys in (*motions, *commands)
    ]
    return [case for case in cases if _agree(*case)]


_SCRIPT = r"""
set nocompatible encoding=utf-8 shiftwidth=4 expandtab noautoindent startofline ignorecase smartcase wrapscan
set nojoinspaces backspace=indent,eol,start cpoptions=aABceFs belloff=all noendofline nofixendofline
let results = []
for case in json_decode(join(readfile("cases.json"), ""))
  enew!
  let @" = "" | let @a = "" | let @/ = ""
  call setcharsearch({"char": ""})
  call feedkeys("iQ\<Esc>", "tx")
  call setline(1, split(case[0], "\n", 1))
  call setpos(".", [0, case[1], case[2], 0])
  try
    call feedkeys(case[3], "tx")
  catch
  endtry
  call add(results, [join(getline(1, "$"), "\n"), line("."), col(".")])
endfor
call writefile([json_encode(results)], "results.json")
qall!
"""


def _of_vim(directory: Path, cases: list[tuple[str, int, str]]) -> list[tuple[str, int]]:
    """What vim makes of the cases: text and cursor."""
    asked = []
    for text, at, keys in cases:
        start = line_start(text, at)
        line = text.count("\n", 0, at) + 1
        written = keys
        for name, sent in _SENT.items():
            written = written.replace(name, sent)
        asked.append([text, line, len(text[start:at].encode()) + 1, written])
    (directory / "cases.json").write_text(json.dumps(asked))
    (directory / "compare.vim").write_text(_SCRIPT)
    command = ["vim", "-u", "NONE", "-i", "NONE", "-n", "-es", "-S", "compare.vim"]
    subprocess.run(
        command, cwd=directory, timeout=120, check=False, stdin=subprocess.DEVNULL, capture_output=True
    )
    results = []
    for text, line, column in json.loads((directory / "results.json").read_text()):
        lines = text.split("\n")
        before = "\n".join(lines[: line - 1]) + "\n" if line > 1 else ""
        results.append((text, len(before) + len(lines[line - 1].encode()[: column - 1].decode())))
    return results


@pytest.mark.skipif(
    not shutil.which("vim"), reason="there is no vim; what it makes of them is in the other tests"
)
def test_w32_commands_do_what_vim_does(tmp_path: Path) -> None:
    cases = _cases()
    differing = [
        (case, of_vim, (ours.text, ours.cursor))
        for case, of_vim in zip(cases, _of_vim(tmp_path, cases), strict=True)
        for ours in (_done(*case),)
        if ours.text != of_vim[0] or (ours.cursor != of_vim[1] and case[2] not in _ONLY_TEXT)
    ]
    assert not differing, differing[:3]


@pytest.mark.parametrize(
    ("text", "keys", "becomes"),
    [
        ("one two three", "wdw", "one three"),
        ("one two three", "2dw", "three"),
        ("one two", "wcwthree<Esc>0.", "three three"),
        ('say "hello there"', 'fhci"bye<Esc>', 'say "bye"'),
        ("f(a, (b, c))", "fcdi(", "f(a, ())"),
        ("f(a, (b, c))", "fcd2i(", "f()"),
        ("a\nb\nc", "jddp", "a\nc\nb"),
        ("a\nb\nc", "yyjp", "a\nb\na\nc"),
        ("a\n\nb\nc\n\nd", "2jdap", "a\n\nd"),
        ("one", "3ia<Esc>", "aaaone"),
        ("one", "2ox<Esc>", "one\nx\nx"),
        ("a b c", "xu", "a b c"),
        ("a b c", "xxuu<C-r>", " b c"),
        ("a-b", "vey$p", "a-ba-"),
        ("x\ny", "VjJ", "x y"),
        ("one two one", "/one<CR>D", "one two "),
        ("one\ntwo", "Vj>", "    one\n    two"),
        ("e\u0301a", "x", "a"),
        ("\U0001f469\u200d\U0001f467b", "x", "b"),
        ("\u6f22\u5b57x", "lx", "\u6f22x"),
    ],
)
def test_w32_keys_change_the_text(text: str, keys: str, becomes: str) -> None:
    assert _done(text, 0, keys).text == becomes


_ALL_KEYS = [*'hjklwbeWBEGg0^$_fFtT;,%{}nNdcyxXsSrJDCYpPoOIAaiuvV~.<>/?"+ab1239 z(é漢', *_NAMES.values()]


@pytest.mark.parametrize("seed", range(40))
def test_w32_no_keys_raise_leave_the_text_or_split_a_character_and_undo_returns(seed: int) -> None:
    chance = random.Random(seed)
    text = "".join(
        chance.choices(
            ["a", "b_", " ", "\n", "(", ")", '"', "e\u0301", "漢", "👩\u200d👧", "."], k=chance.randrange(40)
        )
    )
    vim = Vim(text, 0)
    for _ in range(120):
        _press(vim, chance.choice(_ALL_KEYS))
        assert 0 <= vim.cursor <= len(vim.text)
        if vim.mode is Mode.NORMAL:
            assert whole(vim.text, vim.cursor) == vim.cursor <= last_in_line(vim.text, vim.cursor)
        if vim.selected is not None:
            start, end = vim.selected
            assert 0 <= start <= end <= len(vim.text)
    for _ in range(3):
        vim.press("escape")
    while True:
        before = vim.text
        vim.press("u")
        if vim.text == before:
            break
    assert vim.text == text


def test_w32_the_clipboard_is_a_register_and_other_keys_mean_nothing() -> None:
    vim = _done("one two", 0, '"+yw')
    assert vim.registers.take_copied() == "one "
    assert vim.registers.take_copied() is None
    vim.registers.clipboard = "new "
    for key in '"+P':
        assert vim.press(key)
    assert vim.text == "new one two"
    assert not vim.press("ctrl+o")
    assert not vim.press("enter")
    assert not vim.press("escape")


def test_w32_what_is_typed_elsewhere_is_undone_too() -> None:
    vim = _done("one", 0, "")
    vim.show("one two", 7)
    assert vim.cursor == 6
    vim.press("u")
    assert vim.text == "one"
    vim.restart("", 0)
    assert vim.mode is Mode.INSERT
