"""Binary pairwise graphs as Boltzmann machines: a bias for every variable, a coupling for every pair.

Any graph whose variables have two values and whose factors join at most two of them comes to the form
``log odds of variable v = bias[v] + sum of coupling[v, u] * value[u]``. Sites are laid out in blocks that share
colour and shape, neighbours slot by slot, so that the loop over a block's sites is straight. Where weights
are tied, a site's log odds take few distinct values: its neighbours are then only counted, and the chance
of each count is looked up.
"""

from typing import NamedTuple

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray

from walkstep.compiled import compiled
from walkstep.inference.potentials import Potentials
from walkstep.worlds.randomness import below, next_word, uniform

MAX_TYPES = 64
MAX_TABLE = 4096
CHUNK = 256

_GAMMA = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)


class Boltzmann(NamedTuple):
    """Log odds of each variable, in order of variables: pairs of a neighbour and its coupling."""

    bias: NDArray[np.float64]  # (V,)
    ptr: NDArray[np.int64]  # (V+1,) the neighbours of v are at ptr[v]:ptr[v+1] of
    neighbour: NDArray[np.int32]  # and, in the same place,
    coupling: NDArray[np.float64]


class Blocks(NamedTuple):
    """The same machine for whole sweeps: sites in order of visit, block after block.

    Site ``first[b] + i`` of block ``b`` has its k-th neighbour at ``neighbour[edge[b] + k * size[b] + i]``, a position
    in the same order. Tied blocks read the chance of value 1 from ``log_odds[table[b] + code]``, where ``code``
    adds ``stride[slot[b] + k]`` for each k-th neighbour that is 1.
    """

    order: NDArray[np.int32]  # (V,) the variable at each position; those held come last
    first: NDArray[np.int64]  # (B,)
    size: NDArray[np.int64]  # (B,)
    degree: NDArray[np.int64]  # (B,)
    edge: NDArray[np.int64]  # (B,)
    neighbour: NDArray[np.uint32]  # unsigned: loops need not look for indices that count from the end
    coupling: NDArray[np.float64]  # beside neighbour; empty where tied
    bias: NDArray[np.float64]  # (V,) by position; empty where tied
    slot: NDArray[np.int64]  # (B,)
    stride: NDArray[np.uint32]
    table: NDArray[np.int64]  # (B,)
    log_odds: NDArray[np.float64]
    colour_block: NDArray[np.int64]  # (C+1,) colour c has blocks colour_block[c]:colour_block[c+1]
    is_tied: bool

    @property
    def n_free(self) -> int:
        """How many sites a sweep visits."""
        return int(self.size.sum())


def boltzmann(held: Potentials) -> Boltzmann | None:
    """The Boltzmann form of a graph, or None where it has none.

    It has none where a variable has not two values, a factor joins more than two, or a score is infinite.

    Examples
    --------
    >>> from walkstep.inference.potentials import potentials
    >>> from walkstep.model import Factors, ground
    >>> graph, _ = ground([2, 2], [Factors("edge", [[0, 1]])])
    >>> machine = boltzmann(potentials(graph, np.array([1.0, 0.0, 0.0, 2.0])))
    >>> machine.bias, machine.coupling
    (array([-1., -1.]), array([3., 3.]))
    """
    graph = held.graph
    arity = np.diff(graph.factor_ptr)
    binary = bool((graph.n_values == 2).all()) and (len(arity) == 0 or int(arity.max()) <= 2)
    if not binary or not np.isfinite(held.table).all():
        return None
    n = graph.n_variables
    start = graph.factor_ptr[:-1]
    unary, pair = np.flatnonzero(arity == 1), np.flatnonzero(arity == 2)
    at, table = held.table_ptr, held.table
    site = graph.factor_variables[start[unary]]
    bias = np.zeros(n)  # bincount of nothing would be whole numbers
    bias += np.bincount(site, table[at[unary] + 1] - table[at[unary]], minlength=n)
    a, b = graph.factor_variables[start[pair]], graph.factor_variables[start[pair] + 1]
    t00, t01, t10, t11 = (table[at[pair] + cell] for cell in range(4))
    bias += np.bincount(a, t10 - t00, minlength=n) + np.bincount(b, t01 - t00, minlength=n)
    coupling = (t11 - t10) - (t01 - t00)
    rows, columns = np.concatenate([a, b]), np.concatenate([b, a])
    # Going to compressed rows adds up the couplings of a pair that several factors join.
    matrix = scipy.sparse.coo_array((np.concatenate([coupling, coupling]), (rows, columns)), shape=(n, n)).tocsr()
    matrix.eliminate_zeros()
    return Boltzmann(
        bias, matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32), matrix.data.astype(np.float64)
    )


