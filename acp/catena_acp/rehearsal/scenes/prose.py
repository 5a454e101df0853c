"""Texts of the rehearsal agent, and its generator of words."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterator
from typing import Final

_VOCABULARY: Final = """
the a and of to in on with from by chain link branch leaf turn session message window light stage curtain
prompt answer reads writes keeps finds turns follows begins ends holds carries slow quiet bright narrow simple
old new small first last next whole every other table river harbour garden letter number winter morning paper
stone because while after before then again never always perhaps almost rather
"""
_WORDS: Final = tuple(_VOCABULARY.split())
_LEADS: Final = ("", "", "## ", "", "- ", "", "1. ", "> ", "", "```text\n")
_EMPHASIS: Final = (("**", "**"), ("*", "*"), ("`", "`"))


def stream_of_words(count: int, end: str | None = None) -> Iterator[str]:
    """Yield ``count`` chunks of one word, as varied but reproducible Markdown, and then the end marker."""
    state = 20_251
    block = sentence = 0
    for number in range(count):
        state = (state * 1_103_515_245 + 12_345) & 0x7FFFFFFF
        word = _WORDS[(state >> 8) % len(_WORDS)]
        lead = _LEADS[block % len(_LEADS)]
        code = lead.startswith("```")
        if sentence == 0:
            chunk = ("\n\n" if number else "") + lead + word.capitalize()
        elif code:
            chunk = f"\n{word}" if state % 5 == 0 else f" {word}"
        elif state % 23 == 0:
            left, right = _EMPHASIS[state % len(_EMPHASIS)]
            chunk = f" {left}{word}{right}"
        elif lead in ("- ", "1. ") and state % 7 == 0:
            chunk = f"\n{lead}{word}"
        else:
            chunk = f" {word}"
        sentence += 1
        if sentence > (6 if lead == "## " else 18 + state % 40):
            sentence = 0
            block += 1
        ends_block = sentence == 0 or number == count - 1
        yield f"{chunk}\n```" if code and ends_block else chunk
    if end:
        yield f"\n\n{end}"


FREE_ANSWER: Final = """\
## Rehearsal

I am the **rehearsal agent**: a script, not a model. I can't understand prompts; I received:

> {heard}

Try one of these:

- `help` lists all commands
- `tool read README.md` or `edit notes.txt` shows tools and permissions
- `stream 200 rate 40` streams an answer

One command per line, or separate them with semicolons:

```text
think about it; plan; say done
```
"""

HELP: Final = """\
I have **no model**: a prompt is a command, or several, one per line or separated with `;`.
`help all` explains them; I repeat anything else.

{scenes}
"""

HELP_ALL: Final = """\
# Commands

I have **no model**: a prompt is a command, or several, one per line or separated with `;`.
I repeat anything else.

{scenes}
"""

MARKDOWN: Final = """\
# A showpiece

A paragraph with **strong**, *emphasised*, ~~struck~~ and `inline code` words, a
[link](https://example.org/chain) and a bare one: <https://example.org>.\\
A hard break, and a footnote to nothing.

## Lists

1. First
   - nested, with a `word` of code
     - deeper still
   - a second one
2. Second

   A paragraph that belongs to the second item.
3. Third

- [x] done
- [ ] not done

### A table

| Scene | Lines | Cost |
|:------|:-----:|-----:|
| Opening | 12 | 0.10 |
| **Middle** | 240 | 2.35 |
| End | `8` | 0.05 |

### Code

```python
def greet(name: str) -> str:
    # Wide: 漢字, narrow: i
    return f"Hello, {name}!"
```

```rust
fn main() {
    println!("{}", (1..=3).map(|n| n * n).sum::<i32>());
}
```

```sh
git log --oneline | head -n 5
```

#### A quotation

> The play's the thing.
>
> > A quotation within it, and a list:
> > - one
> > - two

---

The end, after a rule.
"""

TABLE: Final = """\
| Agent | Load | Fork | Notes |
|:------|:----:|:----:|------:|
| rehearsal | yes | yes | has no model |
| another | yes | no | a cell that is rather long, so that a narrow screen has to do something about it |
| 三番目 | no | no | wide |
"""

TODO: Final = """\
Here is where I stopped.

- [x] read the form
- [ ] keep the `next` parameter
- [ ] write the test

Next steps:

1. Run the tests
2. Write the changelog
"""

CODE: Final = {
    "python": """\
from pathlib import Path


def lines(path: Path) -> int:
    return len(path.read_text().splitlines())
""",
    "rust": """\
fn main() {
    let text = std::fs::read_to_string("a.txt").unwrap_or_default();
    println!("{}", text.lines().count());
}
""",
    "sql": """\
SELECT title, count(*) AS messages
FROM conversation JOIN message USING (conversation_id)
GROUP BY title;
""",
    "json": """\
{
  "name": "chain",
  "links": ["a", "b", null],
  "whole": true
}
""",
    "sh": """\
for file in *.txt; do
  wc -l "$file"
done
""",
}

OLD_FILE: Final = 'def greet(name):\n    print("Hello")\n\n\ngreet("world")\n'
NEW_FILE: Final = 'def greet(name: str) -> None:\n    print(f"Hello, {name}!")\n\n\ngreet("world")\n'

RUN_OUTPUT: Final = (
    "collected 3 items\n\ntest_a.py ..F\n\n1 failed, 2 passed in 0.12s (pretended: nothing was run)\n"
)

ESCAPES: Final = " ".join(
    (
        "\x1b[31mred\x1b[0m \x1b[2J\x1b]0;owned\x07 \x1b]52;c;b3duZWQ=\x07",
        "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\ \x9b31m \x08\x7f",
        "\u202etxt.exe\u202c \u2066\u2069 [bold red]markup[/] [@click=app.quit]click[/] [/unbalanced \r over",
    )
)

PIXEL: Final = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)

PAGE: Final = "https://example.org/page"


def picture(width: int = 64, height: int = 48) -> str:
    """A PNG of a curtain, as base64 text."""
    row = bytes(value for x in range(width) for value in (90 + (x % 8) * 16, 16, 24))
    header = width.to_bytes(4, "big") + height.to_bytes(4, "big") + bytes((8, 2, 0, 0, 0))
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress((b"\0" + row) * height)), (b"IEND", b""))
    body = b"".join(
        len(data).to_bytes(4, "big") + name + data + zlib.crc32(name + data).to_bytes(4, "big")
        for name, data in chunks
    )
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode("ascii")


LIMIT_AS_TEXT: Final = "exceeded retry limit, last status: 429 Too Many Requests"

HEEDED: Final = "[heeded] {heard}"
