"""Where the factors of a template stand: single positions, or the pairs of positions it joins."""

import numpy as np
from numpy.typing import NDArray

from walkstep.model.conditions import Compare, Condition, Distance, SameSentence, Value, conjuncts, indices_in
from walkstep.model.evidence import Evidence, Positions
from walkstep.model.templates import Template

_LOOKS = 20  # pairs that may be looked at for each one that may be kept
_CHUNK = 1 << 22  # pairs that are looked at together


def positions_of(evidence: Evidence, template: Template) -> tuple[Positions, Positions]:
    """The positions ``i`` and ``j`` of each factor, in order."""
    everywhere = np.arange(evidence.n_tokens, dtype=np.int64)
    if not template.joins_pairs:
        keep = _reaches(evidence, template, "i", everywhere)
        if template.where is not None:
            keep &= evidence.holds(template.where, everywhere, everywhere)
        return everywhere[keep], everywhere[keep]
    is_left, is_right = (_reaches(evidence, template, index, everywhere) for index in "ij")
    joint = []
    for part in conjuncts(template.where):
        indices = indices_in(part)
        if indices == {"i"}:
            is_left &= evidence.holds(part, everywhere, everywhere)
        elif indices == {"j"}:
            is_right &= evidence.holds(part, everywhere, everywhere)
        else:
            joint.append(part)
    return _join(evidence, template, joint, everywhere[is_left], everywhere[is_right])


def _reaches(evidence: Evidence, template: Template, index: str, positions: Positions) -> NDArray[np.bool_]:
    """Whether all sites counted from an index lie inside the sentence."""
    keep = np.ones(len(positions), np.bool_)
    for offset in {site.offset for site in template.scope if site.index == index}:
        keep &= evidence.is_inside(positions, offset)
    return keep


def _join(
    evidence: Evidence, template: Template, conditions: list[Condition], left: Positions, right: Positions
) -> tuple[Positions, Positions]:
    """Join positions by sorting: what must be equal makes groups, distance makes ranges within them.

    Only conditions that are neither are asked of single pairs.
    """
    place = evidence.sentence if template.within == "sentence" else evidence.document
    group_left, group_right = place[left], place[right]
    nearest, farthest = 1, evidence.n_tokens
    rest: list[Condition] = []
    for condition in conditions:
        match condition:
            case SameSentence():
                group_left, group_right = _refine(
                    group_left, group_right, evidence.sentence[left], evidence.sentence[right]
                )
            case Distance("<=" | "<" | "==" as sign, limit):
                farthest = min(farthest, limit - (sign == "<"))
                nearest = max(nearest, limit) if sign == "==" else nearest
            case Distance(">=" | ">" as sign, limit):
                nearest = max(nearest, limit + (sign == ">"))
            case Compare(one, "==", Value() as other):
                here, there = (one, other) if one.index == "i" else (other, one)
                key_left, is_left = evidence.keys(here, left, left)
                key_right, is_right = evidence.keys(there, right, right)
                left, group_left, key_left = left[is_left], group_left[is_left], key_left[is_left]
                right, group_right, key_right = right[is_right], group_right[is_right], key_right[is_right]
                group_left, group_right = _refine(group_left, group_right, key_left, key_right)
            case _:
                rest.append(condition)
    for one in template.scope:
        for other in template.scope:
            gap = one.offset - other.offset
            if (one.index, other.index) == ("i", "j") and one.variable == other.variable and gap > 0:
                rest.append(Distance("!=", gap))
    order = np.lexsort((right, group_right))
    right = right[order]
    span = evidence.n_tokens + 1
    key = group_right[order] * span + right
    begin = np.searchsorted(key, group_left * span + np.minimum(left + nearest, evidence.n_tokens))
    end = np.searchsorted(key, group_left * span + np.minimum(left + farthest, evidence.n_tokens), side="right")
    choose = _all_pairs if template.pairs == "all" else _next_pairs
    return choose(evidence, template, rest, left, right, begin, np.maximum(begin, end))


