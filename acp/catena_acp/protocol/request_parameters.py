"""Parameters of requests in the SDK's types: capabilities, directories, MCP servers, fork point, prompt blocks."""

from __future__ import annotations

import base64
from typing import Any, assert_never

from acp.schema import (
    AudioContentBlock,
    AuthCapabilities,
    BlobResourceContents,
    ClientCapabilities,
    ClientSessionCapabilities,
    ElicitationCapabilities,
    ElicitationFormCapabilities,
    ElicitationUrlCapabilities,
    EmbeddedResourceContentBlock,
    FileSystemCapabilities,
    ImageContentBlock,
    ResourceContentBlock,
    TextContentBlock,
    TextResourceContents,
)

from catena_acp.port.abilities import Abilities
from catena_acp.port.port import SessionSetup
from catena_acp.port.session_events import (
    AudioBlock,
    FileBlock,
    ImageBlock,
    LinkBlock,
    PromptBlock,
    TextBlock,
)
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.framing import replace_surrogates

ContentBlock = (
    TextContentBlock
    | ResourceContentBlock
    | ImageContentBlock
    | AudioContentBlock
    | EmbeddedResourceContentBlock
)


def client_capabilities(files: FileAccess | None, *, terminals: bool = False) -> ClientCapabilities:
    """The client capabilities; not `plan`, of whose three forms only one is read."""
    return ClientCapabilities(
        fs=FileSystemCapabilities(
            read_text_file=files is not None and files.readable,
            write_text_file=files is not None and files.writable,
        ),
        terminal=terminals,
        session=ClientSessionCapabilities.model_validate(
            {"configOptions": {"boolean": {}}, "notices": {}, "compaction": {}}
        ),
        auth=AuthCapabilities(terminal=True),
        elicitation=ElicitationCapabilities(
            form=ElicitationFormCapabilities(), url=ElicitationUrlCapabilities()
        ),
        # The login by terminal as an extension, from before it was part of the protocol; and what subagents say,
        # which Claude's adapter else keeps to itself. It changes nothing else of what that sends.
        field_meta={"terminal-auth": True, "subagent-transcript": True},
    )


def session_directories(setup: SessionSetup, abilities: Abilities) -> list[str] | None:
    """The further directories of a session; None if there are none or the agent takes none."""
    return list(setup.additional_directories) or None if abilities.additional_directories else None


def mcp_servers(setup: SessionSetup, abilities: Abilities) -> list[Any]:
    """The MCP servers of a session that the agent takes; ACP v1 requires the list even where it is empty."""
    given = [*setup.mcp_servers, *((setup.tools,) if setup.tools is not None else ())]
    return [server for server in given if abilities.takes_server(str(server.get("type", "stdio")))]


def fork_meta(at: str | None, key: str | None) -> dict[str, Any] | None:
    """``_meta`` of a fork at a message; the most common form where the agent's own is not known."""
    if at is None:
        return None
    if key == "message_id":
        return {"messageId": at}
    return {"jetbrains": {"air": {"fork": {"version": 1, "messageId": at}}}}


def content_block(block: PromptBlock) -> ContentBlock:
    """A prompt block in the SDK's type."""
    match block:
        case TextBlock(text):
            return TextContentBlock(type="text", text=replace_surrogates(text))
        case LinkBlock(uri, name):
            return ResourceContentBlock(
                type="resource_link", name=replace_surrogates(name), uri=replace_surrogates(uri)
            )
        case ImageBlock(data, mime):
            return ImageContentBlock(
                type="image", data=base64.b64encode(data).decode("ascii"), mime_type=mime
            )
        case AudioBlock(data, mime):
            return AudioContentBlock(
                type="audio", data=base64.b64encode(data).decode("ascii"), mime_type=mime
            )
        case FileBlock():
            return _resource_block(block)
    assert_never(block)


def _resource_block(block: FileBlock) -> EmbeddedResourceContentBlock:
    uri, content = replace_surrogates(block.uri), block.content
    resource: TextResourceContents | BlobResourceContents
    if isinstance(content, str):
        resource = TextResourceContents(uri=uri, text=replace_surrogates(content), mime_type=block.mime)
    else:
        blob = base64.b64encode(content).decode("ascii")
        resource = BlobResourceContents(uri=uri, blob=blob, mime_type=block.mime)
    return EmbeddedResourceContentBlock(type="resource", resource=resource)
