"""The price of a tab's next prompt, said before it is sent if that sends anything besides the prompt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.workspace.tab import NextPrice, Tab
from catena_acp.errors import AgentError, ReadOnly
from catena_store.errors import StoreError

if TYPE_CHECKING:
    from catena_acp.conversation.inspection.price import Price


def is_priced(tab: Tab) -> bool:
    """True if the price of the next prompt is known as it is now, or a turn decides it first."""
    known = tab.next_price
    return tab.at_work or (known is not None and known.depends_on == _state(tab))


def shown_price(tab: Tab) -> Price | None:
    """The price to show; None while a turn decides it, and where only the prompt would be sent."""
    return None if tab.at_work or tab.next_price is None else tab.next_price.price


async def read_next_price(tab: Tab) -> None:
    """Read the price of the next prompt of a tab; what cannot be read is said where the prompt is sent."""
    state, price = _state(tab), None
    if not tab.untouched and not tab.conversation.read_only:
        try:
            price = await tab.conversation.chain.price(tab.window)
        except (AgentError, ReadOnly, StoreError):
            price = None
    tab.next_price = NextPrice(price if price is not None and price.beside_prompt else None, state)


def _state(tab: Tab) -> object:
    record = tab.conversation.record
    return record.id, record.agent, record.profile, record.cwd, tab.leaf_id, tab.doing, tab.heard
