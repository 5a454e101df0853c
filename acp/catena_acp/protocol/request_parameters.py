"""Parameters of requests in the SDK's types: capabilities, directories, MCP servers, fork point, prompt blocks."""

from __future__ import annotations

import base64
from typing import Any, assert_never

from acp import image_block, resource_link_block, text_block
from acp.helpers import embedded_blob_resource, embedded_text_resource, resource_block
from acp.schema import (
    AuthCapabilities,
    BooleanConfigOptionCapabilities,
    ClientCapabilities,
    ClientSessionCapabilities,
    EmbeddedResourceContentBlock,
    FileSystemCapabilities,
    ImageContentBlock,
    ResourceContentBlock,
    SessionConfigOptionsCapabilities,
    TextContentBlock,
)

from catena_acp.abilities import Abilities
from catena_acp.port import SessionSetup
from catena_acp.protocol.files import FileAccess
from catena_acp.protocol.framing import Message, replace_surrogates
from catena_acp.session_events import FileBlock, ImageBlock, LinkBlock, PromptBlock, TextBlock

ContentBlock = TextContentBlock | ResourceContentBlock | ImageContentBlock | EmbeddedResourceContentBlock


def client_capabilities(files: FileAccess | None) -> ClientCapabilities:
    """The client capabilities, as far as the SDK's models have them."""
    return ClientCapabilities(
        fs=FileSystemCapabilities(
            read_text_file=files is not None, write_text_file=files is not None and files.writable
        ),
        session=ClientSessionCapabilities(
            config_options=SessionConfigOptionsCapabilities(boolean=BooleanConfigOptionCapabilities())
        ),
        auth=AuthCapabilities(terminal=True),
        # The same as an extension, from before it was part of the protocol.
        field_meta={"terminal-auth": True},
    )


def extra_capabilities() -> Message:
    """Client capabilities that the SDK's models lack; not `plan`, of whose three forms only one is read."""
    return {"clientCapabilities": {"session": {"notices": {}, "compaction": {}}}}


def session_directories(setup: SessionSetup, abilities: Abilities) -> list[str] | None:
    """The further directories of a session; None if there are none or the agent takes none."""
    return list(setup.additional_directories) or None if abilities.additional_directories else None


def mcp_servers(setup: SessionSetup) -> list[Any]:
    """The MCP servers of a session; ACP v1 requires the list even where it is empty."""
    return list(setup.mcp_servers)


def fork_meta(at: str | None, key: str | None) -> dict[str, Any]:
    """``_meta`` of a fork at a message; the most common form where the agent's own is not known."""
    if at is None:
        return {}
    if key == "message_id":
        return {"messageId": at}
    return {"jetbrains": {"air": {"fork": {"version": 1, "messageId": at}}}}


def content_block(block: PromptBlock) -> ContentBlock:
    """A prompt block in the SDK's type."""
    match block:
        case TextBlock(text):
            return text_block(replace_surrogates(text))
        case LinkBlock(uri, name):
            return resource_link_block(replace_surrogates(name), replace_surrogates(uri))
        case ImageBlock(data, mime):
            return image_block(base64.b64encode(data).decode("ascii"), mime)
        case FileBlock():
            return _resource_block(block)
    assert_never(block)


def _resource_block(block: FileBlock) -> EmbeddedResourceContentBlock:
    uri, content = replace_surrogates(block.uri), block.content
    if isinstance(content, str):
        text = replace_surrogates(content)
        return resource_block(embedded_text_resource(uri, text, mime_type=block.mime))
    blob = base64.b64encode(content).decode("ascii")
    return resource_block(embedded_blob_resource(uri, blob, mime_type=block.mime))
