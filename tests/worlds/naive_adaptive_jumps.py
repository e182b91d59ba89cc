"""Jumps that learn, in plain Python: all draws of candidates, every choice among them, every way to part them."""

from copy import copy
from itertools import product

import numpy as np

from worlds.naive_partition import (
    _atom,
    _block_ways,
    _drawn_ways,
    _mates,
    _moved,
    _several_ways,
    _split_ways,
    _swap_ways,
    _uniform_ways,
    groups_of,
)
from worlds.naive_split_merge import pair_statistics


def n_pairs_of(values, one, two):
    """How many pairs a jump of two mentions makes or breaks, and whether they are together."""
    sizes = [sum(v == values[m] for v in values) for m in (one, two)]
    if values[one] == values[two]:
        return sizes[0] * (sizes[0] - 1) // 2, True
    return sizes[0] * sizes[1], False


class Twin:
    """The probabilities of an adaptive proposer over blocks, given as lists of mentions."""

    def __init__(self, toy, jumps, groups, *, atom_of=None, guide=None):
        self.jumps, self.groups = jumps, groups
        self.atom_of = list(range(toy.n)) if atom_of is None else list(atom_of)
        self.mentions = jumps.focus.tolist() or list(range(toy.n))
        pairs = [(i, j) for i in range(toy.n) for j in range(toy.n) if i != j]
        self.phi = {pair: pair_statistics(toy, min(pair), max(pair)) for pair in pairs}
        alike = {pair: toy.likeness(*pair, guide) for pair in pairs}
        self.toy = copy(toy)  # whose likenesses are known
        self.toy.likeness = lambda i, j, _: alike[i, j]
        self.known_odds, self.known_ways = {}, {}

    def paths(self, values):
        """All (partition after, probability, log q(back) - log q(there)), path by path; those that stay left out."""
        share_mention, share_merge, share_several, share_swap, share_any, share_drawn = self.jumps.shares
        n_looked = len(self.jumps.transfers.drawn)
        toy, groups, atom_of, most = self.toy, self.groups, self.atom_of, self.jumps.max_pairs
        for m in self.mentions:
            for share, ways in (
                (share_mention, _block_ways(values, m, groups, atom_of)),
                (share_several, _several_ways(toy, values, m, groups, atom_of, None, most)),
                (share_swap, _swap_ways(values, m, groups, atom_of)),
                (share_any, _uniform_ways(values, m, atom_of)),
                (share_drawn, _drawn_ways(toy, values, m, groups, atom_of, None, n_looked)),
            ):
                if share > 0.0:
                    yield from ((after, share * p / len(self.mentions), ratio) for after, p, ratio in ways)
        if share_merge > 0.0:
            yield from ((after, share_merge * p, ratio) for after, p, ratio in self._chosen(values))

    def candidates(self):
        """A pair of mentions, or a mention that has no mate, and the probability that it is a candidate."""
        for one in self.mentions:
            mates = _mates(one, self.groups) or {None: 1.0}
            yield from (((one, two), p / len(self.mentions)) for two, p in mates.items())

    def odds(self, values, pair):
        """Eq. 11 of a pair of mentions, before it is normalised."""
        one, two = pair
        if two is None or two in _atom(one, self.atom_of):
            return 0.0
        key = tuple(values), pair
        if key not in self.known_odds:
            n, is_together = n_pairs_of(values, one, two)
            weights = self.jumps.split_weights if is_together else self.jumps.merge_weights
            x = weights @ np.append(self.phi[pair], [1.0, np.log(n)])
            self.known_odds[key] = float(np.exp(np.clip(x, -30.0, 30.0)))
        return self.known_odds[key]

    def ways(self, values, pair):
        """All merges or splits of a pair, as (partition after, probability, log q(back) - log q(there))."""
        key = tuple(values), pair
        if key not in self.known_ways:
            self.known_ways[key] = list(self._ways(values, *pair))
        return self.known_ways[key]

    def _ways(self, values, one, two):
        first, second = (next(set(g) for g in groups_of(values) if m in g) for m in (one, two))
        sides = _split_ways(self.toy, first | second, one, two, self.atom_of, None)
        if first != second:
            if len(first) * len(second) <= self.jumps.max_pairs:
                yield _moved(values, first, two), 1.0, np.log(next(p for side, p in sides if side == first))
            return
        for side, p in sides:
            if len(side) * (len(first) - len(side)) <= self.jumps.max_pairs:
                yield _moved(values, side, None), p, -np.log(p)

    def _chosen(self, values):
        """Candidates are drawn the same way in any partition; the same one is chosen from the same ones to go back."""
        for drawn in product(self.candidates(), repeat=len(self.jumps.pairs)):
            pairs = [pair for pair, _ in drawn]
            odds = [self.odds(values, pair) for pair in pairs]
            for k, pair in enumerate(pairs):
                if odds[k] == 0.0:
                    continue
                there = np.prod([p for _, p in drawn]) * odds[k] / sum(odds)
                for after, p, ratio in self.ways(values, pair):
                    odds_back = [self.odds(after, other) for other in pairs]
                    back = odds_back[k] / sum(odds_back)
                    yield after, there * p, ratio + np.log(back * sum(odds) / odds[k])
