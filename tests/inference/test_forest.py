"""Exact inference on forests, against enumeration of all worlds."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from walkstep.features.rows import SparseRows
from walkstep.inference import Constraints, forest, k_best, marginals, viterbi
from walkstep.inference._kernels.viterbi import viterbi_chains
from walkstep.model import Factors, ground
from walkstep.model.score import score

EXAMPLES = settings(max_examples=60, deadline=None)
SEEDS = st.integers(0, 2**32 - 1)


# --- random graphs, and the enumeration that answers are held against ----------------------------------------


def random_factors(rng, name, scope, sizes, forbid):
    """One factor over a scope: fixed, bare, or with features of any kind."""
    shape = tuple(int(sizes[v]) for v in scope)
    kind = rng.choice(["bare", "fixed", "binary", "real", "dense"])
    if kind == "bare":
        return Factors(name, [scope])
    if kind == "fixed":
        table = rng.normal(size=shape)
        table[rng.random(shape) < forbid] = -np.inf
        return Factors(name, [scope], fixed=table)
    if kind == "dense":
        return Factors(name, [scope], features=rng.normal(size=(1, 2)), bias=bool(rng.integers(2)))
    index = rng.permutation(7)[: rng.integers(0, 7)].astype(np.int32)
    value = rng.normal(size=len(index)) if kind == "real" else np.zeros(0)
    rows = SparseRows(np.array([0, len(index)]), index, value, 7)
    return Factors(name, [scope], features=rows, bias=bool(rng.integers(2)))


def random_forest(seed, n_variables, forbid=0.1):
    """A graph without cycles: mixed domains, arities 1 to 3, parallel factors and factors within others."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 4, n_variables)
    component = np.arange(n_variables)
    scopes = []
    for _ in range(2 * n_variables):
        scope = rng.permutation(n_variables)[: rng.integers(2, 4)]
        joined = component[scope]
        if len(scope) > 1 and len(set(joined)) == len(scope):
            component[np.isin(component, joined)] = joined[0]
            scopes.append(scope)
    for scope in list(scopes):
        scopes.extend(rng.permutation(scope)[: rng.integers(1, len(scope) + 1)] for _ in range(2))
    scopes += [[v] for v in range(n_variables) if rng.random() < 0.7]
    order = rng.permutation(len(scopes))
    groups = [random_factors(rng, f"f{i}", np.array(scopes[i]), sizes, forbid) for i in order]
    graph, layout = ground(sizes, groups)
    clamp = np.where(rng.random(n_variables) < 0.2, rng.integers(0, sizes), -1)
    return graph, 2.0 * rng.normal(size=layout.size), len(set(component)), clamp


def enumerate_worlds(graph, weights, clamp=None):
    """Every world that is allowed, and its score."""
    held = np.full(graph.n_variables, -1) if clamp is None else clamp
    choices = [range(n) if value < 0 else [value] for n, value in zip(graph.n_values, held, strict=True)]
    worlds = np.array(list(product(*choices)), dtype=np.int32).reshape(-1, graph.n_variables)
    scores = np.array([score(graph, weights, world) for world in worlds])
    return worlds[scores > -np.inf], scores[scores > -np.inf]


def log_sum(scores):
    return scores.max() + np.log(np.exp(scores - scores.max()).sum())


def random_chains(seed, lengths, K, with_words=False):
    """Sentences of tokens with binary features, and where each begins."""
    rng = np.random.default_rng(seed)
    ptr = np.concatenate([[0], np.cumsum(lengths)])
    n = int(ptr[-1])
    counts = rng.integers(0, 7, n)
    index = np.concatenate([rng.permutation(11)[:c] for c in counts] or [[]]).astype(np.int32)
    rows = SparseRows(np.concatenate([[0], np.cumsum(counts)]), index, np.zeros(0), 11)
    right = np.setdiff1d(np.arange(n), ptr)
    pairs = np.stack([right - 1, right], axis=1)
    groups = [Factors("emission", np.arange(n)[:, None], features=rows)]
    if len(pairs):
        groups.append(Factors("transition", pairs))
        if with_words:
            groups.append(Factors("word", pairs, features=rows, rows=right))
    graph, layout = ground(np.full(n, K), groups)
    return graph, layout, rng.normal(size=layout.size), ptr


