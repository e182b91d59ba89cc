import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.subtrees import read_subtrees, subtrees_as_given
from walkstep.data.trees import Tree, tree_from, tree_from_paths

# Parents of nodes 1, 2, ...: any earlier node, or -1 for one more at the top.
PARENTS = st.lists(st.integers(0, 100), min_size=1, max_size=12).map(
    lambda numbers: [number % (k + 1) - 1 for k, number in enumerate(numbers)]
)
KINGDOMS = {"animal": {"dog": {"terrier": {}, "poodle": None}, "cat": []}, "plant": ("oak", "elm")}


def edges_of(parents):
    return [(None if above < 0 else f"n{above}", f"n{node}") for node, above in enumerate(parents)]


def ancestors(tree, node):
    while tree.parent[node] >= 0:
        node = int(tree.parent[node])
        yield node


def branch(tree, node):
    return [v for v in range(tree.n_nodes) if v == node or node in ancestors(tree, v)]


def random_values(tree, seed, n_rows=4):
    return np.random.default_rng(seed).integers(0, 2, (n_rows, tree.n_nodes))


def test_nested_dicts_give_a_tree_in_their_own_order():
    tree = tree_from(KINGDOMS)
    assert tree.names == ("", "animal", "dog", "terrier", "poodle", "cat", "plant", "oak", "elm")
    assert tree.parent.tolist() == [-1, 0, 1, 2, 2, 1, 0, 6, 6]
    assert tree.labels == tree.names[1:]
    assert tree.depth.tolist() == [0, 1, 2, 3, 3, 2, 1, 2, 2]
    assert tree.children(0).tolist() == [1, 6]
    assert tree.children(3).tolist() == []
    assert tree_from(tree) is tree


def test_a_single_node_at_the_top_is_the_root_and_a_label():
    tree = tree_from({"thing": KINGDOMS})
    assert tree.has_own_root
    assert tree.labels == tree.names == ("thing", *tree_from(KINGDOMS).labels)
    assert tree_from({"alone": {}}).is_leaf.tolist() == [True]
    assert tree_from_paths(["1/2", "1/3"]).has_own_root


EDGES = [("animal", "dog"), ("plant", "oak"), ("animal", "cat"), ("dog", "pug")]
COLUMNS = {"child": ["dog", "oak", "cat", "pug"], "parent": ["animal", "plant", "animal", "dog"]}


@pytest.mark.parametrize(
    "given_edges",
    [
        EDGES,
        iter(EDGES),
        [(None, "animal"), ("", "plant"), *EDGES],
        np.array(EDGES),
        pl.DataFrame(COLUMNS),
        pa.table(COLUMNS),
        pl.DataFrame(EDGES, schema=["over", "under"], orient="row"),
        pl.DataFrame([(None, "animal"), *EDGES], schema=["over", "under"], orient="row"),
        [*EDGES, EDGES[0]],
    ],
)
def test_edges_of_every_kind_give_the_same_tree(given_edges):
    assert tree_from(given_edges) == tree_from({"animal": {"dog": ["pug"], "cat": {}}, "plant": ["oak"]})


def test_siblings_keep_the_order_of_their_edges():
    assert tree_from([("b", "x"), ("a", "c"), ("a", "b"), ("a", "d")]).names == ("a", "c", "b", "x", "d")
    assert tree_from({"a": {"z", "y", "x"}}).names == ("a", "x", "y", "z")


def test_whole_numbers_name_nodes_too():
    frame = pl.DataFrame({"parent": [None, 1, 1], "child": [1, 2, 3]})
    assert tree_from(frame).names == tree_from({1: [2, 3]}).names == ("1", "2", "3")


def test_beginnings_of_paths_are_nodes():
    tree = tree_from_paths(["01/02/03", "01", "02", "01/04"])
    assert tree.names == ("", "01", "01/02", "01/02/03", "01/04", "02")
    assert tree_from_paths(["a.b", "a.c"], ".").names == ("a", "a.b", "a.c")


@given(PARENTS, st.randoms())
def test_nodes_are_in_preorder_whatever_the_order_of_edges(parents, random):
    edges = edges_of(parents)
    random.shuffle(edges)
    tree = tree_from(edges)
    assert sorted(tree.labels) == sorted(f"n{node}" for node in range(len(parents)))
    for node in range(tree.n_nodes):
        assert branch(tree, node) == list(range(node, tree.branch_end[node]))
        assert tree.depth[node] == len(list(ancestors(tree, node)))
        assert tree.children(node).tolist() == np.flatnonzero(tree.parent == node).tolist()
        assert tree.is_leaf[node] == (tree.n_children[node] == 0)
    for above, below in edges:
        found = tree.names[tree.parent[tree.find(below)]] if tree.parent[tree.find(below)] >= 0 else ""
        assert found == (above or "")


