"""One window per store: a second start raises the first and hands over what it was given."""

import hashlib
from pathlib import Path

from PySide6.QtCore import QObject, Signal
from PySide6.QtNetwork import QLocalServer, QLocalSocket

_WAIT_MS = 500
_RAISE = b"raise\n"


class Instance(QObject):
    """Claims the store at `store` for this process.

    Signals:
        raise_asked: another start wants the window of this one to come forward.
    """

    raise_asked = Signal()

    def __init__(self, store: Path, parent: QObject | None = None) -> None:
        super().__init__(parent)
        digest = hashlib.blake2b(str(store.resolve()).encode(), digest_size=8).hexdigest()
        self._name = f"backscroll-{digest}"
        self._server = QLocalServer(self)
        self._server.setSocketOptions(QLocalServer.SocketOption.UserAccessOption)
        self._server.newConnection.connect(self._on_new_connection)

    def claim(self) -> bool:
        """Return True when this is the only one; else the other one was asked to come forward.

        Waits at most half a second, before the window is shown.
        """
        socket = QLocalSocket()
        socket.connectToServer(self._name)
        if socket.waitForConnected(_WAIT_MS):
            socket.write(_RAISE)
            socket.waitForBytesWritten(_WAIT_MS)
            socket.disconnectFromServer()
            return False
        QLocalServer.removeServer(self._name)  # what a crash left behind
        self._server.listen(self._name)
        return True

    def release(self) -> None:
        """Let the next start be the first."""
        self._server.close()

    def _on_new_connection(self) -> None:
        socket = self._server.nextPendingConnection()
        socket.disconnected.connect(socket.deleteLater)
        self.raise_asked.emit()
