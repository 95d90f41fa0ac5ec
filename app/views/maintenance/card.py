"""A card of the maintenance page: a title row with a place at its right, and a column below."""

from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout

from app.views.parts import Icon, Text

SIDE = 20
TITLE_HEIGHT = 48


class Card(QFrame):
    """Flat on `base`; the page draws the hairlines between cards.

    `place` is the row at the right of the title, `column` what the card shows below it.
    """

    def __init__(self, title: str, icon: str) -> None:
        super().__init__()
        self.setProperty("class", "maintenance")
        self.setAccessibleName(title)
        self.title = Text(title, "head")
        self.place = QHBoxLayout()
        self.place.setSpacing(8)
        head = QHBoxLayout()
        head.setContentsMargins(0, 0, 0, 0)
        head.setSpacing(8)
        head.addWidget(Icon(icon, "text2"))
        head.addWidget(self.title)
        head.addStretch(1)
        head.addLayout(self.place)
        row = QFrame()
        row.setFixedHeight(TITLE_HEIGHT)
        row.setLayout(head)
        self.column = QVBoxLayout()
        self.column.setContentsMargins(0, 0, 0, 0)
        self.column.setSpacing(0)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(SIDE, 4, SIDE, 16)
        whole.setSpacing(0)
        whole.addWidget(row)
        whole.addLayout(self.column, 1)
