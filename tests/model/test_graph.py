import subprocess
import sys

import numpy as np

import walkstep.model
from walkstep.data.sequences import Sequences
from walkstep.features.rows import rows_from_dense
from walkstep.model import Domain, Factors, Grounding, ground, linear_chain
from walkstep.model.score import score, statistics

DENSE = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0], [0.0, 0.5, 0.0]])
EDGES = [[0, 1], [1, 2]]


def both(site_rows, edge_rows, between):
    groups = [Factors("site", np.arange(3)[:, None], site_rows), between, Factors("edge", EDGES, edge_rows, [2, 0])]
    return ground([2, 2, 2], groups)


def test_groups_that_read_one_matrix_store_it_once():
    rows = rows_from_dense(DENSE)
    other = Factors("other", [[0], [1], [2]], rows_from_dense(DENSE[::-1]))
    shared, layout = both(rows, rows, other)
    apart, _ = both(rows, rows_from_dense(DENSE), other)
    assert (len(shared.row_ptr), len(shared.row_index)) == (7, 8)
    assert (len(apart.row_ptr), len(apart.row_index)) == (10, 12)
    rng = np.random.default_rng(0)
    weights = rng.normal(size=layout.size)
    for values in rng.integers(0, 2, (8, 3)):
        np.testing.assert_array_equal(statistics(shared, values), statistics(apart, values))
        assert score(shared, weights, values) == score(apart, weights, values)


def test_templates_of_the_same_features_share_their_rows():
    corpus = Sequences.from_lists([["a", "b", "a"], ["b", "c"]])
    graph, _ = Grounding(linear_chain(["word"], edge_features=["word"])).fit_ground(corpus, Domain("tag", ("O", "X")))
    assert len(graph.row_index) == corpus.n_tokens


def test_every_public_name_is_found_and_the_parser_waits():
    assert all(hasattr(walkstep.model, name) for name in walkstep.model.__all__)
    code = "import sys; from walkstep.model import Grounding, Template; assert 'lark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