def random_constraints(seed, K):
    rng = np.random.default_rng(seed)
    everywhere = np.arange(K) == 0  # the first value may stand anywhere, as O may
    return Constraints(
        (rng.random(K) < 0.5) | everywhere,
        (rng.random((K, K)) < 0.5) | everywhere | everywhere[:, None],
        (rng.random(K) < 0.5) | everywhere,
    )


def obeys(world, constraints):
    return bool(
        constraints.start[world[0]]
        and constraints.end[world[-1]]
        and np.asarray(constraints.transition)[world[:-1], world[1:]].all()
    )


# --- any forest ----------------------------------------------------------------------------------------------


@EXAMPLES
@given(SEEDS, st.integers(1, 5), st.booleans())
def test_viterbi_matches_enumeration(seed, n_variables, is_clamped):
    graph, weights, n_trees, clamp = random_forest(seed, n_variables)
    clamp = clamp if is_clamped else None
    worlds, scores = enumerate_worlds(graph, weights, clamp)
    plan = forest(graph)
    assert plan.n_trees == n_trees
    if not len(worlds):
        with pytest.raises(ValueError, match="no world that is allowed"):
            viterbi(plan, weights, clamp=clamp)
        return
    best = viterbi(plan, weights, clamp=clamp)
    assert best.score == pytest.approx(scores.max(), abs=1e-9)
    assert score(graph, weights, best.values) == pytest.approx(scores.max(), abs=1e-9)
    if clamp is not None:
        assert (best.values[clamp >= 0] == clamp[clamp >= 0]).all()


@EXAMPLES
@given(SEEDS, st.integers(1, 5), st.booleans())
def test_marginals_and_log_partition_match_enumeration(seed, n_variables, is_clamped):
    graph, weights, _, clamp = random_forest(seed, n_variables)
    clamp = clamp if is_clamped else None
    worlds, scores = enumerate_worlds(graph, weights, clamp)
    plan = forest(graph)
    if not len(worlds):
        with pytest.raises(ValueError, match="no world that is allowed"):
            marginals(plan, weights, clamp=clamp)
        return
    found = marginals(plan, weights, clamp=clamp, joints=True)
    assert found.log_partition == pytest.approx(log_sum(scores), abs=1e-10)
    assert found.log_partition_of_tree.sum() == pytest.approx(found.log_partition, abs=1e-12)
    p = np.exp(scores - log_sum(scores))
    flat = found.probabilities.ravel()
    for v in range(n_variables):
        own = flat[found.value_ptr[v] : found.value_ptr[v + 1]]
        np.testing.assert_allclose(own, np.bincount(worlds[:, v], p, graph.n_values[v]), atol=1e-10)
        assert own.sum() == pytest.approx(1.0, abs=1e-10)
    joints = found.joints.ravel()
    for c in range(plan.n_cliques):
        scope = plan.clique_variables[plan.clique_ptr[c] : plan.clique_ptr[c + 1]]
        shape = tuple(graph.n_values[scope])
        expected = np.zeros(shape)
        np.add.at(expected, tuple(worlds[:, scope].T), p)
        own = joints[plan.table_ptr[c] : plan.table_ptr[c + 1]].reshape(shape)
        np.testing.assert_allclose(own, expected, atol=1e-10)
    without = marginals(plan, weights, clamp=clamp)
    assert without.joints is None
    np.testing.assert_array_equal(without.probabilities, found.probabilities)


@EXAMPLES
@given(SEEDS, st.integers(1, 5), st.integers(1, 12), st.booleans())
def test_k_best_of_each_tree_matches_sorted_enumeration(seed, n_variables, k, is_clamped):
    graph, weights, _, clamp = random_forest(seed, n_variables)
    clamp = clamp if is_clamped else None
    worlds, scores = enumerate_worlds(graph, weights, clamp)
    plan = forest(graph)
    if not len(worlds):
        with pytest.raises(ValueError, match="no world that is allowed"):
            k_best(plan, weights, k, clamp=clamp)
        return
    found = k_best(plan, weights, k, clamp=clamp)
    best = worlds[scores.argmax()]
    for t in range(plan.n_trees):
        # The worlds of a tree are those where all else stands as in the best world.
        tree = plan.tree(t)
        others = np.setdiff1d(np.arange(n_variables), tree)
        is_own = (worlds[:, others] == best[others]).all(axis=1)
        expected = np.sort(scores[is_own])[::-1][:k]
        n = found.counts[t]
        assert n == len(expected)
        rest = scores.max() - found.scores[0, t]
        np.testing.assert_allclose(found.scores[:n, t] + rest, expected, atol=1e-9)
        assert (found.scores[n:, t] == -np.inf).all()
        assert (found.values[n:, tree] == -1).all()
        assert len(np.unique(found.values[:n, tree], axis=0)) == n
        for r in range(n):
            world = best.copy()
            world[tree] = found.values[r, tree]
            assert score(graph, weights, world) == pytest.approx(found.scores[r, t] + rest, abs=1e-9)


