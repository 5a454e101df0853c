"""Actions on the images that agents send: open, save, copy the path."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

from catena.desktop.files import NotOpened, OpenedFiles, open_file, opener
from catena.screens.chat.context import ChatContext
from catena.terminal.images import ImageSlot
from catena.text.formats import from_home, size_in_words
from catena.text.safe_text import safe_line
from catena.workspace.tab import Tab
from catena_acp.port.images import note_of_image
from catena_acp.spoken.spoken import images_of, others_of
from catena_store.records import Attachment, Message

_MOST_OPENED = 4  # of one message
_NONE = "No image in this message."
_TOO_MANY_PIXELS = "This image would take too much memory to open."
_SAVES, _EXPORTS = "{Save_image} saves the image.", "/export image saves it."


class ImageActions:
    """Actions on the images of the browsed message; of the newest one that has any, while nothing is browsed."""

    def __init__(self, context: ChatContext) -> None:
        self._context = context
        self._opened = OpenedFiles()

    async def open(self) -> None:
        """Open the images with the desktop's program; or the page on the web that the message links to."""
        message = self._message()
        if message is not None and (address := _address_of(message)):
            self._context.screen.open_address(address)
            return
        if not (images := await self._images(message)):
            self._context.say(_NONE)
            return
        environment = self._context.screen.environment
        safe_ones = [image for image in images if note_of_image(image).openable][:_MOST_OPENED]
        if not safe_ones:
            self._context.say(f"{_TOO_MANY_PIXELS} {self._saves}", wrong=True)
            return
        try:
            opener(environment)
            for image in safe_ones:
                open_file(await self._written(image), environment)
        except NotOpened as error:
            self._context.say(f"{error} {self._saves}")
        except OSError as error:
            self._context.say(f"The image cannot be written: {os.strerror(error.errno or 0)}.", wrong=True)
        else:
            self._context.say("Opened." if len(safe_ones) == 1 else f"Opened {len(safe_ones)} images.")

    async def save(self, argument: str) -> None:
        """Save the images at a path; without one under a new name in the conversation's directory."""
        tab = self._context.tab
        if tab is None or not (images := await self._images(self._message())):
            self._context.say(_NONE)
            return
        try:
            paths = await asyncio.to_thread(_save_all, images, argument.strip(), tab.conversation.record.cwd)
        except FileExistsError as error:
            self._context.say(f"{safe_line(str(error.filename))} exists; choose another name.", wrong=True)
        except (OSError, ValueError, RuntimeError) as error:
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
            self._context.say(f"The image was not saved: {safe_line(why)}.", wrong=True)
        else:
            size = size_in_words(sum(len(image.content) for image in images))
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            self._context.say(f"Saved {safe_line(from_home(str(paths[0])))}{more} ({size}).")

    async def copy_path(self) -> None:
        """Copy the path of a copy of the image."""
        if not (images := await self._images(self._message())):
            self._context.say(_NONE)
            return
        try:
            self._context.app.copy_to_clipboard(str(await self._written(images[0])))
        except OSError as error:
            self._context.say(f"The image cannot be written: {os.strerror(error.errno or 0)}.", wrong=True)

    async def draw(self, wanted: Mapping[ImageSlot, str]) -> None:
        """Give the terminal images, which it draws in their messages."""
        images = self._context.screen.images
        if images is None:
            return
        for slot, message_id in wanted.items():
            if images.number_of(slot) is not None:
                continue  # it was wanted twice
            stored = await self._context.tabs.branches.attachments_of(message_id)
            found = next((image.content for image in stored if image.sha256 == slot.sha256), None)
            await images.keep(slot, found)

    @property
    def _saves(self) -> str:
        browsing = self._context.parts.conversation.browsing
        return self._context.keys.said(_SAVES, _EXPORTS) if browsing else _EXPORTS

    def _message(self) -> Message | None:
        """The browsed message, else the newest that has an image."""
        conversation = self._context.parts.conversation
        if conversation.browsed is not None:
            return self._context.parts.transcript.record(conversation.browsed)
        return self._context.presenter.newest_with(lambda row: bool(images_of(row)))

    async def _images(self, message: Message | None) -> list[Attachment]:
        tab: Tab | None = self._context.tab
        if tab is None or message is None:
            return []
        wanted = {note.sha256 for note in images_of(message)}
        if not wanted:
            return []
        stored = await self._context.tabs.branches.attachments_of(message.id)
        return [image for image in stored if image.sha256 in wanted]

    async def _written(self, image: Attachment) -> Path:
        name = f"{image.sha256[:16]}{Path(image.name).suffix}"
        return await asyncio.to_thread(self._opened.write, name, image.content)


def _address_of(message: Message) -> str:
    addresses = (each.address for each in others_of(message))
    return next((each for each in addresses if each.startswith(("http://", "https://"))), "")


def _save_all(images: Sequence[Attachment], named: str, directory: str) -> list[Path]:
    """Write each image to a new file. Raises OSError, FileExistsError among them, and ValueError for a bad path."""
    paths = []
    for number, image in enumerate(images, 1):
        suffix = Path(image.name).suffix
        if named:
            path = Path(directory, Path(named).expanduser())
            path = path / f"image{suffix}" if path.is_dir() else path
            path = path if number == 1 else path.with_stem(f"{path.stem}-{number}")
        else:
            path = next(
                place for at in count(1) if not (place := Path(directory, f"image-{at}{suffix}")).exists()
            )
        with path.open("xb") as file:
            file.write(image.content)
        paths.append(path)
    return paths