@given(PARENTS, st.integers(0, 10**6))
def test_closing_adds_all_ancestors_and_nothing_else(parents, seed):
    tree = tree_from(edges_of(parents))
    values = random_values(tree, seed)
    expected = values.copy()
    expected[:, 0] = 1
    for row in expected:
        for node in np.flatnonzero(row):
            row[list(ancestors(tree, int(node)))] = 1
    closed = tree.closed(values)
    assert closed.dtype == np.int8
    np.testing.assert_array_equal(closed, expected)
    np.testing.assert_array_equal(tree.closed(closed), closed)
    for specific in (False, True):
        sets = tree.label_sets(closed, most_specific=specific)
        np.testing.assert_array_equal(tree.indicators(sets), closed)
    for row, names in zip(closed, tree.label_sets(closed, most_specific=True), strict=True):
        chosen = {tree.names[node] for node in np.flatnonzero(row)}
        parents_of_chosen = {tree.names[tree.parent[tree.find(name)]] for name in chosen if name != tree.names[0]}
        assert set(names) == chosen - parents_of_chosen - {""}


@given(PARENTS, st.integers(0, 10**6), st.sampled_from(["sets", "texts", "matrix"]))
def test_every_form_of_classes_leads_back(parents, seed, form):
    tree = tree_from(edges_of(parents))
    closed = tree.closed(random_values(tree, seed))
    values, found = read_subtrees(subtrees_as_given(closed, tree, form), tree)
    assert found == form
    np.testing.assert_array_equal(values, closed)


@pytest.mark.parametrize(
    "classes",
    [
        [["dog"], ["plant", "cat"], []],
        [{"dog", "animal"}, frozenset({"cat", "plant"}), ()],
        pl.Series([["dog"], ["plant", "cat"], []]),
        ["dog", "plant @ cat", ""],
        np.array(["dog", "plant@cat", None], dtype=object),
        pl.DataFrame({"class": ["dog", "plant@animal@cat", None]}),
        [[0, 1, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 0, 0], [0] * 8],
        pl.DataFrame(
            {name: [name == "dog", name in ("cat", "plant"), False] for name in tree_from(KINGDOMS).labels[::-1]}
        ),
    ],
)
def test_classes_come_in_many_forms_and_ancestors_are_added(classes):
    values, _ = read_subtrees(classes, tree_from(KINGDOMS))
    expected = [[1, 1, 1, 0, 0, 0, 0, 0, 0], [1, 1, 0, 0, 0, 1, 1, 0, 0], [1, 0, 0, 0, 0, 0, 0, 0, 0]]
    assert values.tolist() == expected


def test_predictions_have_the_form_of_what_was_given():
    tree = tree_from(KINGDOMS)
    values = tree.indicators([["terrier", "oak"], []])
    assert subtrees_as_given(values, tree, "sets") == [("animal", "dog", "terrier", "plant", "oak"), ()]
    assert subtrees_as_given(values, tree, "texts").tolist() == ["terrier@oak", ""]
    assert subtrees_as_given(values, tree, "matrix").tolist() == [[1, 1, 1, 0, 0, 1, 1, 0], [0] * 8]


def test_trees_are_equal_by_names_and_parents():
    tree = tree_from({"a": {"b": ["c"]}})
    assert tree == Tree(("a", "b", "c"), np.array([-1, 0, 1]))
    assert tree != tree_from({"a": ["b", "c"]})
    assert len({tree, tree_from({"a": {"b": ["c"]}})}) == 1


def test_large_and_deep_trees_need_no_recursion():
    chain = tree_from([(f"n{k}", f"n{k + 1}") for k in range(50_000)])
    assert chain.depth[-1] == 50_000
    assert chain.closed(np.eye(1, 50_001, 50_000)).all()
    nested = {}
    for k in range(50_000):
        nested = {f"n{k}": nested}
    assert tree_from(nested).n_nodes == 50_000
    star = tree_from([("sun", f"n{k}") for k in range(100_000)])
    assert star.children(0).tolist() == list(range(1, 100_001))