@EXAMPLES
@given(SEEDS, st.integers(2, 7), st.integers(0, 9))
def test_cycles_are_found_and_a_variable_on_one_is_named(seed, n_variables, n_edges):
    rng = np.random.default_rng(seed)
    pairs = [rng.permutation(n_variables)[:2] for _ in range(n_edges)]
    edges = {frozenset(pair.tolist()) for pair in pairs}

    def is_reached(source, target, without):
        seen, todo = {source}, [source]
        while todo:
            v = todo.pop()
            for edge in edges - {without}:
                if v in edge:
                    todo.extend(edge - seen)
                    seen |= edge
        return target in seen

    on_cycle = {v for edge in edges if is_reached(*edge, edge) for v in edge}
    graph, _ = ground(np.full(n_variables, 2), [Factors("edge", pairs)] if pairs else [])
    if not on_cycle:
        assert forest(graph).n_trees == n_variables - len(edges)
        return
    with pytest.raises(ValueError, match=r"cycle.*Gibbs sampling or annealing") as error:
        forest(graph)
    assert int(str(error.value).split()[1]) in on_cycle


def test_triples_that_share_two_variables_are_a_cycle():
    graph, _ = ground([2] * 4, [Factors("triple", [[0, 1, 2], [1, 2, 3]])])
    with pytest.raises(ValueError, match="variable 2 is on a cycle"):
        forest(graph)


def test_a_graph_without_factors_or_variables_is_a_forest():
    graph, _ = ground([3, 2], [])
    assert viterbi(graph, np.zeros(0)).values.tolist() == [0, 0]
    assert marginals(graph, np.zeros(0)).log_partition == pytest.approx(np.log(6))
    assert k_best(graph, np.zeros(0), 5).counts.tolist() == [3, 2]
    nothing, _ = ground([], [])
    assert viterbi(nothing, np.zeros(0)).score == 0.0
    assert marginals(nothing, np.zeros(0)).log_partition == 0.0


# --- chains --------------------------------------------------------------------------------------------------


@EXAMPLES
@given(SEEDS, st.lists(st.integers(1, 4), min_size=1, max_size=3), st.integers(1, 3), st.booleans(), st.booleans())
def test_constrained_chains_match_enumeration(seed, lengths, K, with_words, is_constrained):
    graph, _, weights, ptr = random_chains(seed, lengths, K, with_words)
    constraints = random_constraints(seed, K) if is_constrained else None
    plan = forest(graph)
    assert plan.is_chain
    assert plan.tree_ptr.tolist() == ptr.tolist()
    assert plan.is_uniform == (plan.n_cliques > 0 and not with_words)
    best = viterbi(plan, weights, constraints=constraints)
    found = marginals(plan, weights, constraints=constraints, joints=True)
    several = k_best(plan, weights, 4, constraints=constraints)
    log_partition = 0.0
    for s, (first, last) in enumerate(pairwise(ptr)):
        # One sentence at a time, the others held: all scores are counted from the best world.
        held = best.values.copy()
        held[first:last] = -1
        worlds, scores = enumerate_worlds(graph, weights, held)
        if constraints is not None:
            allowed = np.array([obeys(world[first:last], constraints) for world in worlds])
            worlds, scores = worlds[allowed], scores[allowed]
        assert best.score == pytest.approx(scores.max(), abs=1e-9)
        falling = np.sort(scores - best.score)[::-1][:4]
        n = several.counts[s]
        np.testing.assert_allclose(several.scores[:n, s] - several.scores[0, s], falling, atol=1e-9)
        p = np.exp(scores - log_sum(scores))
        for v in range(first, last):
            expected = np.bincount(worlds[:, v], p, K)
            np.testing.assert_allclose(found.probabilities[v], expected, atol=1e-10)
            if v + 1 < last:
                expected = np.bincount(worlds[:, v] * K + worlds[:, v + 1], p, K * K)
                np.testing.assert_allclose(found.joints[v - s].ravel(), expected, atol=1e-10)
        log_partition += log_sum(scores) - best.score
    assert found.log_partition == pytest.approx(log_partition + best.score, abs=1e-9)


