"""Partitions in plain Python: sets of mentions, every pair compared, every statistic counted from nothing."""

from itertools import combinations

import numpy as np
import polars as pl

from walkstep.features.blocks import Blocks
from walkstep.features.comparators import exact, jaccard, number
from walkstep.features.comparisons import compare_pairs
from walkstep.features.encodings import encode
from walkstep.model.partition_templates import Affinity, Aggregate, Distinct, Size, Spread, ground_partition
from walkstep.worlds.partition_proposers import RARITY

ALL_TEMPLATES = (
    Affinity((("title", "year"), ("venue", "title", "year"))),
    Aggregate("title", "max"),
    Aggregate("title", "any", per="mention"),
    Aggregate("year", "min"),
    Aggregate("title", "all", per="pair"),
    Aggregate("title", "most"),
    Aggregate("title", "mean", per="mention"),
    Aggregate("year", "mean"),
    Aggregate("year", "share"),
    Aggregate("venue", "share", per="mention"),
    Size(),
    Distinct("venue"),
    Distinct("source", "count", per="mention"),
    Distinct("venue", "share"),
    Spread("source"),
    Spread("venue"),
)


def _amount(n, per):
    """How often a factor of a cluster counts."""
    return {"cluster": 1.0, "mention": float(n), "pair": n * (n - 1) / 2}[per]


