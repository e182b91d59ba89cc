"""Graphs as batches: what is laid out where, and what is refused."""

import numpy as np
import pytest

from walkstep.features.rows import SparseRows
from walkstep.inference.graph_batch import graph_batch
from walkstep.model import Factors, ground

EDGES = [[0, 1], [1, 2], [3, 4], [4, 5]]


def made(**more):
    graph, _ = ground([2] * 6, [Factors("edge", EDGES)])
    return graph_batch(graph, **more)


def test_documents_that_are_alike_are_copies_and_others_a_union():
    alike = made(truth=[0, 1, 1, 0, -1, 1], document_ptr=[0, 3, 6], weight=np.arange(6.0))
    assert alike.truth.tolist() == [[0, 0], [1, -1], [1, 1]]
    assert alike.weight.tolist() == [[0.0, 3.0], [1.0, 0.0], [2.0, 5.0]]
    assert alike.has_latent
    union = made(truth=[0, 1, 1, 0, 0, 1])
    assert (union.n_copies, union.n_documents, union.has_latent) == (1, 1, False)
    assert made().weight.sum() == 0.0


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"truth": [0, 1, 2, 0, 0, 0]}, "the truth of variable 2 is 2; its values are 0 to 1, and -1 says"),
        ({"truth": [0, 1, -2, 0, 0, 0]}, "the truth of variable 2 is -2"),
        ({"truth": [0, 1, np.nan, 0, 0, 0]}, "the truth of variable 2 is nan"),
        ({"truth": [0, 1]}, r"truth has shape \(2,\); give \(6,\)"),
        ({"weight": [1.0, -1.0, 1.0, 1.0, 1.0, 1.0]}, "the weight of variable 1 is -1.0; give 0 or more"),
        ({"weight": [1.0]}, r"weight has shape \(1,\); give \(6,\)"),
        ({"document_ptr": [0, 3, 5]}, "rising numbers from 0 to the number of variables, 6"),
        ({"document_ptr": [0, 2, 6]}, r"factor 1 joins variables \[1, 2\], of documents 0 and 1; make them one"),
    ],
)
def test_what_does_not_fit_the_graph_is_named(more, said):
    with pytest.raises(ValueError, match=said):
        made(**more)


def test_features_that_are_not_finite_are_named():
    rows = SparseRows(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32), np.array([1.0, 2.0, np.nan]), 2)
    graph, _ = ground([2, 2], [Factors("site", [[0], [1]], features=rows)])
    with pytest.raises(ValueError, match="feature 1 of sparse row 1 is nan; fill or drop what is not a finite number"):
        graph_batch(graph, [0, 1])
