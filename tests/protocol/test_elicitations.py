"""Elicitations as agents write them: whatever they are, they can be shown or are refused, and answers fit them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catena.workspace.questions.forms import given_input, page_lines
from catena_acp.port.elicitation.checks import Input, check, content_of, default_of
from catena_acp.port.elicitation.requests import (
    Elicitation,
    ElicitationAnswer,
    Form,
    UnknownField,
    WebPage,
    address_of,
)
from catena_acp.port.elicitation.words import SECRET, answered_text, asked_text, kept_data
from catena_acp.protocol.elicitations import ElicitationInvalid, elicitation_of

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = [
    *(
        "type",
        "title",
        "description",
        "default",
        "format",
        "pattern",
        "enum",
        "oneOf",
        "anyOf",
        "items",
        "const",
    ),
    *("minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems", "writeOnly"),
]
WORDS = ["string", "number", "integer", "boolean", "array", "object", "email", "uri", "date", "(a+)+$", "["]
HOSTILE = st.dictionaries(
    st.sampled_from(KEYS),
    st.sampled_from(WORDS) | JSON | st.dictionaries(st.sampled_from(KEYS), JSON | st.sampled_from(WORDS)),
)


def form_of(properties: Any, required: Any = ()) -> Form:
    """The form of these properties."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    read = elicitation_of({"mode": "form", "message": "m", "requestedSchema": schema})
    assert isinstance(read, Form)
    return read


def error_of(schema: dict[str, Any], given: Input) -> str:
    """What is said of this input to a required field."""
    (field,) = form_of({"f": schema}, ["f"]).fields
    return check(field, given).error


@given(st.dictionaries(st.text(max_size=6), HOSTILE | JSON, max_size=4) | JSON, JSON, JSON)
@example({"f": {"type": "array", "items": {"type": "string", "enum": [1]}}}, ["g"], "")
def test_w12_no_schema_raises_and_what_is_shown_can_be_answered(
    properties: Any, required: Any, more: Any
) -> None:
    schema = {"properties": properties, "required": required, "title": more, "description": more}
    for asked in (
        {"mode": "form", "message": "m", "requestedSchema": schema},
        {"mode": "form", "message": more, "requestedSchema": more},
        {"mode": "url", "message": "m", "url": more, "elicitationId": "e"},
        {"mode": more, "message": "m"},
    ):
        try:
            request = elicitation_of(asked)
        except ElicitationInvalid:
            continue
        _is_told(request)


def _is_told(request: Elicitation) -> None:
    assert asked_text(request).startswith("Asked: ")
    if isinstance(request, WebPage):
        address_of(request.url)
        return
    filled = {field.label.name: default_of(field) for field in request.fields}
    content, errors = content_of(request, filled)
    assert not content.keys() & errors.keys()
    answered_text(request, ElicitationAnswer("accept", content))
    kept_data(request, ElicitationAnswer("accept", content))


BOUNDS = st.tuples(st.none() | st.integers(0, 4), st.none() | st.integers(0, 4))
VALUES = st.lists(st.sampled_from("abcd"), min_size=1, unique=True)


def _bounded(kind: dict[str, Any], low: str, high: str) -> st.SearchStrategy[dict[str, Any]]:
    return BOUNDS.map(
        lambda bounds: kind | {name: n for name, n in zip((low, high), bounds, strict=True) if n is not None}
    )


FIELDS = st.one_of(
    _bounded({"type": "string"}, "minLength", "maxLength"),
    _bounded({"type": "string", "pattern": "^[ab]*$"}, "minLength", "maxLength"),
    _bounded({"type": "number"}, "minimum", "maximum"),
    _bounded({"type": "integer"}, "minimum", "maximum"),
    st.just({"type": "boolean"}),
    VALUES.map(lambda values: {"type": "string", "enum": values}),
    VALUES.map(lambda values: {"type": "string", "oneOf": [{"const": v, "title": f"T{v}"} for v in values]}),
    VALUES.flatmap(
        lambda values: _bounded(
            {"type": "array", "items": {"type": "string", "enum": values}}, "minItems", "maxItems"
        )
    ),
    VALUES.flatmap(
        lambda values: _bounded(
            {"type": "array", "items": {"anyOf": [{"const": v, "title": v} for v in values]}},
            "minItems",
            "maxItems",
        )
    ),
)
INPUTS: st.SearchStrategy[Input] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(["", "a", "ab", "abcde", "0", "3", "2.5", "-1", "1e400", "7"]),
    st.lists(st.sampled_from("abcdx")).map(tuple),
)


