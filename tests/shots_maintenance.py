"""The pictures of the maintenance page: each card in a good and in a bad state."""

import asyncio
from typing import TYPE_CHECKING

from app.messages import Notice
from app.views.maintenance.page import MaintenancePage
from tests.gui import upkeep_values as values

if TYPE_CHECKING:
    from tests.shots import Camera

_SETTLE_S = 0.4
_WIDTHS = (1180, 960)


def fill(page: MaintenancePage) -> None:
    """Show a store that is well kept, one index of it being filled."""
    words = "1 index building"
    page.bar.show_state("warning", "warn", words, "everything stays searchable meanwhile")
    page.bar.show_path("/home/dev/profiles/9f3c/state.db", "profiles/9f3c/state.db")
    page.indexes.show_indexes(values.good_indexes())
    page.tokenizer.show_tokenizer(values.tokenizer())
    page.tokenizer.show_split(values.split())
    page.store.show_store(values.good_store())
    page.store.message.hide()


def spoil(page: MaintenancePage) -> None:
    """Show a store with nearly everything wrong that can be."""
    words = "1 index damaged, 1 stuck, 1 detached"
    page.bar.show_state("fail", "err", words, "searches go other ways and say so")
    page.indexes.show_indexes(values.bad_indexes())
    page.tokenizer.show_tokenizer(values.no_tokenizer())
    page.tokenizer.show_split(values.Split("", (), "Without the tokenizer nothing can be cut."))
    page.store.show_store(values.bad_store())
    page.store.message.show_notice(
        Notice(
            "err", "This was not done.", "Compacting needs 1.2 GB, 410 MB are free.", "refused: …"
        )
    )