@EXAMPLES
@given(SEEDS, st.integers(1, 20), st.booleans())
def test_chain_path_and_forest_path_agree(seed, K, is_clamped):
    lengths = np.random.default_rng(seed).integers(1, 9, 6)
    graph, _, weights, ptr = random_chains(seed, lengths, K)
    plan = forest(graph)
    constraints = random_constraints(seed, K)
    clamp = np.where(np.arange(graph.n_variables) % 3 == 0, 0, -1) if is_clamped else None
    fast = viterbi(plan, weights, constraints=constraints, clamp=clamp)
    slow = viterbi(plan._replace(is_uniform=False), weights, constraints=constraints, clamp=clamp)
    assert fast.values.tolist() == slow.values.tolist()
    assert fast.score == pytest.approx(slow.score)
    assert fast.score == pytest.approx(score(graph, weights, fast.values))
    for first, last in pairwise(ptr):
        assert obeys(fast.values[first:last], constraints)


def test_a_transition_written_backwards_is_transposed():
    table = np.arange(9.0).reshape(3, 3)
    ahead, _ = ground([3, 3, 3], [Factors("t", [[0, 1], [1, 2]], fixed=table)])
    back, _ = ground([3, 3, 3], [Factors("t", [[1, 0], [2, 1]], fixed=table.T)])
    assert forest(back).is_uniform
    assert viterbi(ahead, np.zeros(0)).values.tolist() == viterbi(back, np.zeros(0)).values.tolist()
    assert viterbi(ahead, np.zeros(0)).score == viterbi(back, np.zeros(0)).score == 16.0


def test_chains_with_numbers_and_a_bias_are_decoded_exactly():
    rng = np.random.default_rng(0)
    index = np.concatenate([rng.permutation(5)[:3] for _ in range(8)]).astype(np.int32)
    rows = SparseRows(np.arange(0, 25, 3), index, rng.normal(size=24), 5)
    pairs = [[i, i + 1] for i in range(7) if i != 4]
    graph, layout = ground(
        np.full(8, 3), [Factors("u", np.arange(8)[:, None], features=rows, bias=True), Factors("t", pairs)]
    )
    weights = rng.normal(size=layout.size)
    worlds, scores = enumerate_worlds(graph, weights)
    assert forest(graph).is_uniform
    best = viterbi(graph, weights)
    assert best.values.tolist() == worlds[scores.argmax()].tolist()
    assert best.score == pytest.approx(scores.max())


def test_sentences_without_transitions_obey_constraints_when_told_where_they_are():
    graph, layout = ground([2, 2, 2, 2], [Factors("u", [[0], [1], [2], [3]])])
    weights = np.array([0.0, 1.0])
    constraints = Constraints([True, False], [[True, False], [True, True]], [True, True])
    assert layout.size == 2
    plan = forest(graph, sentence_ptr=[0, 3, 4])
    assert viterbi(plan, weights, constraints=constraints).values.tolist() == [0, 0, 0, 0]
    assert viterbi(plan, weights).values.tolist() == [1, 1, 1, 1]


def test_a_tagger_never_emits_an_illegal_tag_however_much_the_weights_want_it():
    tags = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    legal = np.array([[b[0] != "I" or a[2:] == b[2:] for b in tags] for a in tags])
    constraints = Constraints(np.array([tag[0] != "I" for tag in tags]), legal, np.ones(5, bool))
    graph, _, weights, ptr = random_chains(3, np.arange(1, 30), 5)
    weights = 50.0 * weights
    assert not all(obeys(viterbi(graph, weights).values[a:b], constraints) for a, b in pairwise(ptr))
    best = viterbi(graph, weights, constraints=constraints).values
    several = k_best(graph, weights, 3, constraints=constraints)
    for s, (a, b) in enumerate(pairwise(ptr)):
        assert obeys(best[a:b], constraints)
        assert all(obeys(several.values[r, a:b], constraints) for r in range(several.counts[s]))
    joints = marginals(graph, weights, constraints=constraints, joints=True).joints
    assert (joints[:, ~legal] == 0.0).all()