def blocks(machine: Boltzmann, colour: NDArray[np.int32], *, max_types: int = MAX_TYPES) -> Blocks:
    """Lay a machine out for sweeps, colour by colour; variables of colour -1 are held.

    Log odds are looked up where there are at most ``max_types`` types of sites, and added up elsewhere.

    Examples
    --------
    >>> ring = Boltzmann(
    ...     np.zeros(4),
    ...     np.arange(0, 9, 2),
    ...     np.array([1, 3, 0, 2, 1, 3, 0, 2], np.int32),
    ...     np.full(8, 0.5),
    ... )
    >>> laid_out = blocks(ring, np.array([0, 1, 0, 1], np.int32))
    >>> laid_out.order, laid_out.is_tied, laid_out.log_odds
    (array([0, 2, 1, 3], dtype=int32), True, array([0. , 0.5, 1. ]))
    """
    shape = _shapes(machine, max_types)
    free = np.flatnonzero(colour >= 0)
    order = free[np.lexsort((shape.kind[free], colour[free]))]
    key = np.stack([colour[order], shape.kind[order]])
    first = np.flatnonzero((key != np.roll(key, 1, axis=1)).any(axis=0))
    first = np.union1d(first, [0])[: len(order)]  # rolled round, a single block looks the same everywhere
    size = np.diff(np.append(first, len(order)))
    example = order[first]  # any site of each block
    degree, kind = np.diff(machine.ptr)[example], shape.kind[example]
    order = np.concatenate([order, np.flatnonzero(colour < 0)]).astype(np.int32)
    edge = np.concatenate([[0], np.cumsum(size * degree)])
    neighbour, coupling = _fill(machine, shape.neighbour, order, first, size, degree, edge, not shape.is_tied)
    none = np.zeros(len(size), np.int64)
    return Blocks(
        order=order,
        first=first.astype(np.int64),
        size=size.astype(np.int64),
        degree=degree.astype(np.int64),
        edge=edge[:-1].astype(np.int64),
        neighbour=neighbour,
        coupling=coupling,
        bias=np.zeros(0) if shape.is_tied else machine.bias[order],
        slot=shape.slot[kind] if shape.is_tied else none,
        stride=shape.stride,
        table=shape.table[kind] if shape.is_tied else none,
        log_odds=shape.log_odds,
        colour_block=np.searchsorted(colour[example], np.arange(colour.max(initial=-1) + 2)).astype(np.int64),
        is_tied=shape.is_tied,
    )


class _Shapes(NamedTuple):
    """What sites of one block have in common."""

    kind: NDArray[np.int64]  # (V,) the same for sites that may share a block
    neighbour: NDArray[np.int32]  # the machine's, each site's sorted by class of coupling where tied
    slot: NDArray[np.int64]  # by kind, as in Blocks; empty where not tied, as are
    stride: NDArray[np.uint32]
    table: NDArray[np.int64]
    log_odds: NDArray[np.float64]
    is_tied: bool