def _refine(
    group_left: NDArray, group_right: NDArray, key_left: NDArray, key_right: NDArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split groups by keys; equal pairs of group and key have equal numbers on both sides."""
    distinct, key = np.unique(np.concatenate([key_left, key_right]), return_inverse=True)
    group = np.concatenate([group_left, group_right]) * max(len(distinct), 1) + key
    number = np.unique(group, return_inverse=True)[1].astype(np.int64)
    return number[: len(group_left)], number[len(group_left) :]


def _all_pairs(
    evidence: Evidence,
    template: Template,
    rest: list[Condition],
    left: Positions,
    right: Positions,
    begin: Positions,
    end: Positions,
) -> tuple[Positions, Positions]:
    """Each left position with every right one of its range for which the rest holds."""
    counts = end - begin
    n_looks = int(counts.sum())
    if n_looks > (_LOOKS if rest else 1) * template.max_pairs:
        raise _too_many(template, n_looks, has_rest=bool(rest))
    found: list[tuple[Positions, Positions]] = []
    n_found, start = 0, 0
    total = np.cumsum(counts)
    while start < len(left):
        done = int(total[start - 1]) if start else 0
        stop = max(int(np.searchsorted(total, done + _CHUNK, side="right")), start + 1)
        i = np.repeat(left[start:stop], counts[start:stop])
        j = right[ranges(begin[start:stop], counts[start:stop])]
        if rest:
            keep = evidence.holds(rest[0], i, j)
            for condition in rest[1:]:
                keep &= evidence.holds(condition, i, j)
            i, j = i[keep], j[keep]
        n_found += len(i)
        if n_found > template.max_pairs:
            raise _too_many(template, n_found, has_rest=False)
        found.append((i, j))
        start = stop
    return _concatenate([i for i, _ in found]), _concatenate([j for _, j in found])


def _next_pairs(
    evidence: Evidence,
    template: Template,
    rest: list[Condition],
    left: Positions,
    right: Positions,
    begin: Positions,
    end: Positions,
) -> tuple[Positions, Positions]:
    """Each left position with the first right one of its range for which the rest holds."""
    at = begin.copy()
    open_ = np.flatnonzero(at < end)
    is_matched = np.zeros(len(left), np.bool_)
    n_looks = 0
    while len(open_):
        n_looks += len(open_)
        if n_looks > _LOOKS * template.max_pairs:
            raise _too_many(template, n_looks, has_rest=True)
        i, j = left[open_], right[at[open_]]
        keep = np.ones(len(open_), np.bool_)
        for condition in rest:
            keep &= evidence.holds(condition, i, j)
        is_matched[open_[keep]] = True
        open_ = open_[~keep]
        at[open_] += 1
        open_ = open_[at[open_] < end[open_]]
    n_found = int(np.count_nonzero(is_matched))
    if n_found > template.max_pairs:
        raise _too_many(template, n_found, has_rest=False)
    return left[is_matched], right[at[is_matched]]


def _too_many(template: Template, n_pairs: int, *, has_rest: bool) -> ValueError:
    """The complaint about a template that explodes."""
    act = "would have to look at" if has_rest else "joins"
    ways = ["limit the distance in its condition, as in j - i <= 50"]
    if has_rest:
        ways.append("ask for something equal at i and j, which is found by sorting")
    if template.pairs == "all":
        ways.append("leave out 'all pairs' to join each position to the next one only")
    ways.append(f"allow more, as in: at most {n_pairs} pairs")
    return template.error(
        f"template '{template.label}' {act} {n_pairs} pairs of positions or more, and its limit is "
        f"{template.max_pairs}; {'; or '.join(ways)}"
    )


def ranges(begin: Positions, counts: Positions) -> Positions:
    """``begin[0], begin[0] + 1, ...`` for as many as it counts, then the same from ``begin[1]``, ..."""
    ends = np.cumsum(counts)
    return np.repeat(begin - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def _concatenate(arrays: list[Positions]) -> Positions:
    """One array of them all, also for none."""
    return np.concatenate([np.zeros(0, np.int64), *arrays])
