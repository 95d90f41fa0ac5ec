"""The sessions of a list, in the order they were given, with the day each one belongs to."""

from collections.abc import Sequence
from datetime import date

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, Qt, Signal

from app import formatting
from app.text_ranges import visible
from core.types import Session

Index = QModelIndex | QPersistentModelIndex
NO_INDEX = QModelIndex()

SOURCE_NAMES = {
    "claude-code": "Claude Code",
    "copilot-cli": "Copilot CLI",
    "codex": "Codex",
    "hermes": "Hermes",
    "chatgpt": "ChatGPT",
    "claude-ai": "Claude",
    "open-webui": "Open WebUI",
    "librechat": "LibreChat",
    "moviepilot": "MoviePilot",
    "picobot": "PicoBot",
    "gemini-cli": "Gemini CLI",
    "pi": "Pi",
    "aider": "Aider",
    "opencode": "OpenCode",
    "goose": "Goose",
    "cursor": "Cursor",
    "qwen-code": "Qwen Code",
    "vscode-chat": "VS Code chat",
    "jsonl": "JSON lines",
}
SOURCE_ICONS = {
    "claude-code": "terminal",
    "copilot-cli": "terminal",
    "codex": "terminal",
    "hermes": "server",
    "moviepilot": "server",
    "picobot": "server",
    "chatgpt": "archive",
    "claude-ai": "archive",
    "open-webui": "server",
    "librechat": "archive",
    "gemini-cli": "terminal",
    "pi": "terminal",
    "aider": "terminal",
    "opencode": "terminal",
    "goose": "terminal",
    "cursor": "chat",
    "qwen-code": "terminal",
    "vscode-chat": "chat",
    "jsonl": "folder",
}


def source_name(kind: str) -> str:
    """Return what people call a source kind; one we have no name for is shown as it is."""
    return SOURCE_NAMES.get(kind, kind)


def program_name(session: Session) -> str:
    """Return what people call the program a session was held with."""
    is_named = session.program not in ("", session.source)
    return visible(session.program) if is_named else source_name(session.source)


def source_icon(kind: str) -> str:
    """Return the icon of a source kind."""
    return SOURCE_ICONS.get(kind, "chat")


class SessionsModel(QAbstractListModel):
    """Holds the sessions it is given; fetches nothing itself.

    Signals:
        more_wanted: the view reached the last row and more sessions may exist.
    """

    SessionRole = Qt.ItemDataRole.UserRole + 1
    DayRole = Qt.ItemDataRole.UserRole + 2
    FirstOfDayRole = Qt.ItemDataRole.UserRole + 3
    more_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self._sessions: list[Session] = []
        self._days: list[date | None] = []
        self._by_start = False
        self._complete = True

    def replace(
        self, sessions: Sequence[Session], *, complete: bool, by_start: bool = False
    ) -> None:
        """Show other sessions; `by_start` takes their day from the first message, not the last."""
        self.beginResetModel()
        self._sessions = list(sessions)
        self._by_start = by_start
        self._days = [self._day(each) for each in self._sessions]
        self._complete = complete
        self.endResetModel()

    def append(self, sessions: Sequence[Session], *, complete: bool) -> None:
        """Add the next page below the ones shown."""
        self._complete = complete
        if not sessions:
            return
        first = len(self._sessions)
        self.beginInsertRows(NO_INDEX, first, first + len(sessions) - 1)
        self._sessions.extend(sessions)
        self._days.extend(self._day(each) for each in sessions)
        self.endInsertRows()

    def row_of(self, session_id: int) -> int:
        """Return the row of a session, or -1 when it is not among the loaded ones."""
        for row, each in enumerate(self._sessions):
            if each.id == session_id:
                return row
        return -1

    def session(self, row: int) -> Session | None:
        """Return the session at `row`, or None when there is no such row."""
        return self._sessions[row] if 0 <= row < len(self._sessions) else None

    def _day(self, session: Session) -> date | None:
        at_ms = session.started_at_ms if self._by_start else session.last_active_at_ms
        return None if at_ms is None else formatting.local(at_ms).date()

    # QAbstractItemModel

    def rowCount(self, parent: Index = NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._sessions)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if not index.isValid() or index.row() >= len(self._sessions):
            return None
        row = index.row()
        if role == self.SessionRole:
            return self._sessions[row]
        if role == self.DayRole:
            return self._days[row]
        if role == self.FirstOfDayRole:
            return row == 0 or self._days[row] != self._days[row - 1]
        if role == Qt.ItemDataRole.DisplayRole:
            return visible(self._sessions[row].title)
        if role == Qt.ItemDataRole.AccessibleTextRole:
            return self._spoken(row)
        return None

    def canFetchMore(self, parent: Index = NO_INDEX) -> bool:
        return not parent.isValid() and not self._complete

    def fetchMore(self, parent: Index = NO_INDEX) -> None:
        self._complete = True  # until append() says otherwise: ask once per page
        self.more_wanted.emit()

    def _spoken(self, row: int) -> str:
        session = self._sessions[row]
        parts = [visible(session.title) or self.tr("Untitled"), program_name(session)]
        if session.project:
            parts.append(visible(session.project))
        parts.append(
            formatting.counted(session.message_count, self.tr("%1 message"), self.tr("%1 messages"))
        )
        if session.last_active_at_ms is not None:
            parts.append(formatting.full_time(session.last_active_at_ms))
        if session.pinned_at_ms is not None:
            parts.append(self.tr("pinned"))
        return ", ".join(parts)
