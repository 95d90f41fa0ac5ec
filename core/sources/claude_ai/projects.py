"""What an export of Claude.ai tells of projects, for the conversations that name theirs.

`projects.json`, one array, or one `projects/<uuid>.json` each, beside the conversations. Most
exports do not say which conversation belongs to which project. A project's documents are named
and not read: they are files, nobody said them.
"""

from collections.abc import Iterator
from pathlib import Path, PurePath

from core.errors import SourceError
from core.sources import archive, loose, there
from core.sources import files as source_files
from core.sources.json_array import elements
from core.sources.lines import JsonObject, Readable
from core.sources.loose import Json

MOST_PROJECTS = 10_000
MOST_TEXT = 4000
"""How much is kept of a project's description and of its instructions each."""


def is_projects(path: PurePath) -> bool:
    """Whether a file of this path within an export tells of projects."""
    if path.suffix != ".json":
        return False
    return path.name == "projects.json" or path.parent.name == "projects"


def projects_of(path: Path) -> dict[str, Json]:
    """Return the projects told beside the conversations of a zip or file, by their ids.

    What cannot be read of them is left out: conversations do not need it.
    """
    found: dict[str, Json] = {}
    try:
        if archive.is_zip(path):
            with archive.opened(path) as opened:
                for entry in opened.entries(is_projects):
                    with opened.open(entry) as stream:
                        found.update(_projects_in(stream))
        else:
            for file in beside(path):
                with source_files.opened(file) as stream:
                    found.update(_projects_in(source_files.as_utf8(stream)))
    except SourceError:
        return found
    return found


def beside(path: Path) -> Iterator[Path]:
    """Yield the files about projects that lie beside a file of conversations."""
    if not path.name.startswith("conversations"):
        return  # a renamed file may lie anywhere, beside anybody's projects
    single = path.with_name("projects.json")
    if there.is_file(single):
        yield single
    yield from sorted(p for p in path.parent.glob("projects/*.json") if there.is_file(p))


def _projects_in(stream: Readable) -> Iterator[tuple[str, Json]]:
    for number, found in enumerate(elements(stream, _is_project)):
        if number >= MOST_PROJECTS:
            return
        if isinstance(found, JsonObject) and (key := loose.text(found.value, "uuid")):
            yield key, _told(found.value)


def _is_project(value: Json) -> bool:
    return "uuid" in value and "name" in value


def _told(value: Json) -> Json:
    told = {name: loose.text(value, name) for name in ("name", "description", "prompt_template")}
    kept: dict[str, object] = {name: text[:MOST_TEXT] for name, text in told.items() if text}
    docs = map(loose.mapping, loose.items(value.get("docs")))
    if names := [name for doc in docs if (name := loose.text(doc, "filename"))]:
        kept["docs"] = names[:1000]
    return kept