def _shapes(machine: Boltzmann, max_types: int) -> _Shapes:
    """Sort sites into kinds: by what their log odds can be if those are few, else by their degree."""
    values, class_of_edge = np.unique(machine.coupling, return_inverse=True)
    if len(values) <= max_types:
        neighbour, classes, kind, examples = _types(machine, class_of_edge.astype(np.int32), max_types)
        if len(examples):
            stride, slot, log_odds, table = _tables(machine, classes, values, examples)
            return _Shapes(kind, neighbour, slot, stride, table, log_odds, True)
    none = np.zeros(0, np.int64)
    return _Shapes(np.diff(machine.ptr), machine.neighbour, none, np.zeros(0, np.uint32), none, np.zeros(0), False)


@compiled
def _types(machine, class_of_edge, max_types):
    """Sort each site's neighbours by class of coupling; number sites that then look the same alike.

    Returns the sorted neighbours and classes, each site's type, and a site of each type: none where there are
    more types than are worth a block each.
    """
    n = len(machine.bias)
    neighbour, classes = machine.neighbour.copy(), class_of_edge.copy()
    type_of_site = np.zeros(n, np.int64)
    example = np.zeros(max_types, np.int64)
    n_types = 0
    last = 0
    for v in range(n):
        first, end = machine.ptr[v], machine.ptr[v + 1]
        for e in range(first + 1, end):
            c, u = classes[e], neighbour[e]
            at = e
            while at > first and classes[at - 1] > c:
                classes[at], neighbour[at] = classes[at - 1], neighbour[at - 1]
                at -= 1
            classes[at], neighbour[at] = c, u
        found = -1
        for t in range(n_types):
            candidate = (last + t) % n_types  # neighbours in number are often alike
            w = example[candidate]
            same = machine.bias[w] == machine.bias[v] and machine.ptr[w + 1] - machine.ptr[w] == end - first
            if same:
                for k in range(end - first):
                    if classes[machine.ptr[w] + k] != classes[first + k]:
                        same = False
                        break
            if same:
                found = candidate
                break
        if found < 0:
            # A block should hold many sites; and a table must stay small.
            size = 1
            run = 1
            for e in range(first, end):
                run = run + 1 if e > first and classes[e] == classes[e - 1] else 2
                size = size // (run - 1) * run if run > 2 else size * 2
                if size > MAX_TABLE:
                    return neighbour, classes, type_of_site, example[:0]
            if n_types == max_types:
                return neighbour, classes, type_of_site, example[:0]
            example[n_types] = v
            found = n_types
            n_types += 1
        last = found
        type_of_site[v] = found
    return neighbour, classes, type_of_site, example[:n_types]


def _tables(machine, classes, values, examples):
    """For each type of site: the stride of each slot, and the log odds of each count of neighbours."""
    strides, tables, slot_ptr, table_ptr = [], [], [0], [0]
    for v in examples:
        counted, count = np.unique(classes[machine.ptr[v] : machine.ptr[v + 1]], return_counts=True)
        log_odds, stride = np.array([machine.bias[v]]), 1
        for c, n in zip(counted, count, strict=True):
            strides.append(np.full(n, stride))
            log_odds = (log_odds + np.arange(n + 1)[:, None] * values[c]).ravel()
            stride *= n + 1
        tables.append(log_odds)
        slot_ptr.append(slot_ptr[-1] + int(count.sum()))
        table_ptr.append(table_ptr[-1] + len(log_odds))
    stride = np.concatenate(strides) if strides else np.zeros(0)
    log_odds = np.concatenate(tables) if tables else np.zeros(0)
    return stride.astype(np.uint32), np.array(slot_ptr), log_odds, np.array(table_ptr)


