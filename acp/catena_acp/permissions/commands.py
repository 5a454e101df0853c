"""Splitting of a command line into its commands and their words, as a POSIX shell would. Pure.

Only what is certain is split: where a shell would expand, redirect, group or substitute, there is no answer.
"""

from __future__ import annotations

_MOST_CHARACTERS = 20_000
_RESERVED = frozenset(
    [
        "!",
        "{",
        "}",
        "[[",
        "]]",
        "if",
        "then",
        "else",
        "elif",
        "fi",
        "for",
        "while",
        "until",
        "do",
        "done",
        "case",
        "esac",
        "in",
        "select",
        "function",
        "time",
        "coproc",
    ]
)
_NOT_SPLIT = frozenset("<>()`$*?[]{}~#!")  # outside of quotes
_IN_DOUBLE_QUOTES = frozenset("`$!")
_ESCAPED_IN_DOUBLE_QUOTES = frozenset('"\\')

Words = tuple[str, ...]


def commands_of(text: str) -> tuple[Words, ...] | None:
    """The commands of a command line, each as its words; None if they are not certain.

    Commands are separated by `;`, `&`, `&&`, `|`, `||` and newlines. Expansions, substitutions, globs, redirections,
    groups, compound commands, comments, assignments and control characters are not certain.
    """
    found = _split(text)
    return None if isinstance(found, str) else found


def obstacle_in(text: str) -> str:
    """The sign or word by which a command line is not certain, or is several commands; "" if it is one."""
    found = _split(text)
    if isinstance(found, str):
        return found
    separators = (each for each in ("&&", "||", "|", ";", "&") if each in text)
    return next(separators, "line breaks") if len(found) > 1 else ""


def _split(text: str) -> tuple[Words, ...] | str:
    """The commands of a command line, or the sign or word by which they are not certain."""
    if len(text) > _MOST_CHARACTERS:
        return "so many characters"
    if any(not (each.isprintable() or each in "\t\n") for each in text):
        return "control characters"
    commands: list[Words] = []
    words: list[str] = []
    word: str | None = None
    quote = ""
    escaped = False
    for at, each in enumerate(text):
        if escaped:
            if each == "\n" or (quote and each not in _ESCAPED_IN_DOUBLE_QUOTES):
                return "\\"
            word, escaped = (word or "") + each, False
        elif quote:
            if each == quote:
                quote = ""
            elif quote == '"' and each == "\\":
                escaped = True
            elif quote == '"' and each in _IN_DOUBLE_QUOTES:
                return each
            else:
                word = (word or "") + each
        elif each == "\\":
            escaped = True
        elif each in "'\"":
            word, quote = word or "", each
        elif each in _NOT_SPLIT:
            return each
        elif each in " \t\n;&|":
            if word is not None:
                words.append(word)
                word = None
            if each in ";&|\n":
                if words:
                    commands.append(tuple(words))
                elif each != "\n" and not (each in "&|" and text[at - 1 : at] == each):
                    return each  # a separator with nothing before it
                words = []
        else:
            word = (word or "") + each
    if quote or escaped:
        return quote or "\\"
    if word is not None:
        words.append(word)
    if words:
        commands.append(tuple(words))
    doubtful = next((each[0] for each in commands if not _is_simple(each)), None)
    if doubtful is not None or not commands:
        return doubtful or "nothing in it"
    return tuple(commands)


def _is_simple(words: Words) -> bool:
    """True for a command that begins with the name of a program: no assignment, no word of the shell's grammar."""
    return bool(words[0]) and words[0] not in _RESERVED and "=" not in words[0]
