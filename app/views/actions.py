"""Everything the keyboard can do, declared once: menus and the shortcut sheet read it here."""

from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, QObject, Qt
from PySide6.QtGui import QAction, QActionGroup, QKeySequence, QShortcut
from PySide6.QtWidgets import QMenu, QMenuBar

_CONTEXT = "actions"
SEPARATOR = ""


@dataclass(frozen=True, slots=True)
class Spec:
    """One action: its name in code, its menu, its words and its keys, the first one shown."""

    name: str
    menu: str
    words: str
    keys: tuple[str, ...] = ()


_FILE = QT_TRANSLATE_NOOP("actions", "&File")
_EDIT = QT_TRANSLATE_NOOP("actions", "&Edit")
_VIEW = QT_TRANSLATE_NOOP("actions", "&View")
_SESSION = QT_TRANSLATE_NOOP("actions", "S&ession")
_SEARCH = QT_TRANSLATE_NOOP("actions", "&Search")
_GO = QT_TRANSLATE_NOOP("actions", "&Go")
_MAINTENANCE = QT_TRANSLATE_NOOP("actions", "&Maintenance")
_HELP = QT_TRANSLATE_NOOP("actions", "&Help")

SPECS = (
    Spec("sources", _FILE, QT_TRANSLATE_NOOP("actions", "&Sources and import"), ("Ctrl+I",)),
    Spec("add_files", _FILE, QT_TRANSLATE_NOOP("actions", "Add &files…")),
    Spec("add_folder", _FILE, QT_TRANSLATE_NOOP("actions", "Add f&older…")),
    Spec(SEPARATOR, _FILE, ""),
    Spec("quit", _FILE, QT_TRANSLATE_NOOP("actions", "&Quit"), ("Ctrl+Q",)),
    Spec("undo", _EDIT, QT_TRANSLATE_NOOP("actions", "&Undo"), ("Ctrl+Z",)),
    Spec(SEPARATOR, _EDIT, ""),
    Spec("find", _EDIT, QT_TRANSLATE_NOOP("actions", "&Find in conversation"), ("Ctrl+F",)),
    Spec("find_next", _EDIT, QT_TRANSLATE_NOOP("actions", "&Next match"), ("F3", "Ctrl+G")),
    Spec(
        "find_previous",
        _EDIT,
        QT_TRANSLATE_NOOP("actions", "&Previous match"),
        ("Shift+F3", "Ctrl+Shift+G"),
    ),
    Spec(SEPARATOR, _EDIT, ""),
    Spec(
        "copy_cited",
        _EDIT,
        QT_TRANSLATE_NOOP("actions", "Copy as &Markdown with citation"),
        ("Ctrl+Shift+C",),
    ),
    Spec("theme_system", _VIEW, QT_TRANSLATE_NOOP("actions", "Colours of the s&ystem")),
    Spec("theme_light", _VIEW, QT_TRANSLATE_NOOP("actions", "&Light")),
    Spec("theme_dark", _VIEW, QT_TRANSLATE_NOOP("actions", "&Dark")),
    Spec(SEPARATOR, _VIEW, ""),
    Spec("larger", _VIEW, QT_TRANSLATE_NOOP("actions", "Larger &text"), ("Ctrl++", "Ctrl+=")),
    Spec("smaller", _VIEW, QT_TRANSLATE_NOOP("actions", "S&maller text"), ("Ctrl+-",)),
    Spec("normal_size", _VIEW, QT_TRANSLATE_NOOP("actions", "&Normal text size"), ("Ctrl+0",)),
    Spec(SEPARATOR, _VIEW, ""),
    Spec("next_pane", _VIEW, QT_TRANSLATE_NOOP("actions", "Next &pane"), ("F6",)),
    Spec("previous_pane", _VIEW, QT_TRANSLATE_NOOP("actions", "Pre&vious pane"), ("Shift+F6",)),
    Spec(
        "previous_session",
        _SESSION,
        QT_TRANSLATE_NOOP("actions", "&Previous conversation"),
        ("Alt+Up",),
    ),
    Spec(
        "next_session", _SESSION, QT_TRANSLATE_NOOP("actions", "&Next conversation"), ("Alt+Down",)
    ),
    Spec(SEPARATOR, _SESSION, ""),
    Spec("opening", _SESSION, QT_TRANSLATE_NOOP("actions", "&Opening"), ("Ctrl+Home",)),
    Spec("resolution", _SESSION, QT_TRANSLATE_NOOP("actions", "&Resolution"), ("Ctrl+End",)),
    Spec(SEPARATOR, _SESSION, ""),
    Spec("rename", _SESSION, QT_TRANSLATE_NOOP("actions", "Re&name"), ("F2",)),
    Spec("pin", _SESSION, QT_TRANSLATE_NOOP("actions", "P&in or unpin"), ("Ctrl+D",)),
    Spec("archive", _SESSION, QT_TRANSLATE_NOOP("actions", "&Archive or unarchive")),
    Spec("move", _SESSION, QT_TRANSLATE_NOOP("actions", "Move to a pro&ject…")),
    Spec(SEPARATOR, _SESSION, ""),
    Spec("reset", _SESSION, QT_TRANSLATE_NOOP("actions", "Re&set: begin anew below")),
    Spec("clear", _SESSION, QT_TRANSLATE_NOOP("actions", "&Clear: messages to the trash")),
    Spec(SEPARATOR, _SESSION, ""),
    Spec("trash", _SESSION, QT_TRANSLATE_NOOP("actions", "Move to the &trash"), ("Delete",)),
    Spec(
        "trash_message",
        _SESSION,
        QT_TRANSLATE_NOOP("actions", "Move this &message to the trash"),
    ),
    Spec("show_trash", _SESSION, QT_TRANSLATE_NOOP("actions", "&Show the trash")),
    Spec(
        "search",
        _SEARCH,
        QT_TRANSLATE_NOOP("actions", "&Search all conversations"),
        ("Ctrl+K", "Ctrl+L", "Ctrl+Shift+F"),
    ),
    Spec(
        "searches",
        _SEARCH,
        QT_TRANSLATE_NOOP("actions", "Saved and recent searc&hes"),
        ("Ctrl+H",),
    ),
    Spec("save_search", _SEARCH, QT_TRANSLATE_NOOP("actions", "Sa&ve this search"), ("Ctrl+S",)),
    Spec(SEPARATOR, _SEARCH, ""),
    Spec("why", _SEARCH, QT_TRANSLATE_NOOP("actions", "&Why this answer")),
    Spec(SEPARATOR, _SEARCH, ""),
    Spec("clear_filters", _SEARCH, QT_TRANSLATE_NOOP("actions", "Clear all &filters")),
    Spec("clear_recent", _SEARCH, QT_TRANSLATE_NOOP("actions", "Clear &recent searches")),
    Spec("back", _GO, QT_TRANSLATE_NOOP("actions", "&Back"), ("Alt+Left",)),
    Spec("forward", _GO, QT_TRANSLATE_NOOP("actions", "&Forward"), ("Alt+Right",)),
    Spec("maintenance", _MAINTENANCE, QT_TRANSLATE_NOOP("actions", "&Show or leave"), ("Ctrl+M",)),
    Spec(SEPARATOR, _MAINTENANCE, ""),
    Spec("verify_all", _MAINTENANCE, QT_TRANSLATE_NOOP("actions", "&Verify all indexes")),
    Spec("full_check", _MAINTENANCE, QT_TRANSLATE_NOOP("actions", "&Full check")),
    Spec("back_up", _MAINTENANCE, QT_TRANSLATE_NOOP("actions", "&Back up now")),
    Spec("copy_report", _MAINTENANCE, QT_TRANSLATE_NOOP("actions", "&Copy report")),
    Spec("why_missing", _HELP, QT_TRANSLATE_NOOP("actions", "Why is&n't it here?")),
    Spec("shortcuts", _HELP, QT_TRANSLATE_NOOP("actions", "&Keyboard shortcuts"), ("F1",)),
    Spec("about", _HELP, QT_TRANSLATE_NOOP("actions", "&About Backscroll")),
)
_THEMES = ("theme_system", "theme_light", "theme_dark")


