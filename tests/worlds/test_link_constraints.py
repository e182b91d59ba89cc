from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.compiled import compiled
from walkstep.inference.metropolis import metropolis
from walkstep.references import refer
from walkstep.worlds.base import delta, forbids
from walkstep.worlds.link_constraints import free_of_constraints, link_constraints
from walkstep.worlds.partition import partition_world, transfer
from walkstep.worlds.partition_proposers import block_guided, uniform_mention
from walkstep.worlds.randomness import stream
from walkstep.worlds.sparse import sparse_vector
from worlds.naive_partition import Toy, blocks_of

pytestmark = pytest.mark.xdist_group("partition")

BLOCKS = blocks_of(8, [[0, 1, 2, 3, 4], [3, 4, 5, 6, 7], [0, 7]])
PROPOSERS = {
    "uniform": uniform_mention(),
    "block": block_guided(BLOCKS, share_merge=0.0),
    "merge": block_guided(BLOCKS, share_merge=0.7),
    "swap": block_guided(BLOCKS, share_merge=0.1, share_swap=0.7),
    "several": block_guided(BLOCKS, share_merge=0.1, share_several=0.7),
}


@cache
def toy():
    return Toy(8)


@compiled(allocates=False)
def price(world, move, weights, phi):
    here = refer(world)
    return delta(here, move, weights, phi), forbids(here, move)


def n_broken(values, apart, source):
    """How many pairs are together that must not be."""
    broken = sum(values[i] == values[j] for i, j in apart)
    if source is not None:
        broken += sum(values[i] == values[j] for i, j in combinations(range(8), 2) if source[i] == source[j] >= 0)
    return broken


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda pair: pair[0] != pair[1]), max_size=6))
def test_atoms_are_the_closure_of_what_must_stay_together(pairs):
    held = link_constraints(8, together=pairs or None)
    name = list(range(8))
    for _ in range(8):
        for i, j in pairs:
            name[i] = name[j] = min(name[i], name[j])
    obeyed = held.obeyed_by(np.arange(8))
    assert [(obeyed[i] == obeyed[j]) for i, j in combinations(range(8), 2)] == [
        name[i] == name[j] for i, j in combinations(range(8), 2)
    ]
    if pairs:
        for a in range(len(held.atom_ptr) - 1):
            members = held.atom_members[held.atom_ptr[a] : held.atom_ptr[a + 1]]
            assert (held.atom_of[members] == a).all()


@pytest.mark.parametrize("kind", PROPOSERS)
@pytest.mark.parametrize("share", [1.0, 0.3])
def test_a_walk_never_breaks_a_constraint_even_by_a_sample(kind, share):
    together, apart, source = [(0, 3), (3, 6)], [(0, 1), (2, 5)], [0, 1, 2, -1, 1, 2, 1, -1]
    held = link_constraints(8, together=together, apart=apart, source=source)
    world = partition_world(toy().model, toy().comparisons, n_mentions=8, constraints=held, proposer=PROPOSERS[kind])
    sampler = metropolis(world, 0.05 * toy().weights, n_moves=5, share=share)
    state, rng = sampler.init(), stream(0)
    seen = set()
    for _ in range(300):
        state, _ = sampler.step(rng, state)
        assert n_broken(state.values, apart, source) == 0
        assert all(state.values[i] == state.values[j] for i, j in together)
        seen.add(tuple(state.values.tolist()))
    assert len(seen) > 20


@settings(max_examples=40)
@given(
    st.lists(st.integers(0, 3), min_size=8, max_size=8),
    st.lists(st.integers(-1, 2), min_size=8, max_size=8),
    st.integers(0, 7),
    st.integers(0, 7),
)
def test_moves_are_forbidden_that_break_and_urged_that_only_mend(assignment, source, mention, other):
    apart = [(0, 1), (2, 5), (1, 6)]
    held = link_constraints(8, apart=apart, source=source)
    world = partition_world(toy().model, toy().comparisons, n_mentions=8, assignment=assignment, constraints=held)
    slot = world.clusters.cluster_of
    if slot[mention] == slot[other]:
        return
    move = transfer(world, mention, int(slot[other]))
    change, is_forbidden = price(world, move, toy().weights, sparse_vector(toy().model.n_weights))
    mates = [m for m in range(8) if m != mention]

    def conflicts(cluster):
        return sum(
            slot[m] == cluster and (tuple(sorted((m, mention))) in apart or source[m] == source[mention] >= 0)
            for m in mates
        )

    assert is_forbidden == (conflicts(slot[other]) > 0)
    if is_forbidden:
        assert change == -np.inf
    elif conflicts(slot[mention]):
        assert change == np.inf
    else:
        after = np.array(assignment)
        after[mention] = assignment[other]
        assert change == pytest.approx(toy().score(after) - toy().score(assignment))


def test_a_walk_from_a_broken_start_mends_it():
    apart, source = [(0, 1), (2, 5)], [0, 1, 0, -1, 1, 2, 2, -1]
    held = link_constraints(8, apart=apart, source=source)
    world = partition_world(toy().model, toy().comparisons, n_mentions=8, assignment=[0] * 8, constraints=held)
    assert n_broken(world.values, apart, source) > 0
    sampler = metropolis(world, 0.05 * toy().weights, n_moves=2000)
    state, _ = sampler.step(stream(0), sampler.init())
    assert n_broken(state.values, apart, source) == 0
    assert sampler.score(state) == pytest.approx(0.05 * toy().score(state.values))


def test_a_start_is_made_to_hold_together_what_must():
    held = link_constraints(8, together=[[2, 5], [5, 7]])
    world = partition_world(toy().model, toy().comparisons, n_mentions=8, constraints=held)
    assert world.values.tolist() == [0, 1, 2, 3, 4, 2, 6, 2]


def test_nothing_is_held_by_default():
    assert all(len(array) <= 1 for array in free_of_constraints(8))
    assert link_constraints(8).obeyed_by(np.arange(8)).tolist() == list(range(8))


@pytest.mark.parametrize(
    ("held", "message"),
    [
        ({"together": [[0, 4]]}, r"together names the pair \[0, 4\]; give two different mentions from 0 to 3"),
        ({"apart": [[1, 1]]}, r"apart names the pair \[1, 1\]"),
        ({"apart": [[-1, 1]]}, r"apart names the pair \[-1, 1\]"),
        ({"source": [0, 1]}, r"source has shape \(2,\); give one for each of the 4 mentions"),
        ({"together": [[0, 1], [1, 2]], "apart": [[0, 2]]}, "mentions 0 and 2 must stay apart, but others tie them"),
        ({"together": [[1, 3]], "source": [0, 2, 1, 2]}, "mention 1 must stay together with another of its own"),
    ],
)
def test_constraints_that_cannot_be_are_named(held, message):
    with pytest.raises(ValueError, match=message):
        link_constraints(4, **held)
