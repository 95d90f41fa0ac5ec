"""What the card of sources says: from the store, and from what was found on this machine."""

from collections import Counter
from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app import formatting
from app.models.sessions import source_name
from app.text_ranges import one_line
from app.views.maintenance.retention_words import listed
from app.views.maintenance.sources_card import SourceLine, SourcesShown
from core.source_types import KnownSource
from core.types import FoundSource
from core.upkeep_types import SourceState


def _tr(text: str) -> str:
    return QCoreApplication.translate("sources", text)


def shown(
    states: Sequence[SourceState],
    found: Sequence[FoundSource],
    known: Sequence[KnownSource] = (),
) -> SourcesShown:
    """Return what to show of the sources stored, and of places found that none came from.

    `known` are the same sources with how they are watched.
    """
    names = Counter(name(each) for each in states)
    watched = {(each.kind, each.name, each.root): how_watched(each) for each in known}
    lines = [
        _stored(
            each,
            watched.get((each.kind, each.name, each.root), _tr("once")),
            is_one_of_many=names[name(each)] > 1,
        )
        for each in states
    ]
    kinds = {each.kind for each in states}
    lines += [_found(each) for each in found if each.importable and each.kind not in kinds]
    return SourcesShown(tuple(lines), troubles(states), unknown(states))


def how_watched(source: KnownSource) -> str:
    """Return `watched`, `paused`, `removed`, or `once` for what is read when asked for alone."""
    if source.is_removed:
        return _tr("removed")
    if source.watch is None:
        return _tr("once")
    return _tr("paused") if source.watch.paused else _tr("watched")


def name(state: SourceState) -> str:
    """Return a source's name; one of several of a kind says which."""
    kind = source_name(state.kind)
    own = one_line(state.name).strip()
    return kind if own in ("", kind, state.kind) else own


def troubles(states: Sequence[SourceState]) -> str:
    """Return `Codex: 2 files were not read whole, 3 records are broken. …`, '' when all is well."""
    bad = [each for each in states if each.failed or each.bad_records]
    if not bad:
        return ""
    told = [f"{name(each)}: {_trouble(each)}" for each in bad]
    kept = _tr("What could be read is kept.")
    return f"{'; '.join(told)}. {kept}"


def _trouble(state: SourceState) -> str:
    parts = []
    if state.failed:
        parts.append(
            formatting.counted(
                state.failed, _tr("%1 file was not read"), _tr("%1 files were not read")
            )
        )
    if state.bad_records:
        parts.append(
            formatting.counted(
                state.bad_records, _tr("%1 record is broken"), _tr("%1 records are broken")
            )
        )
    return listed(parts)


def unknown(states: Sequence[SourceState]) -> str:
    """Return `7 records of a kind not known yet … (Codex 6, Hermes 1)`, '' when there is none."""
    counts = {name(each): sum(each.unknown_records.values()) for each in states}
    counts = {who: count for who, count in counts.items() if count}
    if not counts:
        return ""
    words = formatting.counted(
        sum(counts.values()),
        _tr("%1 record of a kind not known yet was left where it is (%2)"),
        _tr("%1 records of kinds not known yet were left where they are (%2)"),
    )
    return words.replace(
        "%2", ", ".join(f"{who} {formatting.number(count)}" for who, count in counts.items())
    )


def _stored(state: SourceState, watched: str, *, is_one_of_many: bool) -> SourceLine:
    own = name(state)
    folder = one_line(state.root).replace("\\", "/").rstrip("/").rpartition("/")[2]
    return SourceLine(
        kind=state.kind,
        name=f"{own}, {folder}" if is_one_of_many and folder else own,
        state=watched,
        new=state.new,
        changed=state.changed,
        skipped=state.skipped,
        failed=state.failed + state.bad_records,
        last_run_at_ms=state.last_run_at_ms,
    )


def _found(place: FoundSource) -> SourceLine:
    return SourceLine(
        kind=place.kind,
        name=one_line(place.name),
        state=_tr("found"),
        new=None,
        changed=None,
        skipped=None,
        failed=None,
        last_run_at_ms=None,
    )