class Actions(QObject):
    """The actions by name, and the menus they are in."""

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._actions = {spec.name: self._make(spec) for spec in SPECS if spec.name}
        self.themes = QActionGroup(self)
        for name in _THEMES:
            self._actions[name].setCheckable(True)
            self.themes.addAction(self._actions[name])
        # Delete belongs to the list that has the focus, and to fields of text.
        self._actions["trash"].setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self._actions["undo"].setEnabled(False)
        self._actions["quit"].setMenuRole(QAction.MenuRole.QuitRole)
        self._actions["about"].setMenuRole(QAction.MenuRole.AboutRole)

    def __getitem__(self, name: str) -> QAction:
        return self._actions[name]

    def fill(self, bar: QMenuBar) -> None:
        """Put the actions into the menus of `bar`."""
        menus: dict[str, QMenu] = {}
        for spec in SPECS:
            if spec.menu not in menus:
                menus[spec.menu] = self._add_menu(bar, _tr(spec.menu))
            if spec.name:
                menus[spec.menu].addAction(self._actions[spec.name])
            else:
                menus[spec.menu].addSeparator()

    @staticmethod
    def _add_menu(bar: QMenuBar, words: str) -> QMenu:
        """Add a menu that Alt + its letter opens, without a line under the letter."""
        menu = bar.addMenu(words.replace("&", ""))
        letter = words.partition("&")[2][:1]
        if letter:
            shortcut = QShortcut(QKeySequence(f"Alt+{letter}"), bar)
            shortcut.activated.connect(lambda: bar.setActiveAction(menu.menuAction()))
        return menu

    def _make(self, spec: Spec) -> QAction:
        action = QAction(_tr(spec.words), self)
        action.setObjectName(spec.name)
        action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
        return action


def sheet() -> dict[str, list[tuple[str, str]]]:
    """Return what the shortcut sheet shows: menu → (words, keys), only what has keys."""
    result: dict[str, list[tuple[str, str]]] = {}
    for spec in SPECS:
        if spec.keys:
            keys = QKeySequence(spec.keys[0]).toString(QKeySequence.SequenceFormat.NativeText)
            words = _tr(spec.words).replace("&", "")
            result.setdefault(_tr(spec.menu).replace("&", ""), []).append((words, keys))
    return result


def _tr(text: str) -> str:
    return QCoreApplication.translate(_CONTEXT, text)