@compiled
def _fill(machine, neighbour, order, first, size, degree, edge, with_coupling):
    """Neighbours (and couplings) of each block, slot by slot, as positions."""
    position = np.empty(len(order), np.int32)
    for p in range(len(order)):
        position[order[p]] = p
    slots = np.empty(edge[-1], np.uint32)
    couplings = np.empty(edge[-1] if with_coupling else 0)
    for b in range(len(first)):
        for i in range(size[b]):
            start = machine.ptr[order[first[b] + i]]
            for k in range(degree[b]):
                at = edge[b] + k * size[b] + i
                slots[at] = position[neighbour[start + k]]
                if with_coupling:
                    couplings[at] = machine.coupling[start + k]
    return slots, couplings


# --- loops ---------------------------------------------------------------------------------------------------


@compiled(inline=True)
def word_at(key, position):
    """The 64 random bits that a key holds for one position (SplitMix64; Steele, Lea and Flood, 2014).

    Whoever asks, in whatever order, gets the same bits: that is why threads do not change a result.
    """
    z = key + np.uint64(position + 1) * _GAMMA
    z = (z ^ (z >> np.uint64(30))) * _MIX_1
    z = (z ^ (z >> np.uint64(27))) * _MIX_2
    return z ^ (z >> np.uint64(31))


@compiled(inline=True)
def _exp(x):
    """exp(x) for \\|x\\| < 700 without a call, so that the loop around it is vectorised; right to 1e-14."""
    k = np.floor(x * 1.4426950408889634 + 0.5)
    r = (x - k * 0.6931471803691238) - k * 1.9082149292705877e-10
    p = 1.0 / 6227020800.0
    for c in (
        1.0 / 479001600.0,
        1.0 / 39916800.0,
        1.0 / 3628800.0,
        1.0 / 362880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ):
        p = p * r + c
    return p * np.int64((np.int64(k) + 1023) << 52).view(np.float64)


@compiled(inline=True)
def logistic(x):
    """The probability whose log odds are ``x``."""
    return 1.0 / (1.0 + _exp(min(max(-x, -700.0), 700.0)))


@compiled(allocates=False)
def thresholds(log_odds, temperature, out):
    """The chances that belong to log odds, as fractions of 2**64; at temperature 0 all or nothing."""
    for i in range(len(log_odds)):
        if temperature <= 0.0:
            p = 1.0 if log_odds[i] > 0.0 else 0.0
        else:
            p = logistic(log_odds[i] / temperature)
        scaled = p * 18446744073709551616.0
        out[i] = np.uint64(0xFFFFFFFFFFFFFFFF) if scaled >= 18446744073709549568.0 else np.uint64(scaled)


@compiled(inline=True)
def _count(laid_out, b, at, m, values, code):
    """Which entry of its table each of ``m`` sites of block ``b`` stands at, from its ``at``-th site on."""
    degree, size = laid_out.degree[b], laid_out.size[b]
    neighbour, edge, stride, slot = laid_out.neighbour, laid_out.edge[b], laid_out.stride, laid_out.slot[b]
    code[:m] = np.uint32(0)
    k = 0
    # Four neighbours a turn: their sum stays in a register.
    while k + 4 <= degree:
        a = edge + k * size + at
        n0, n1 = neighbour[a : a + m], neighbour[a + size : a + size + m]
        n2, n3 = neighbour[a + 2 * size : a + 2 * size + m], neighbour[a + 3 * size : a + 3 * size + m]
        s0, s1, s2, s3 = stride[slot + k], stride[slot + k + 1], stride[slot + k + 2], stride[slot + k + 3]
        for i in range(m):
            code[i] += (values[n0[i]] * s0 + values[n1[i]] * s1) + (values[n2[i]] * s2 + values[n3[i]] * s3)
        k += 4
    while k < degree:
        a = edge + k * size + at
        n0, s0 = neighbour[a : a + m], stride[slot + k]
        for i in range(m):
            code[i] += values[n0[i]] * s0
        k += 1


