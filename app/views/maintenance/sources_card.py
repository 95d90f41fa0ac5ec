"""The card Sources of the maintenance page."""

from app.views.maintenance.card import Card


class SourcesCard(Card):
    """Shows; never asks."""

    def __init__(self) -> None:
        super().__init__("", "import")
        self.title.setText(self.tr("Sources"))
        self.setAccessibleName(self.title.text())