def test_long_chains_with_large_scores_neither_overflow_nor_recurse():
    n, K = 100_000, 3
    graph, layout, weights, _ = random_chains(0, [n], K)
    weights = 1000.0 * weights
    best = viterbi(graph, weights)
    found = marginals(graph, weights)
    assert np.isfinite(found.log_partition)
    assert found.log_partition >= best.score
    assert found.log_partition <= best.score + n * np.log(K)
    np.testing.assert_allclose(found.probabilities.sum(axis=1), 1.0, atol=1e-10)
    assert k_best(graph, weights, 2).scores[0, 0] == pytest.approx(best.score)
    # As many variables in a shuffled chain and in a star, where nothing is consecutive.
    order = np.random.default_rng(0).permutation(n)
    shuffled, _ = ground(np.full(n, K), [Factors("transition", np.stack([order[:-1], order[1:]], axis=1))])
    star, _ = ground(np.full(n, K), [Factors("transition", np.stack([np.zeros(n - 1, int), np.arange(1, n)], axis=1))])
    transition = layout.view(weights, "transition").ravel()
    for other in (shuffled, star):
        assert forest(other).n_trees == 1
        assert viterbi(other, transition).score <= marginals(other, transition).log_partition


def test_scores_far_below_zero_still_normalise():
    pairs = [[0, 1], [1, 2]]
    table = np.array([[-1e6, -np.inf], [-1e6 - 1.0, -1e9]])
    graph, _ = ground([2, 2, 2], [Factors("t", pairs, fixed=table)])
    worlds, scores = enumerate_worlds(graph, np.zeros(0))
    found = marginals(graph, np.zeros(0))
    assert found.log_partition == pytest.approx(log_sum(scores), abs=1e-8)
    p = np.exp(scores - log_sum(scores))
    np.testing.assert_allclose(found.probabilities[:, 1], p @ worlds, atol=1e-9)


def test_frozen_arrays_need_no_second_compilation():
    graph, _, weights, _ = random_chains(0, [3], 2)
    values = viterbi(graph, weights).values
    n_compiled = len(viterbi_chains.signatures)
    weights.flags.writeable = False
    assert viterbi(graph, weights, clamp=values).values.tolist() == values.tolist()
    assert len(viterbi_chains.signatures) == n_compiled


# --- bad input -----------------------------------------------------------------------------------------------


def test_a_sentence_without_any_allowed_world_is_named():
    graph, _, weights, _ = random_chains(0, [2, 3], 2)
    none = Constraints([True, True], [[False, True], [False, False]], [True, True])
    for answer in (viterbi, marginals, lambda *a, **k: k_best(*a, 2, **k)):
        with pytest.raises(ValueError, match=r"sentence 1 \(variables 2 to 4\) has no world"):
            answer(graph, weights, constraints=none)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("at", [0, 22])
def test_weights_that_are_no_numbers_are_named(bad, at):
    graph, _, weights, _ = random_chains(0, [20, 30], 2)
    weights[at] = bad
    for answer in (viterbi, marginals, lambda *a: k_best(*a, 2)):
        with pytest.raises(ValueError, match=rf"weights\[{at}\] is {bad}"):
            answer(graph, weights)


def test_wrong_arguments_are_named_with_the_way_out():
    graph, _, weights, _ = random_chains(0, [2, 3], 2)
    free = Constraints([True] * 2, [[True] * 2] * 2, [True] * 2)
    with pytest.raises(ValueError, match=r"weights have shape \(3,\); this graph takes \(26,\)"):
        viterbi(graph, np.zeros(3))
    with pytest.raises(ValueError, match=r"clamp has shape \(2,\)"):
        viterbi(graph, weights, clamp=[0, 1])
    with pytest.raises(ValueError, match="clamp holds variable 4 at 2, but it has values 0 to 1"):
        marginals(graph, weights, clamp=[-1, -1, -1, -1, 2])
    with pytest.raises(ValueError, match=r"constraints.end has shape \(3,\)"):
        viterbi(graph, weights, constraints=free._replace(end=[True] * 3))
    with pytest.raises(ValueError, match="constraints are for chains"):
        viterbi(ground([2] * 3, [Factors("star", [[0, 2], [1, 2]])])[0], np.zeros(4), constraints=free)
    with pytest.raises(ValueError, match="k is 0; ask for at least 1"):
        k_best(graph, weights, 0)
    with pytest.raises(ValueError, match="sentence_ptr must rise from 0 to 5"):
        forest(graph, sentence_ptr=[0, 4])