@given(
    st.dictionaries(st.sampled_from("uvw"), FIELDS, min_size=1),
    st.sets(st.sampled_from("uvw")),
    st.dictionaries(st.sampled_from("uvw"), INPUTS),
)
def test_w12_what_is_sent_validates_against_the_schema(
    properties: dict[str, Any], required: set[str], inputs: dict[str, Input]
) -> None:
    form = form_of(properties, sorted(required))
    content, errors = content_of(form, inputs)
    assert form.can_be_sent is (required <= properties.keys())
    assert all(_fits(properties[name], value) for name, value in content.items())
    if not errors:
        assert required <= content.keys()


def _fits(schema: dict[str, Any], value: Any) -> bool:
    """The parts of JSON Schema that forms are made of."""
    low, high = float("-inf"), float("inf")
    match schema["type"]:
        case "string":
            allowed = schema.get("enum") or [each["const"] for each in schema.get("oneOf", ())]
            bounded = schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", high)
            return isinstance(value, str) and bounded and (not allowed or value in allowed)
        case "array":
            items = schema["items"]
            allowed = items.get("enum") or [each["const"] for each in items["anyOf"]]
            bounded = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", high)
            return isinstance(value, list) and bounded and set(value) <= set(allowed)
        case "boolean":
            return isinstance(value, bool)
        case kind:
            number = type(value) is int or (kind == "number" and type(value) is float)
            return number and schema.get("minimum", low) <= value <= schema.get("maximum", high)


@pytest.mark.parametrize(
    ("schema", "given", "error"),
    [
        ({"type": "string"}, "", "This field is required."),
        ({"type": "string", "minLength": 3}, "ab", "At least 3 characters; it has 2."),
        ({"type": "string", "maxLength": 1}, "ab", "At most 1 character; it has 2."),
        ({"type": "string", "pattern": "^x"}, "ab", ""),  # which the agent checks
        ({"type": "string", "format": "email"}, "ada", "Not an email address, such as ada@example.org."),
        ({"type": "string", "format": "email"}, "ada@example.org", ""),
        ({"type": "string", "format": "uri"}, "example.org", "Not an address with its scheme"),
        ({"type": "string", "format": "uri"}, "https://example.org/a?b=c#d", ""),
        ({"type": "string", "format": "date"}, "2026-02-30", "Not a date, such as 2026-11-23."),
        ({"type": "string", "format": "date"}, "2026-11-23", ""),
        (
            {"type": "string", "format": "date-time"},
            "2026-11-23T14:02:00",
            "Not a date and time with its zone",
        ),
        ({"type": "string", "format": "date-time"}, "2026-11-23T14:02:00+01:00", ""),
        ({"type": "string", "format": "x-unheard-of"}, "anything", ""),
        ({"type": "integer"}, "2.5", "Not a whole number."),
        ({"type": "integer", "maximum": 9}, "10", "At most 9."),
        ({"type": "number", "minimum": 0.5}, "0", "At least 0.5."),
        ({"type": "number"}, "many", "Not a number, such as 2.5."),
        ({"type": "boolean"}, None, "Choose yes or no."),
        ({"type": "string", "enum": ["a"]}, None, "Choose one."),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 2},
            ("a",),
            "Choose at least",
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "maxItems": 1},
            ("a", "b"),
            "Choose at",
        ),
    ],
)
def test_w12_what_is_wrong_is_said_in_plain_words(schema: dict[str, Any], given: Input, error: str) -> None:
    said = error_of(schema, given)
    assert said.startswith(error) and bool(said) is bool(error)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "x-signature"},
        {"type": "object", "properties": {}},
        {"type": ["string", "null"]},
        {"type": "string", "minLength": "long"},
        {"type": "string", "enum": []},
        {"type": "array"},
        {"type": "array", "items": {"type": "integer", "enum": [1]}},
        {},
        7,
    ],
)
def test_w12_a_field_of_an_unknown_kind_is_named_and_never_shown_as_another(schema: Any) -> None:
    form = form_of({"f": schema, "name": {"type": "string"}})
    assert isinstance(form.fields[0], UnknownField) and form.can_be_sent
    assert content_of(form, {"f": "x", "name": "Ada"}) == ({"name": "Ada"}, {})
    assert not form_of({"f": schema}, ["f"]).can_be_sent
    assert not form_of({}, ["nowhere"]).can_be_sent


