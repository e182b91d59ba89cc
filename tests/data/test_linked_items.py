import numpy as np
import polars as pl
import pytest

from walkstep.data.debates import generate_debates
from walkstep.data.linked_items import LinkedItems

ITEMS = {"id": [1, 2, 3], "label": ["x", "", "y"], "site": ["s", "s", "t"], "size": [1, 2, 3]}
LINKS = {"source": ["1", "2"], "target": ["2", "1"], "weight": [0.5, 1.0]}


def test_tables_become_items_and_links():
    linked = LinkedItems.from_frames(ITEMS, LINKS, group="site")
    assert linked.ids == (1, 2, 3)
    assert linked.labels == ("x", None, "y")
    assert (linked.n_items, linked.n_links, linked.n_known) == (3, 2, 2)
    assert linked.group.tolist() == [0, 0, 1]
    assert linked.is_grouped
    assert linked.ends.tolist() == [[0, 1], [1, 0]]  # ids are found whether they are numbers or strings
    assert linked.types == ("link", "link")
    assert (linked.texts, linked.link_texts) == (None, None)
    assert (linked.columns.columns, linked.link_columns.columns) == (["size"], ["weight"])
    assert LinkedItems.from_frames(ITEMS, LINKS, group="site", ignore=["size", "weight"]).columns.width == 0


def test_links_may_be_none_at_all():
    for links in (None, [], pl.DataFrame({"source": [], "target": []})):
        linked = LinkedItems.from_frames(ITEMS, links)
        assert (linked.n_links, linked.types, linked.ends.shape) == (0, (), (0, 2))


def test_lists_of_texts_are_joined():
    linked = LinkedItems.from_frames({"id": [1, 2], "text": [["one", "two"], None]})
    assert linked.texts == ("one\ntwo", "")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [([1.0, None, 2.0], (1, None, 2)), ([True, False, None], (True, False, None)), ([3, 4, 5], (3, 4, 5))],
)
def test_labels_may_be_numbers(labels, expected):
    assert LinkedItems.from_frames({"id": [1, 2, 3], "label": labels}).labels == expected


def test_joined_parts_keep_their_columns_apart():
    one = LinkedItems.from_frames({"id": [1], "text": ["hm"], "a": [1]})
    other = LinkedItems.from_frames({"id": [1, 2], "b": [2, 3]}, {"source": [1], "target": [2], "c": [4]})
    both = LinkedItems.joined([one, other, LinkedItems.from_frames({"id": [9]})])
    assert both.texts == ("hm", "", "", "")
    assert both.columns.rows() == [(1, None), (None, 2), (None, 3), (None, None)]
    assert both.link_columns.rows() == [(4,)]
    assert (both.ends.tolist(), both.group.tolist()) == ([[1, 2]], [0, 1, 1, 2])


@pytest.mark.parametrize(
    ("items", "links", "settings", "message"),
    [
        ({"id": [1, 1]}, None, {}, "column 'id' holds 1 in rows 0 and 1"),
        ({"id": [1, None]}, None, {}, "column 'id' is empty in row 1"),
        ({"name": [1]}, None, {}, "there is no column 'id'"),
        ({"id": [1], "label": [0.5]}, None, {}, "column 'label' holds 0.5 in row 0; labels are strings or whole"),
        ({"id": [1], "label": [["a"]]}, None, {}, "column 'label' is List.*; labels are strings or whole"),
        ({"id": [1, 2], "site": ["s", ""]}, None, {"group": "site"}, "column 'site' is empty in row 1"),
        (
            ITEMS,
            {"source": [1, 7], "target": [2, 1]},
            {},
            "column 'source' of the links names '7' in row 1, and no item",
        ),
        (ITEMS, {"source": [1], "target": [None]}, {}, "column 'target' of the links is empty in row 0"),
        (ITEMS, {"source": [2, 1], "target": [1, 1]}, {}, "row 1 of the links joins item 1 with itself; leave it out"),
        (ITEMS, {"source": [2], "target": [3]}, {"group": "site"}, "row 0 of the links joins 2 and 3, .* groups"),
        (ITEMS, {"from": [2], "target": [3]}, {}, "of the links: there is no column 'source'"),
        (ITEMS, {**LINKS, "type": ["a", ""]}, {}, "column 'type' of the links is empty in row 1"),
    ],
)
def test_what_cannot_be_linked_is_named(items, links, settings, message):
    with pytest.raises(ValueError, match=message):
        LinkedItems.from_frames(items, links, **settings)


def test_debates_are_the_same_for_a_seed():
    for one, other in zip(generate_debates(3, 5, seed=4), generate_debates(3, 5, seed=4), strict=True):
        assert one.equals(other)
    items, links = generate_debates(200, seed=0)
    linked = LinkedItems.from_frames(items, links, label="vote", group="debate")
    vote = np.array(linked.labels) == "for"
    agrees = vote[linked.ends[:, 0]] == vote[linked.ends[:, 1]]
    of_friends = np.array(["friend" in text for text in linked.link_texts])
    assert agrees[of_friends].mean() > 0.8
    assert 0.45 < vote.mean() < 0.55


@pytest.mark.parametrize(
    ("sizes", "message"), [((0, 5), "n_debates is 0"), ((1, 1), "n_members is 1"), ((1, 99), "99")]
)
def test_debates_of_no_size_are_refused(sizes, message):
    with pytest.raises(ValueError, match=message):
        generate_debates(*sizes)
