"""The card Operations of the maintenance page."""

from app.views.maintenance.card import Card


class OperationsCard(Card):
    """Shows; never asks."""

    def __init__(self) -> None:
        super().__init__("", "ledger")
        self.title.setText(self.tr("Operations"))
        self.setAccessibleName(self.title.text())
