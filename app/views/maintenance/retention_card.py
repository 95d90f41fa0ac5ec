"""The card Retention of the maintenance page."""

from app.views.maintenance.card import Card


class RetentionCard(Card):
    """Shows; never asks."""

    def __init__(self) -> None:
        super().__init__("", "hourglass")
        self.title.setText(self.tr("Retention"))
        self.setAccessibleName(self.title.text())
