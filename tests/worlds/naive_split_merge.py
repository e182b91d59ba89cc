"""Splits and merges in plain Python: every cluster and every pair of them weighed from nothing, every path listed."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np

from walkstep.model.partition_templates import Affinity, Spread
from worlds.naive_partition import Toy, groups_of


def _toy_with(toy, templates):
    made = Toy.__new__(Toy)
    made.__dict__ = {**toy.__dict__, "templates": templates}
    return made


def pair_statistics(toy, i, j):
    """phi of one pair."""
    together = np.arange(toy.n)
    together[j] = i
    return _toy_with(toy, [t for t in toy.templates if isinstance(t, Affinity)]).statistics(together)


def whole_statistics(toy, group):
    """phi of a cluster as a whole, each factor counting once."""
    chosen = [replace(t, per="cluster") for t in toy.templates if not isinstance(t, Affinity | Spread)]
    only = _toy_with(toy, chosen)
    apart = np.arange(toy.n)
    together = np.where(np.isin(apart, group), min(group), apart)
    alone = only.statistics(apart) / toy.n  # of one mention by itself
    return only.statistics(together) - (toy.n - len(group)) * alone


def cluster_features(toy, group):
    """What the odds of splitting a cluster are made of."""
    pairs = [pair_statistics(toy, i, j) for i, j in combinations(sorted(group), 2)]
    return np.append(np.mean(pairs, axis=0) + whole_statistics(toy, group), np.log(len(pairs)))


def two_features(toy, one, two):
    """What the odds of merging two clusters are made of."""
    pairs = [pair_statistics(toy, min(i, j), max(i, j)) for i, j in product(one, two)]
    return np.append(np.mean(pairs, axis=0) + whole_statistics(toy, [*one, *two]), np.log(len(pairs)))


class Twin:
    """The probabilities of a split-merge proposer."""

    def __init__(self, toy, jumps, atom_of=None):
        self.toy, self.jumps = toy, jumps
        self.atom_of = list(range(toy.n)) if atom_of is None else list(atom_of)
        self.known = {}

    def atoms(self, group):
        """The parts that a group can fall into."""
        found = {}
        for m in group:
            found.setdefault(self.atom_of[m], []).append(m)
        return [tuple(members) for members in found.values()]

    def split_odds(self, group):
        key = frozenset(group)
        if key not in self.known:
            features = cluster_features(self.toy, group) if len(group) > 1 else None
            can = len(self.atoms(group)) > 1
            self.known[key] = float(np.exp(self.jumps.split_weights @ features)) if can else 0.0
        return self.known[key]

    def merge_odds(self, one, two):
        key = frozenset([frozenset(one), frozenset(two)])
        if key not in self.known:
            self.known[key] = float(np.exp(self.jumps.merge_weights @ two_features(self.toy, one, two)))
        return self.known[key]

    def choices(self, values):
        """Eq. 10 and 11: the probability of each cluster to split, and of each two to merge, as sets."""
        groups = groups_of(values)
        splits = {(frozenset(g),): self.split_odds(g) for g in groups if len(self.atoms(g)) > 1}
        merges = {frozenset([frozenset(a), frozenset(b)]): self.merge_odds(a, b) for a, b in combinations(groups, 2)}
        share = 1.0 if not merges else float(self.jumps.share_split[0]) if splits else 0.0
        found = {key: share * odds / sum(splits.values()) for key, odds in splits.items()}
        return found | {key: (1 - share) * odds / sum(merges.values()) for key, odds in merges.items()}

    # sides

    def _pull(self, atom, sides):
        total = 0.0
        for other, side in sides.items():
            if other != atom:
                for i, j in product(atom, other):
                    score = self.jumps.guide @ pair_statistics(self.toy, min(i, j), max(i, j))
                    total += score if side else -score
        return total

    def _scans(self, sides, movable):
        """All results of one scan from a state of sides, with their probabilities."""
        states = [(dict(sides), 1.0)]
        for atom in movable:
            after = []
            for state, p in states:
                up = 1 / (1 + np.exp(-np.clip(self._pull(atom, state), -30, 30)))
                after += [({**state, atom: 1}, p * up), ({**state, atom: 0}, p * (1 - up))]
            states = after
        return states

    def launches(self, group, one, two):
        """All states of sides that the scan that counts may start from, with their probabilities."""
        movable = sorted((a for a in self.atoms(group) if a not in (one, two)), key=min)
        found = {}
        for coins in product((0, 1), repeat=len(movable)):
            state = {one: 1, two: 0, **dict(zip(movable, coins, strict=True))}
            reached = [(state, 0.5 ** len(movable))]
            for _ in range(self.jumps.n_scans):
                reached = [(t, p * q) for s, p in reached for t, q in self._scans(s, movable)]
            for s, p in reached:
                key = tuple(sorted(s.items()))
                found[key] = found.get(key, 0.0) + p
        return movable, found

    def paths(self, values):
        """All (partition after, probability, log q(back) - log q(there)), path by path."""
        for chosen, chance in self.choices(values).items():
            groups = [set(g) for g in groups_of(values)]
            kept = [g for g in groups if frozenset(g) not in chosen]
            if isinstance(chosen, tuple):
                (group,) = chosen
                ways = self._even(group) if len(self.jumps.guide) == 0 else self._guided(group)
                for go, there, back in ways:
                    after = _named([*kept, set(go), set(group) - set(go)])
                    merge = self.choices(after)[frozenset([frozenset(go), frozenset(group) - frozenset(go)])]
                    yield after, chance * there, np.log(merge * back) - np.log(chance * there)
            else:
                one, two = chosen
                after = _named([*kept, set(one) | set(two)])
                split = self.choices(after)[(frozenset(one) | frozenset(two),)]
                for there, back in self._merges(one, two):
                    yield after, chance * there, np.log(split * back) - np.log(chance * there)

    def _even(self, group):
        _, *others = self.atoms(sorted(group))
        ways = [way for n in range(1, len(others) + 1) for way in combinations(others, n)]
        for way in ways:
            yield [m for atom in way for m in atom], 1 / len(ways), 1.0

    def _guided(self, group):
        atoms = self.atoms(sorted(group))
        n = len(atoms)
        for one, two in ((a, b) for a in atoms for b in atoms if a != b):
            movable, launches = self.launches(group, one, two)
            for launch, p in launches.items():
                for sides, q in self._scans(dict(launch), movable):
                    go = [m for atom, side in sides.items() if side for m in atom]
                    n_go = sum(sides.values())
                    # The launch has probability p both ways, so that it cancels in the ratio.
                    yield go, p * q / (n * (n - 1)), p / (2 * n_go * (n - n_go))

    def _merges(self, one, two):
        if len(self.jumps.guide) == 0:
            n = len(self.atoms(one | two))
            yield 1.0, 1 / (2 ** (n - 1) - 1)
            return
        n = len(self.atoms(one | two))
        for go, stay in ((one, two), (two, one)):
            for a, b in product(self.atoms(sorted(go)), self.atoms(sorted(stay))):
                movable, launches = self.launches(one | two, a, b)
                for launch, p in launches.items():
                    q = self._chance_of_scan(dict(launch), movable, go)
                    anchors = 1 / (2 * len(self.atoms(go)) * len(self.atoms(stay)))
                    yield p * anchors, p * q / (n * (n - 1))

    def _chance_of_scan(self, sides, movable, go):
        total = 1.0
        for atom in movable:
            up = 1 / (1 + np.exp(-np.clip(self._pull(atom, sides), -30, 30)))
            sides[atom] = int(atom[0] in go)
            total *= up if sides[atom] else 1 - up
        return total


def _named(clusters):
    name = {m: min(members) for members in clusters for m in members}
    return tuple(name[m] for m in sorted(name))