@pytest.mark.parametrize(
    ("name", "schema", "secret"),
    [
        ("password", {"type": "string"}, True),
        ("apiKey", {"type": "string"}, True),
        ("x", {"type": "string", "title": "GitHub access token"}, True),
        ("x", {"type": "string", "format": "password"}, True),
        ("x", {"type": "string", "writeOnly": True}, True),
        ("name", {"type": "string", "format": "email"}, False),
        ("tokens", {"type": "integer"}, False),
        ("opinion", {"type": "string"}, False),
    ],
)
def test_w12_a_secret_is_recognised_and_never_kept(name: str, schema: dict[str, Any], secret: bool) -> None:
    form = form_of({name: schema})
    assert form.fields[0].label.secret is secret
    answer = ElicitationAnswer("accept", {name: "hunter2"})
    kept = f"{answered_text(form, answer)} {kept_data(form, answer)}"
    assert ("hunter2" in kept, SECRET in kept) == (not secret, secret)


@pytest.mark.parametrize(
    ("schema", "line", "answer"),
    [
        ({"type": "boolean"}, "maybe", "Choose yes or no."),
        ({"type": "boolean"}, "Yes", True),
        ({"type": "boolean"}, "", None),
        ({"type": "boolean", "default": True}, "", True),
        ({"type": "boolean", "default": True}, "maybe", "Choose yes or no."),
        ({"type": "string", "enum": ["a", "b"]}, "c", "Choose one of these."),
        ({"type": "string", "enum": ["a", "b"]}, "3", "Choose one of these."),
        ({"type": "string", "enum": ["a", "b"]}, "2", "b"),
        ({"type": "string", "enum": ["a", "b"]}, "", None),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "a, x", "Choose only of these."),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "1,", ["a"]),
        ({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}}, "", None),
        ({"type": "integer"}, "many", "Not a whole number."),
        ({"type": "string", "minLength": 2}, "x", "At least 2 characters; it has 1."),
        ({"type": "string", "format": "email"}, "ada", "Not an email address, such as ada@example.org."),
    ],
)
def test_w12_an_invalid_answer_to_an_optional_field_is_said_and_nothing_of_it_is_sent(
    schema: dict[str, Any], line: str, answer: object
) -> None:
    form = form_of({"f": schema})
    content, errors = content_of(form, {"f": given_input(form.fields[0], line)})
    said = errors.get("f")
    assert (content.get("f"), said) == ((None, answer) if said else (answer, None))


@pytest.mark.parametrize(
    ("url", "host", "said"),
    [
        ("https://example.org/x?y=z", "example.org", ""),
        ("http://example.org:8080", "example.org", ""),
        ("https://аpple.com/", "аpple.com", ""),
        ("https://xn--pple-43d.com/", "xn--pple-43d.com", ""),
        ("javascript:alert(1)", "", "Only http and https"),
        ("file:///etc/passwd", "", "Only http and https"),
        ("https://google.com@evil.example/", "evil.example", "It has a part that hides"),
        ("https://evil.example\\@google.com/", "", "It has a part that hides"),
        ("https://example.org/\u202egpj.exe", "", "It has spaces or hidden characters"),
        ("https://example.org/\x1b[2J", "", "It has spaces or hidden characters"),
        ("https://exam ple.org/", "", "It has spaces or hidden characters"),
        ("https:///nowhere", "", "It names no host."),
        ("https://example.org:99999/", "", "It is not a valid address."),
        ("https://example.org/" + "a" * 5_000, "", "It is longer than"),
        ("", "", "Only http and https"),
    ],
)
def test_w12_only_plain_http_and_https_addresses_may_be_opened(url: str, host: str, said: str) -> None:
    address = address_of(url)
    assert address.refusal.startswith(said) and bool(address.refusal) is bool(said)
    assert not host or address.host == host
    assert address.opens.isascii() and bool(address.opens) is not bool(said)


def test_w12_a_host_that_is_not_ascii_is_told_in_punycode_and_punycode_as_it_reads() -> None:
    assert address_of("https://аpple.com/").punycode == "xn--pple-43d.com"
    assert address_of("https://xn--pple-43d.com/").spoken == "аpple.com"


@pytest.mark.parametrize("host", ["аpple.com", "xn--pple-43d.com"])
def test_w12_a_line_says_what_a_host_looks_like_and_what_it_is(host: str) -> None:
    said = "Its host looks like аpple.com, but is xn--pple-43d.com."
    assert list(page_lines(WebPage("", f"https://{host}/", "1")))[-1] == said


@given(st.text(max_size=40))
def test_w12_no_address_raises(url: str) -> None:
    for each in (url, f"https://{url}", f"https://example.org/{url}"):
        assert address_of(each).opens.isascii()