class Toy:
    """Records that hardly agree, some values missing, with templates over them."""

    def __init__(self, n, templates=ALL_TEMPLATES, seed=0):
        rng = np.random.default_rng(seed)
        words = np.array(["walks", "over", "factor", "graphs", "of", "mentions"])
        titles = [" ".join(words[rng.random(6) < 0.5]) or "walks" for _ in range(n)]
        self.columns = {name: rng.integers(-1, 4, n).astype(np.int32) for name in ("venue", "source")}
        self.columns["key"] = rng.integers(0, n, n).astype(np.int32)  # as rare as keys are, not quite unique
        frame = pl.DataFrame(
            {
                "title": [None if rng.random() < 0.15 else title for title in titles],
                "year": [None if rng.random() < 0.15 else int(year) for year in rng.integers(1990, 1994, n)],
                "venue": [None if v < 0 else f"venue{v}" for v in self.columns["venue"]],
            }
        )
        encoded = encode(frame, [jaccard("title", (0.2, 0.5, 0.8)), number("year", (-2, -1, 0)), exact("venue")])
        self.n, self.templates, self.comparisons = n, templates, encoded.comparisons
        names = ("title", "year", "venue")
        self.n_levels = dict(zip(names, encoded.comparisons.n_levels.tolist(), strict=True))
        grounded = ground_partition(templates, self.n_levels, self.columns)
        self.model, self.layout = grounded.model, grounded.layout
        self.weights = rng.normal(size=self.model.n_weights)
        left, right = np.array(list(combinations(range(n), 2))).T
        levels = compare_pairs(encoded.comparisons, left, right)
        self.levels = {
            (int(i), int(j)): dict(zip(names, row.tolist(), strict=True))
            for i, j, row in zip(left, right, levels, strict=True)
        }

    def statistics(self, values):
        """phi of a partition, (n_weights,)."""
        phi = np.zeros(self.model.n_weights)

        def count(name, index, amount=1.0):
            phi[self.layout[name].offset + index] += amount

        groups = groups_of(values)
        for members in groups:
            pairs = [self.levels[pair] for pair in combinations(members, 2)]
            for template in self.templates:
                match template:
                    case Affinity(conjunctions):
                        for pair in pairs:
                            for name in self.n_levels:
                                count(name, pair[name])
                            for joined in conjunctions:
                                shape = [self.n_levels[name] for name in joined]
                                at = np.ravel_multi_index([pair[name] for name in joined], shape)
                                count(" & ".join(joined), at)
                    case Aggregate(comparator, how, per):
                        amount = _amount(len(members), per)
                        for index, share in self._aggregate(comparator, how, pairs):
                            count(f"{how} {comparator}", index, amount * share)
                    case Size(per):
                        amount = _amount(len(members), per)
                        count("size", min(15, int(np.floor(2 * np.log2(len(members))))), amount)
                    case Distinct(column, how, per) if len(members) > 1:
                        amount = _amount(len(members), per)
                        held = [v for v in self.columns[column][members] if v >= 0]
                        n = len(set(held))
                        if how == "count":
                            count(f"distinct {column}", [0, 1, 2, 3, 4, 5, 5, 6, 6, 6, 7][min(n, 10)], amount)
                        elif held:
                            share = 10 * (n - 1) / max(1, len(held) - 1)
                            count(f"distinct {column} (share)", min(9, int(share)), amount)
        for template in self.templates:
            if isinstance(template, Spread):
                column = self.columns[template.column]
                for v in set(column.tolist()) - {-1}:
                    if sum(v in column[members] for members in groups) > 1:
                        count(f"spread {template.column}", 0)
        return phi

    def _aggregate(self, comparator, how, pairs):
        """Which statistics of a cluster hold, and how much."""
        levels = sorted(pair[comparator] for pair in pairs)
        if how == "share":
            return [(level, levels.count(level) / len(levels)) for level in set(levels)]
        known = [level for level in levels if level > 0]
        if not known:
            return []
        if how == "mean":
            # Levels from 1 (nothing alike) to the highest are spread over 0 to 1.
            mean = (np.mean(known) - 1) / (self.n_levels[comparator] - 2)
            return [(min(9, int(10 * mean + 1e-12)), 1.0)]
        at = {"max": -1, "any": -1, "min": 0, "all": 0, "most": (len(known) - 1) // 2}[how]
        return [(known[at], 1.0)]

    def likeness(self, i, j, guide=None):
        """What draws a mention to one side of a split: the score of the pair, or how high its levels are."""
        pair = self.levels[min(i, j), max(i, j)]
        if guide is None:
            return sum(level / (self.n_levels[name] - 1) for name, level in pair.items())
        together = np.arange(self.n)
        together[j] = i
        pair_only = Toy.__new__(Toy)
        pair_only.__dict__ = {**self.__dict__, "templates": [t for t in self.templates if isinstance(t, Affinity)]}
        return float(guide @ pair_only.statistics(together))

    def score(self, values):
        return float(self.weights @ self.statistics(values))


def groups_of(values):
    """Clusters as lists of mentions, in the order of their first ones."""
    groups = {}
    for m, cluster in enumerate(np.asarray(values).tolist()):
        groups.setdefault(cluster, []).append(m)
    return list(groups.values())


def partitions(n):
    """All partitions of ``n`` mentions, each cluster named by its first mention."""
    found = [[0]]
    for m in range(1, n):
        found = [[*rest, name] for rest in found for name in [*sorted(set(rest)), m]]
    return [tuple(partition) for partition in found]


def blocks_of(n, groups):
    """Blocks as the proposer takes them, from lists of mentions."""
    record = [[b for b, members in enumerate(groups) if m in members] for m in range(n)]
    return Blocks(
        np.cumsum([0, *map(len, groups)]),
        np.array([m for members in groups for m in members], np.int32),
        np.cumsum([0, *map(len, record)]),
        np.array([b for held in record for b in held], np.int32),
    )


# --- what proposers may propose, path by path: the mentions that are drawn first make up a path


def proposals(toy, values, proposer, groups, atom_of=None, guide=None):
    """All (partition, probability, log q(back) - log q(there)) of a proposer, moves that stay left out."""
    n = len(values)
    atom_of = list(range(n)) if atom_of is None else list(atom_of)
    found = []
    shares = [proposer.share_uniform, proposer.share_merge, proposer.share_swap, proposer.share_several]
    shares.append(proposer.share_drawn)
    shares.append(1.0 - sum(shares))
    n_looked = len(proposer.drawn)
    for m in range(n):
        for (after, chance, log_ratio), share in [
            *((way, shares[0]) for way in _uniform_ways(values, m, atom_of)),
            *((way, shares[1]) for way in _merge_ways(toy, values, m, groups, atom_of, guide, proposer.max_pairs)),
            *((way, shares[2]) for way in _swap_ways(values, m, groups, atom_of)),
            *((way, shares[3]) for way in _several_ways(toy, values, m, groups, atom_of, guide, proposer.max_pairs)),
            *((way, shares[4]) for way in _drawn_ways(toy, values, m, groups, atom_of, guide, n_looked)),
            *((way, shares[5]) for way in _block_ways(values, m, groups, atom_of)),
        ]:
            if share * chance > 0.0:
                found.append((after, share * chance / n, log_ratio))
    return found


def _named(clusters):
    """A partition by the first mention of each cluster, from sets."""
    name = {m: min(members) for members in clusters for m in members}
    return tuple(name[m] for m in sorted(name))


def _moved(values, movers, to):
    """The partition after some mentions went to the cluster of ``to``, or to an empty one."""
    sets = [set(members) - movers for members in groups_of(values)]
    target = next((members for members in sets if to is not None and to in members), None)
    if target is None:
        sets.append(set(movers))
    else:
        target |= movers
    return _named([members for members in sets if members])


def exchanged(values, movers, back):
    """The partition after some mentions of one cluster and some of another have changed places."""
    movers, back = set(movers), set(back)
    sets = [set(members) for members in groups_of(values)]
    one, two = ({m for members in sets if members & part for m in members} for part in (movers, back))
    others = [members for members in sets if not members & (movers | back)]
    return _named([members for members in (*others, one - movers | back, two - back | movers) if members])


def _atom(m, atom_of):
    return {i for i, a in enumerate(atom_of) if a == atom_of[m]}


def _uniform_ways(values, m, atom_of):
    groups, atom = groups_of(values), _atom(m, atom_of)
    for members in groups:
        is_own = m in members
        if is_own and set(members) == atom:
            continue
        after = _moved(values, atom, None if is_own else members[0])
        yield after, 1 / len(groups), np.log(len(groups) / len(groups_of(after)))


def _mates(m, groups):
    """The probability of each mate of a mention: small blocks are drawn from more often."""
    mine = [members for members in groups if m in members]
    total = sum((len(members) - 1) ** -RARITY for members in mine)
    chances = {}
    for members in mine:
        for other in members:
            if other != m:
                chances[other] = chances.get(other, 0.0) + (len(members) - 1) ** (-RARITY - 1) / total
    return chances


def _chance_of_way(values, after, m, groups, atom_of):
    """The probability that mention ``m``, once drawn, goes from one partition to another by its mates."""
    atom, total = _atom(m, atom_of), 0.0
    for mate, chance in _mates(m, groups).items():
        if mate not in atom:
            own = values[mate] == values[m]
            total += chance * (_moved(values, atom, None if own else mate) == after)
    return total


def _block_ways(values, m, groups, atom_of):
    atom = _atom(m, atom_of)
    mates = [mate for mate in _mates(m, groups) if mate not in atom]
    for after in {_moved(values, atom, None if values[mate] == values[m] else mate) for mate in mates}:
        there = _chance_of_way(values, after, m, groups, atom_of)
        back = _chance_of_way(after, values, m, groups, atom_of)
        if back > 0.0:
            yield after, there, np.log(back / there)


def _split_ways(toy, cluster, one, two, atom_of, guide):
    """All ways to part a cluster between two of its mentions, as (side of one, probability)."""
    sides = [(_atom(one, atom_of), 1.0)]
    for atom in {min(_atom(m, atom_of)) for m in cluster}:
        if atom in _atom(one, atom_of) | _atom(two, atom_of):
            continue
        pull = toy.likeness(atom, one, guide) - toy.likeness(atom, two, guide)
        p = min(0.99, max(0.01, 1 / (1 + np.exp(-pull))))
        joined = _atom(atom, atom_of)
        sides = [way for side, q in sides for way in ((side | joined, q * p), (side, q * (1 - p)))]
    return sides


def _merge_ways(toy, values, one, groups, atom_of, guide, max_pairs):
    for two, chance in _mates(one, groups).items():
        if two in _atom(one, atom_of):
            continue
        first, second = ({i for i, v in enumerate(values) if v == values[m]} for m in (one, two))
        if first != second:
            ways = {frozenset(side): p for side, p in _split_ways(toy, first | second, one, two, atom_of, guide)}
            if len(first) * len(second) <= max_pairs:
                yield _moved(values, first, two), chance, np.log(ways[frozenset(first)])
        else:
            for side, p in _split_ways(toy, first, one, two, atom_of, guide):
                if len(side) * (len(first) - len(side)) <= max_pairs:
                    yield _moved(values, side, None), chance * p, -np.log(p)


def _swaps(values, m, groups, atom_of):
    """Where a mention may lead that takes the place of a member of a mate's cluster, with probabilities added up."""
    found = {}
    for mate, chance in _mates(m, groups).items():
        if values[mate] == values[m]:
            continue
        members = [i for i, v in enumerate(values) if v == values[mate]]
        for other in members:
            after = exchanged(values, _atom(m, atom_of), _atom(other, atom_of))
            if after != tuple(values):
                found[after] = found.get(after, 0.0) + chance / len(members)
    return found


def _swap_ways(values, m, groups, atom_of):
    for after, there in _swaps(values, m, groups, atom_of).items():
        back = _swaps(after, m, groups, atom_of).get(tuple(values), 0.0)
        if back > 0.0:
            yield after, there, np.log(back / there)


def _groups_that_go(toy, values, m, mates, atom_of, guide):
    """All ways from the cluster of one of two mates to that of the other, as {partition: (probability, pairs)}."""
    first, second = sorted(mates, key=lambda mate: values[mate] != values[m])
    own, other = ({i for i, v in enumerate(values) if v == values[mate]} for mate in (first, second))
    if m not in own or m in other or {first, second} & _atom(m, atom_of):
        return {}
    # A split between the mates in which those of the second one's cluster do not take part.
    undecided = (own - _atom(m, atom_of)) | _atom(second, atom_of)
    ways = {}
    for side, p in _split_ways(toy, undecided, second, first, atom_of, guide):
        going = (side - other) | _atom(m, atom_of)
        ways[_moved(values, going, second)] = p, len(going) * (len(own) - len(going) + len(other))
    return ways


def _several_ways(toy, values, m, groups, atom_of, guide, max_pairs):
    chances = _mates(m, groups)
    for one in chances:
        for two in chances:
            for after, (p, n_pairs) in _groups_that_go(toy, values, m, (one, two), atom_of, guide).items():
                if n_pairs <= max_pairs:
                    back = _groups_that_go(toy, after, m, (one, two), atom_of, guide)[tuple(values)][0]
                    yield after, chances[one] * chances[two] * p, np.log(back / p)


def _looks(m, groups, n_looked):
    """The members of a block that a mention looks at, and the probability of these: all, or so many in a row."""
    mine = [members for members in groups if m in members]
    total = sum((len(members) - 1) ** -RARITY for members in mine)
    for members in mine:
        chance = (len(members) - 1) ** -RARITY / total
        if len(members) <= n_looked:
            yield members, chance
        else:
            for start in range(len(members)):
                yield (members + members)[start : start + n_looked], chance / len(members)


def _drawn_ways(toy, values, m, groups, atom_of, guide, n_looked):
    """To an entity with odds of exp(likeness to those looked at there, added up); alone with odds of 1."""
    atom = _atom(m, atom_of)
    is_alone = {i for i, v in enumerate(values) if v == values[m]} == atom
    for looked, chance in _looks(m, groups, n_looked):
        pull = {None: 0.0}
        for mate in looked:
            if mate not in atom:
                pull[values[mate]] = pull.get(values[mate], 0.0) + toy.likeness(m, mate, guide)
        own = None if is_alone else values[m]
        if own not in pull:
            continue
        total = sum(np.exp(x) for x in pull.values())
        for cluster, x in pull.items():
            if cluster != own:
                to = None if cluster is None else next(i for i, v in enumerate(values) if v == cluster)
                yield _moved(values, atom, to), chance * np.exp(x) / total, pull[own] - x
