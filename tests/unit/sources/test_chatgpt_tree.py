"""The walk over a conversation's nodes: every node once, in an order that stays."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.sources.chatgpt.tree import walk

KEYS = [f"n{i}" for i in range(12)]
links = st.none() | st.sampled_from([*KEYS, "missing"]) | st.integers()
nodes = st.builds(
    lambda parent, has_parent, children, message: {
        **({"parent": parent} if has_parent else {}),
        "children": children,
        "message": message,
    },
    links,
    st.booleans(),
    st.none() | st.lists(links, max_size=4),
    st.none()
    | st.just("text")
    | st.builds(lambda at: {"create_time": at}, st.none() | st.floats()),
)
graphs = st.dictionaries(st.sampled_from(KEYS), nodes, max_size=12)


@given(graphs, links)
def test_any_graph_gives_every_node_exactly_once(graph, current):
    steps = list(walk(graph, current))
    assert sorted(step.key for step in steps) == sorted(graph)
    assert [step.position for step in steps] == sorted(step.position for step in steps)
    on_path = [step for step in steps if step.on_path]
    assert bool(on_path) == bool(graph)
    for step in steps:
        assert step.parent is None or step.parent in graph
    if current in graph and any(step.parent for step in steps):
        assert any(step.key == current for step in on_path)


trees = st.lists(st.integers(0, 10), min_size=1, max_size=30)


def tree(choices):
    """A real tree: every node hangs below an earlier one, children in the order of birth."""
    made = {"root": {"parent": None, "children": [], "message": None}}
    for number, choice in enumerate(choices):
        parent = list(made)[choice % len(made)]
        made[f"n{number}"] = {"parent": parent, "children": [], "message": {"create_time": number}}
        made[parent]["children"].append(f"n{number}")
    return made


def path_to(graph, key):
    path = []
    while key is not None:
        path.append(key)
        key = graph[key]["parent"]
    return path[::-1]


@given(trees, st.data())
def test_the_path_is_shown_in_its_own_order_whatever_the_mapping_has(choices, data):
    graph = tree(choices)
    current = data.draw(st.sampled_from(list(graph)))
    shuffled = {key: graph[key] for key in data.draw(st.permutations(list(graph)))}
    steps = list(walk(shuffled, current))
    assert [step.key for step in steps if step.on_path] == path_to(graph, current)
    assert {s.key: s.position for s in steps} == {s.key: s.position for s in walk(graph, current)}


@given(trees, trees)
def test_positions_stay_when_a_later_export_adds_nodes(choices, more):
    before, after = tree(choices), tree([*choices, *more])
    now = {step.key: step.position for step in walk(before, None)}
    later = {step.key: step.position for step in walk(after, None)}
    assert now.items() <= later.items()


@given(trees)
def test_links_of_one_direction_are_enough(choices):
    whole = tree(choices)
    current = list(whole)[-1]
    up = {key: {**node, "children": None} for key, node in whole.items()}
    down = {k: {x: y for x, y in n.items() if x != "parent"} for k, n in whole.items()}
    silent = {key: {**node, "parent": None} for key, node in whole.items()}
    expected = [(s.key, s.parent, s.on_path) for s in walk(whole, current)]
    for graph in (down, silent):
        assert [(s.key, s.parent, s.on_path) for s in walk(graph, current)] == expected
    assert sorted((s.key, s.on_path) for s in walk(up, current)) == sorted(
        (key, on_path) for key, _, on_path in expected
    )


def test_without_any_link_the_mapping_is_one_line():
    graph = {key: {"message": {}} for key in ("b", "a", "c")}
    assert [(s.key, s.on_path) for s in walk(graph, "a")] == [("b", True), ("a", True), ("c", True)]


@pytest.mark.parametrize(
    ("times", "shown"),
    [
        ({"x": 1, "y": 2}, "y"),
        ({"x": 2, "y": 1}, "x"),
        ({}, "y"),
        ({"x": float("nan")}, "y"),
        ({"x": "2.5", "y": 1}, "x"),
        ({"x": "late", "y": None}, "y"),
    ],
)
def test_without_a_current_node_the_leaf_made_last_is_shown(times, shown):
    graph = {"root": {"parent": None}}
    for key in ("x", "y"):
        graph[key] = {"parent": "root", "message": {"create_time": times.get(key)}}
    for current in (None, "nope", 7, ["x"]):
        assert [s.key for s in walk(graph, current) if s.on_path] == ["root", shown]


def test_a_long_conversation_needs_no_stack():
    graph = {str(i): {"parent": str(i - 1) if i else None} for i in range(50_000)}
    steps = list(walk(graph, "49999"))
    assert all(step.on_path for step in steps)
    assert [step.key for step in steps] == list(graph)


def test_a_ring_is_off_the_path_and_ends():
    graph = {
        "a": {"parent": None},
        "b": {"parent": "a"},
        "x": {"parent": "y"},
        "y": {"parent": "x"},
    }
    assert {s.key: s.on_path for s in walk(graph, "b")} == {
        "a": True,
        "b": True,
        "x": False,
        "y": False,
    }
    assert {s.key for s in walk(graph, "x") if s.on_path} == {"x", "y"}
