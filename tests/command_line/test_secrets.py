"""What looks like a secret, and the masks in its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.text.secrets import SecretMask, find_secrets, masked_lines, rule_trouble

# Put together here, so that nobody who looks for secrets in this repository finds any.
A, D, H = "aB3dE6gH9jK2mN5pQ8sT" * 4, "0123456789" * 8, "0123456789abcdef" * 8
SECRETS = {
    "Anthropic key": "sk-" + "ant-api03-" + A[:40],
    "OpenAI key": "sk-" + "proj-" + A[:48],
    "GitHub token": "ghp" + "_" + A[:36],
    "GitLab token": "glpat" + "-" + A[:20],
    "AWS key id": "AKIA" + "IOSFODNN7EXAMPL3",
    "Google key": "AIza" + A[:35],
    "Slack token": "xoxb" + "-" + D[:12] + "-" + A[:24],
    "Stripe key": "sk" + "_live_" + A[:24],
    "npm token": "npm" + "_" + A[:36],
    "PyPI token": "pypi" + "-" + A[:60],
    "Hugging Face token": "hf" + "_" + A[:34],
    "DigitalOcean token": "dop" + "_v1_" + H[:64],
    "JSON web token": "eyJ" + A[:20] + ".eyJ" + A[:30] + "." + A[:40],
    "Telegram token": D[:9] + ":AA" + A[:33],
}
KEY = "-----BEGIN RSA " + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA\n" + A + "\n-----END RSA " + "PRIVATE KEY-----"


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize(
    "around", ["{}", "use {} now.", '"{}"', "KEY={}\n", "https://x.org/?k={}&a=1", "({})"]
)
def test_h22_keys_of_well_known_forms_are_masked_wherever_they_stand(kind: str, around: str) -> None:
    mask = SecretMask()
    text = around.format(SECRETS[kind])
    masked = mask.rewrite(text)
    assert SECRETS[kind] not in masked
    assert len(mask.masked) == 1
    assert masked.count("[masked: ") == 1
    assert mask.rewrite_all({"said": ["hello", [text]]}) == {"said": ["hello", [masked]]}


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("postgres://ada:hunter22@db/shop", "hunter22"),
        ("https://:p4ss@host", "p4ss"),
        ("Authorization: Bearer " + A[:30], A[:30]),
        ("Authorization: Basic dXNlcjpwYXNzd29yZAo=", "dXNlcjpwYXNzd29yZAo="),
        ("DB_PASSWORD=swordfish", "swordfish"),
        ("export MY_SECRET_KEY='correct-horse'", "correct-horse"),
        ('"api_key": "abcdef-ghijk"', "abcdef-ghijk"),
        ('{\\"password\\": \\"abcdef-ghijk\\"}', "abcdef-ghijk"),
        ("password: hunter22", "hunter22"),
        ("client_secret = 'abcdef'", "abcdef"),
        ("curl --token abc123def x", "abc123def"),
        ("aws_secret_access_key = " + A[:40], A[:40]),
        ("STRIPE_TOKEN_PROD=abcd", "abcd"),
        (KEY, "MIIEowIBAAKCAQEA"),
        (KEY.replace("\n", "\\n"), "MIIEowIBAAKCAQEA"),
        (KEY[:60], "MIIEowIBAAKC"),
    ],
)
def test_h22_secrets_that_are_known_by_where_they_stand_are_masked(text: str, secret: str) -> None:
    mask = SecretMask()
    assert secret in text
    masked = mask.rewrite(text)
    assert secret not in masked
    assert mask.rewrite_all(["hello", {"said": text}]) == ["hello", {"said": masked}]


@pytest.mark.parametrize("kind", SECRETS)
def test_h22_what_a_shortened_text_still_has_of_a_key_is_masked(kind: str) -> None:
    secret = SECRETS[kind]
    for length in range(14, len(secret)):
        mask = SecretMask()
        assert secret[:14] not in mask.rewrite(f"use {secret[:length]}…")
        assert len(mask.masked) == 1


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("DB_PASSWORD=sword…", "DB_PASSWORD="),
        ("postgres://ada:hunt…", "postgres://ada:"),
        ("pwd: ab1…", "pwd: "),
    ],
)
def test_h22_what_a_shortened_text_still_has_of_a_value_is_masked(text: str, left: str) -> None:
    masked = SecretMask().rewrite(text)
    assert SecretMask().rewrite_all([text]) == [masked]
    assert re.fullmatch(re.escape(left) + r"\[masked: [\w ]+ 1\]…?", masked)


@pytest.mark.parametrize(
    "text",
    [
        "Find out why the login fails after a rest…",
        "Read the token from the he…",
        "the token is read from the header",
        "token = get_token()",
        "password: string",
        "password = os.environ['X']",
        "API_KEY=$API_KEY",
        "API_KEY=<your key>",
        "max_tokens = 4096",
        "tokens: 1234",
        "sk-learn and sk-something-that-is-a-name",
        "https://example.org:8080/a@b",
        "secret: true",
        "eyJ is how a token begins",
        "def password(self, secret): ...",
        "class TokenStream:\n    token: Token",
        "one token per line, two tokens at most",
        "basic internationalization and a token-bucket-algorithm",
    ],
)
def test_h22_what_only_speaks_of_secrets_stays(text: str) -> None:
    assert find_secrets(text) == []


def test_h22_the_same_secret_gets_the_same_mask_and_the_list_never_tells_it() -> None:
    mask = SecretMask()
    one, two = SECRETS["GitHub token"], SECRETS["GitHub token"][::-1].replace("_phg", "") + "x"
    two = "ghp" + "_" + two
    mask.begin("message u1")
    first = mask.rewrite(f"{one} and {two}")
    mask.begin("message u2")
    second = mask.rewrite(f"again {two}, {one}, {one}")
    structured = mask.rewrite_all(
        {"env": [{"name": "DB_PASSWORD", "value": "swordfish"}], "password": "abcd"}
    )

    assert first == "[masked: GitHub token 1] and [masked: GitHub token 2]"
    assert second == "again [masked: GitHub token 2], [masked: GitHub token 1], [masked: GitHub token 1]"
    assert "swordfish" not in str(structured) and "abcd" not in str(structured)
    lines = list(masked_lines(mask.masked))
    assert lines[0] == "GitHub token 1, 3 times: first in message u1"
    assert one not in str(lines) and "swordfish" not in str(lines)


@given(
    st.lists(
        st.sampled_from([*SECRETS.values(), KEY, "PASSWORD=", "hunter22", " ", "\n", '"', "x", "=", ":"])
    )
)
def test_h22_masking_twice_changes_nothing_more(pieces: list[str]) -> None:
    once = SecretMask().rewrite("".join(pieces))
    assert SecretMask().rewrite(once) == once


HOSTILE: dict[str, Callable[[int], str]] = {
    "beginnings of web tokens": lambda n: "eyJ" * n,
    "web tokens that never end": lambda n: "eyJaaaaaaaaaa.eyJaaaaaaaaaa." * (n // 10),
    "names": lambda n: "token" * n,
    "names with lines between": lambda n: "token_" * n,
    "names and signs": lambda n: "token=" * n,
    "quotes that never end": lambda n: 'token="' * n,
    "schemes": lambda n: "://a:" * n,
    "keys that never end": lambda n: "-----BEGIN PRIVATE KEY-----" * (n // 10),
    "lines of keys": lambda n: "-----BEGIN PRIVATE KEY-----\n" + "A" * 16 * n,
    "ends of keys": lambda n: "-----END PRIVATE KEY-----" * (n // 10),
    "spaces": lambda n: "bearer " + " " * n,
    "dashes": lambda n: "sk-" * n,
    "one letter": lambda n: "a" * n * 4,
    "digits": lambda n: "1" * n * 4,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_h22_the_work_grows_with_the_text_and_no_faster(name: str) -> None:
    """On a megabyte, work that grew with the square of the text would never end."""
    text = (HOSTILE[name](1_000_000))[:1_000_000]
    found = find_secrets(text)
    assert all(before.end <= after.start for before, after in pairwise(found))


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("(", "not a regular expression"),
        ("a*", "matches nothing"),
        ("(a+)+b", "for ever"),
        ("(?:x(?:a|b)*)*y", "for ever"),
        ("ACME-[0-9]{8}", None),
        ("(?:ab){2,5}[0-9]+", None),
    ],
)
def test_h22_a_rule_of_ones_own_is_checked(pattern: str, why: str | None) -> None:
    trouble = rule_trouble(pattern)
    assert trouble is None if why is None else why in (trouble or "")


def test_h22_a_rule_of_ones_own_masks() -> None:
    mask = SecretMask([re.compile(r"ACME-\d{4}")])
    assert mask.rewrite("it is ACME-1234") == "it is [masked: by your rule 1]"
