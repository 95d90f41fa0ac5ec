"""Symbols stand beside words and are none; marks stand in words and do not cut them."""

import pytest

from core.search.run import search
from core.types import Role, SearchRequest
from tests.unit.store.making import message, store_at, store_messages

TEXTS = {
    "new": "done🤖",
    "tone": "done👍🏽",
    "between": "🧪test🧪 ok",
    "old": "done🎉",
    "joined": "done👩\u200d🔬 well",
    "beside a run": "部署done🤖部署",
    "currency": "paid₿done",
    "glued": "undone🤖s abandoned",
    "alone": "🤖",
    "hindi": "उसने हिन्दी में लिखा",
    "tamil": "இது தமிழ் உரை",
    "bengali": "আমি বাংলা লিখি",
    "parts": "ह न द த ম",
}
DONE = {"new", "tone", "old", "joined", "beside a run", "currency"}


@pytest.fixture(scope="module", params=["cjk", "no cjk"])
def db(request, tmp_path_factory):
    made = store_at(tmp_path_factory.mktemp("symbols"), cjk=request.param == "cjk")
    told = [message(f"{uid} {role}", text, role=role) for uid, text in TEXTS.items()
            for role in (Role.USER, Role.TOOL)]  # fmt: skip
    store_messages(made, *told)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("done", DONE),
        ("don*", DONE),
        ('"done"', DONE),
        ("test", {"between"}),
        ("well", {"joined"}),
        ("🤖", {"new", "beside a run", "glued", "alone"}),
        ("🧪", {"between"}),
        ("👍", {"tone"}),
        ("👍🏽", {"tone"}),
        ("done🤖", {"new", "beside a run"}),
        ("🧪test", {"between"}),
        ("done NOT 🤖", DONE - {"new", "beside a run"}),
        ("हिन्दी", {"hindi"}),
        ("हिन्*", {"hindi"}),
        ("தமிழ்", {"tamil"}),
        ("বাংলা", {"bengali"}),
        ("ह", {"parts"}),
    ],
)
def test_what_is_found(db, typed, expected):
    result = search(db, SearchRequest(typed, limit=100))
    assert result.complete
    found = {hit.message for hit in result.hits}
    assert found == {f"{uid} {role}" for uid in expected for role in (Role.USER, Role.TOOL)}
