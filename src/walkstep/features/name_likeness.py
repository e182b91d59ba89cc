"""How alike two persons' names are, or two lists of persons, inside loops that may not allocate.

A list of persons is a flat row: how many there are, whether others were left out ("et al."), and the persons. A
person is the length of what follows, the surname, how many given names there are, and the given names; a name is
its number of letters and the letters, an initial being a name of one letter.
"""

from walkstep.compiled import compiled

SAME, SAME_BUT_MIDDLE = 1.0, 0.95
SAME_INITIALS, SAME_INITIAL, COMPATIBLE = 0.9, 0.86, 0.8
SLIP_OF_PEN, UNKNOWN_GIVEN = 0.75, 0.7
OTHER_MIDDLE, OTHER_GIVEN, OTHER_INITIAL, OTHER_SURNAME = 0.4, 0.3, 0.2, 0.0
_NEAR_SURNAME = 0.9  # what a slip in the surname multiplies the rest by
_SHORTEST_TO_SLIP = 4

_DIFFERENT, _SLIPPED, _PREFIX, _EQUAL = 0, 1, 2, 3


@compiled(inline=True)
def _compare_words(a, i, b, j):
    """How the name at ``a[i]`` stands to that at ``b[j]``: equal, one the start of the other, a slip apart, or not."""
    m, n = a[i], b[j]
    shorter = min(m, n)
    k = 1
    while k <= shorter and a[i + k] == b[j + k]:
        k += 1
    if k > shorter:
        return _EQUAL if m == n else _PREFIX
    if shorter < _SHORTEST_TO_SLIP or abs(m - n) > 1:
        return _DIFFERENT
    if m == n and k < m and a[i + k] == b[j + k + 1] and a[i + k + 1] == b[j + k]:
        k += 2  # two neighbours swapped
        while k <= m and a[i + k] == b[j + k]:
            k += 1
        return _SLIPPED if k > m else _DIFFERENT
    at, to = i + k + (m >= n), j + k + (n >= m)
    while at <= i + m and to <= j + n and a[at] == b[to]:
        at += 1
        to += 1
    return _SLIPPED if at > i + m and to > j + n else _DIFFERENT


@compiled(inline=True)
def _compare_given(a, i, b, j):
    """Likeness of the given names that begin, with their count, at ``a[i]`` and ``b[j]``."""
    n_a, n_b = a[i], b[j]
    if n_a == 0 or n_b == 0:
        return UNKNOWN_GIVEN
    i += 1
    j += 1
    first = _compare_words(a, i, b, j)
    if first == _DIFFERENT:
        return OTHER_GIVEN if a[i + 1] == b[j + 1] else OTHER_INITIAL
    is_initial = a[i] == 1 and b[j] == 1
    all_equal = n_a == n_b
    for _ in range(1, min(n_a, n_b)):
        i += a[i] + 1
        j += b[j] + 1
        middle = _compare_words(a, i, b, j)
        if middle == _DIFFERENT:
            return OTHER_MIDDLE
        all_equal = all_equal and middle == _EQUAL
    if first == _SLIPPED:
        return SLIP_OF_PEN
    if first == _PREFIX:
        return COMPATIBLE
    if is_initial:
        return SAME_INITIALS if n_a > 1 and all_equal else SAME_INITIAL
    return SAME if all_equal else SAME_BUT_MIDDLE


@compiled(part=True, allocates=False)
def _person_likeness(a, i, b, j):
    """Likeness of the persons whose surnames stand at ``a[i]`` and ``b[j]``."""
    surname = _compare_words(a, i, b, j)
    given_of_a, given_of_b = i + a[i] + 1, j + b[j] + 1
    if surname == _EQUAL:
        return _compare_given(a, given_of_a, b, given_of_b)
    if surname == _SLIPPED:
        return _NEAR_SURNAME * _compare_given(a, given_of_a, b, given_of_b)
    # Surname and given name the other way round, as in "Li Wei" and "Wei Li".
    if (
        a[given_of_a] == 1
        and b[given_of_b] == 1
        and a[i] > 1
        and b[j] > 1
        and _compare_words(a, i, b, given_of_b + 1) == _EQUAL
        and _compare_words(a, given_of_a + 1, b, j) == _EQUAL
    ):
        return UNKNOWN_GIVEN
    return OTHER_SURNAME


@compiled(part=True, allocates=False)
def _sum_of_best(a, b):
    """For each person of ``a`` the likeness of the nearest one of ``b``, added up."""
    total = 0.0
    i = 2
    for _ in range(a[0]):
        best = 0.0
        j = 2
        for _ in range(b[0]):
            best = max(best, _person_likeness(a, i + 1, b, j + 1))
            j += b[j] + 1
        total += best
        i += a[i] + 1
    return total


@compiled(part=True, allocates=False)
def name_likeness(a, b):
    """Likeness of two lists of persons: half the first persons', half the mean of everyone's best match.

    Of two single persons: 1 same full name, 0.95 but for middle names, 0.9 and 0.86 the same initials or initial, 0.8
    compatible ("J." and "John"), 0.75 a slip of the pen, 0.7 a given name unknown; then 0.4 another middle name, 0.3
    another given name of the same initial, 0.2 of another initial, 0 another surname.
    """
    first = _person_likeness(a, 3, b, 3)
    if a[0] == 1 and b[0] == 1:
        return first
    if a[0] < b[0] and a[1] == 1:
        return 0.5 * first + 0.5 * _sum_of_best(a, b) / a[0]
    if b[0] < a[0] and b[1] == 1:
        return 0.5 * first + 0.5 * _sum_of_best(b, a) / b[0]
    return 0.5 * first + 0.5 * (_sum_of_best(a, b) + _sum_of_best(b, a)) / (a[0] + b[0])
