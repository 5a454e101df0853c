"""An agent's answer to ``initialize``, as abilities. Pure."""

from __future__ import annotations

from catena_acp.abilities import Abilities, AuthMethod, quirks_of
from catena_acp.reading import Json, objects, part, text
from catena_acp.reading import name as name_of

PROTOCOL_VERSION = 1


def abilities_of(answer: Json) -> Abilities:
    """What the answer advertises, and what is known of that agent besides. Anything odd in it counts as absent.

    Raises ValueError where it names no protocol version.
    """
    version = answer.get("protocolVersion")
    if not isinstance(version, int) or isinstance(version, bool):
        raise ValueError("no protocol version in the answer")
    info = _part(answer, "agentInfo")
    name = name_of(info, "name") or ""
    able = _part(answer, "agentCapabilities")
    session = _part(able, "sessionCapabilities")
    prompt = _part(able, "promptCapabilities")
    mcp = _part(able, "mcpCapabilities")
    quirks = quirks_of(name)
    return Abilities(
        name=name,
        title=name_of(info, "title") or name,
        version=name_of(info, "version") or "",
        protocol_version=version,
        load=able.get("loadSession") is True,
        resume=_offered(session, "resume") or quirks.resume_unadvertised,
        fork=_offered(session, "fork"),
        list=_offered(session, "list"),
        close=_offered(session, "close"),
        delete=_offered(session, "delete"),
        logout=_offered(_part(able, "auth"), "logout"),
        additional_directories=_offered(session, "additionalDirectories"),
        image=prompt.get("image") is True,
        audio=prompt.get("audio") is True,
        embedded_context=prompt.get("embeddedContext") is True,
        mcp_http=mcp.get("http") is True,
        mcp_sse=mcp.get("sse") is True,
        steering=_part(_part(answer, "_meta"), "steering").get("supported") is True,
        auth_methods=auth_methods_of(answer.get("authMethods")),
        quirks=quirks,
    )


def auth_methods_of(offered: object) -> tuple[AuthMethod, ...]:
    """The login methods in a handshake, or in the data of a refusal that wants one; what has no id is none."""
    return tuple(_auth_method(method) for method in objects(offered) if isinstance(method.get("id"), str))


def _auth_method(method: Json) -> AuthMethod:
    """A login method; a terminal one was an extension under ``_meta`` before it came into the protocol."""
    meta = _part(method, "_meta")
    extension = _part(meta, "terminal-auth")
    kind = text(method, "type") or ("terminal" if extension else text(meta, "type")) or "agent"
    source = extension or (meta if text(meta, "type") == "terminal" else method)
    command = text(extension, "command")
    listed = source.get("args")
    args = tuple(arg for arg in listed if isinstance(arg, str)) if isinstance(listed, list) else ()
    return AuthMethod(
        id=method["id"],
        name=name_of(method, "name") or method["id"],
        description=name_of(method, "description"),
        kind=kind,
        command=(command, *args) if command else (),
        args=() if command else args,
        env=tuple((name, value) for name, value in _part(source, "env").items() if isinstance(value, str)),
        variables=tuple(
            variable["name"]
            for variable in objects(method.get("vars"))
            if isinstance(variable.get("name"), str)
        ),
    )


def _offered(holder: Json, name: str) -> bool:
    """A capability is offered by being there: an empty object is a yes, null and false are not."""
    value = holder.get(name)
    return value is True or isinstance(value, dict)


def _part(holder: Json, name: str) -> Json:
    return part(holder, name) or {}