@compiled(inline=True)
def _add_couplings(laid_out, b, at, m, values, log_odds):
    """The log odds of ``m`` sites of block ``b``, from its ``at``-th site on."""
    size, edge = laid_out.size[b], laid_out.edge[b]
    first = laid_out.first[b] + at
    bias = laid_out.bias[first : first + m]
    for i in range(m):
        log_odds[i] = bias[i]
    for k in range(laid_out.degree[b]):
        a = edge + k * size + at
        neighbour, coupling = laid_out.neighbour[a : a + m], laid_out.coupling[a : a + m]
        for i in range(m):
            log_odds[i] += coupling[i] * values[neighbour[i]]


@compiled(allocates=False)
def sweep_sites(laid_out, c, part, n_parts, values, chance, temperature, key, code, log_odds, words):
    """Draw the sites of colour ``c`` given the others; of each block, part ``part`` of ``n_parts``."""
    for b in range(laid_out.colour_block[c], laid_out.colour_block[c + 1]):
        n = laid_out.size[b]
        at, end = n * part // n_parts, n * (part + 1) // n_parts
        while at < end:
            m = min(CHUNK, end - at)
            first = laid_out.first[b] + at
            new = values[first : first + m]
            for i in range(m):
                words[i] = word_at(key, first + i)
            if laid_out.is_tied:
                _count(laid_out, b, at, m, values, code)
                own = chance[laid_out.table[b] :]
                for i in range(m):
                    new[i] = words[i] < own[code[i]]
            else:
                _add_couplings(laid_out, b, at, m, values, log_odds)
                if temperature > 0.0:
                    inverse = 1.0 / temperature
                    for i in range(m):
                        u = np.float64(words[i] >> np.uint64(11)) * (1.0 / 9007199254740992.0)
                        new[i] = u < logistic(log_odds[i] * inverse)
                else:
                    for i in range(m):
                        new[i] = log_odds[i] > 0.0
            at += m


@compiled(allocates=False)
def sweep_colours(laid_out, values, chance, temperature, rng, code, log_odds, words):
    """One sweep, colour after colour, in one thread."""
    for c in range(len(laid_out.colour_block) - 1):
        key = next_word(rng)
        sweep_sites(laid_out, c, 0, 1, values, chance, temperature, key, code, log_odds, words)


@compiled(inline=True)
def log_odds_of(machine, site, values):
    """The log odds of one variable given the others."""
    x = machine.bias[site]
    for e in range(machine.ptr[site], machine.ptr[site + 1]):
        x += machine.coupling[e] * values[machine.neighbour[e]]
    return x


@compiled(allocates=False)
def draw_at_random(machine, sites, values, temperature, n_draws, rng):
    """Draw variables chosen at random from ``sites`` given the others, one after the other."""
    for _ in range(n_draws):
        site = sites[below(rng, len(sites))]
        x = log_odds_of(machine, site, values)
        if temperature > 0.0:
            values[site] = uniform(rng) < logistic(x / temperature)
        else:
            values[site] = x > 0.0


# --- what the loops above draw with, for those who want the probabilities themselves ---------------------------


@compiled(allocates=False)
def chances_of_sites(laid_out, values, chance, temperature, code, log_odds, out):
    """The probability that each free site of a layout is 1, given the others."""
    for b in range(len(laid_out.first)):
        at = 0
        while at < laid_out.size[b]:
            m = min(CHUNK, laid_out.size[b] - at)
            first = laid_out.first[b] + at
            if laid_out.is_tied:
                _count(laid_out, b, at, m, values, code)
                for i in range(m):
                    out[first + i] = chance[laid_out.table[b] + code[i]] * (1.0 / 18446744073709551616.0)
            else:
                _add_couplings(laid_out, b, at, m, values, log_odds)
                for i in range(m):
                    out[first + i] = logistic(log_odds[i] / temperature)
            at += m


@compiled(allocates=False)
def chances_at_random(machine, sites, values, temperature, out):
    """The probability that each of ``sites`` is 1, given the others."""
    for site in sites:
        out[site] = logistic(log_odds_of(machine, site, values) / temperature)
