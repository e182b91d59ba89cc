"""Documents that tell of the same thing, and folds that keep them together."""

import re
from collections.abc import Iterable, Sequence

import numpy as np
import scipy  # its parts load at first use
from numpy.typing import NDArray

_WORD = re.compile(r"[^\W\d_]+|\d+")
_TITLES = frozenset(("dr", "prof", "professor", "mr", "mrs", "ms", "miss", "sir", "phd", "jr", "sr", "ii", "iii"))


def talk_groups(
    texts: Sequence[str],
    speakers: Sequence[Iterable[str]] | None = None,
    *,
    n_words: int = 4,
    overlap: float = 0.4,
) -> NDArray[np.int64]:
    """Find which announcements are of the same talk: reposts, reminders, corrections.

    Two texts are joined if enough of the shorter one's runs of ``n_words`` words stand in the other too.
    A run counts log((n_texts + 1) / n_texts with it), so that what a whole series of talks has in common
    counts little. Two texts are joined also if they share a speaker: same first letter, same last name.
    Groups are what is joined directly or through others.

    Parameters
    ----------
    texts : sequence of str (n_texts,)
        The documents.
    speakers : sequence of iterables of str (n_texts,), optional
        The names in each document. Titles are passed over, and so are names of a single word.
    n_words : int
        Length of the runs.
    overlap : float
        Share of the shorter text, above 0 and at most 1, from which on two texts are joined.

    Returns
    -------
    int64 array (n_texts,)
        The group of each text; groups are numbered in order of their first text.

    Examples
    --------
    >>> first = "Ada Harlow talks about walking robots on Monday at three"
    >>> again = "REMINDER: " + first + " today"
    >>> talk_groups([first, "Milo Brask shows his maps of the sea floor", again]).tolist()
    [0, 1, 0]
    >>> talk_groups(["one", "two", "three"], [["Dr. Ada Harlow"], [], ["A. Harlow"]]).tolist()
    [0, 1, 0]
    """
    if n_words < 1:
        raise ValueError(f"n_words is {n_words}; give at least 1")
    if not 0 < overlap <= 1:
        raise ValueError(f"overlap is {overlap}; give a share above 0 and at most 1")
    if speakers is not None and len(speakers) != len(texts):
        raise ValueError(f"there are {len(texts)} texts but speakers of {len(speakers)}; give one entry a text")
    n_texts = len(texts)
    if n_texts == 0:
        return np.zeros(0, np.int64)
    joined = _shared_runs(texts, n_words, overlap)
    if speakers is not None:
        named = _incidence([[key for name in names if (key := _name_key(name))] for names in speakers])
        joined = joined + named @ named.T
    _, component = scipy.sparse.csgraph.connected_components(joined, directed=False)
    _, first, group = np.unique(component, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[group]


def grouped_folds(groups: Sequence[int] | NDArray[np.int64], n_folds: int, seed: int = 0) -> NDArray[np.int64]:
    """Deal documents into folds of about equal size, each group into one fold.

    The largest groups are dealt first, each to the fold with the fewest documents; groups of
    one size are shuffled by the seed, and so is which of several equal folds comes first. (scikit-learn's
    ``GroupKFold`` balances documents without a seed, and with one it balances the number of groups instead.)

    Parameters
    ----------
    groups : sequence of int (n_documents,)
        The group of each document.
    n_folds : int
        How many folds, at most as many as there are groups.
    seed : int
        The same seed deals the same folds.

    Returns
    -------
    int64 array (n_documents,)
        The fold of each document.

    Examples
    --------
    >>> fold = grouped_folds([0, 0, 1, 2, 2, 3], 3, seed=1)
    >>> np.bincount(fold).tolist(), bool(fold[0] == fold[1])
    ([2, 2, 2], True)
    """
    _, group, size = np.unique(np.asarray(groups), return_inverse=True, return_counts=True)
    if not 2 <= n_folds <= len(size):
        raise ValueError(f"n_folds is {n_folds}, and there are {len(size)} groups; give from 2 to that many")
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(size))
    order = order[np.argsort(-size[order], kind="stable")]
    fold_of_group = np.empty(len(size), np.int64)
    filled = np.zeros(n_folds, np.int64)
    tie_break = rng.permutation(n_folds)
    for g in order.tolist():
        fold = int(np.lexsort((tie_break, filled))[0])
        fold_of_group[g] = fold
        filled[fold] += size[g]
    return fold_of_group[group]


def _shared_runs(texts: Sequence[str], n_words: int, overlap: float) -> "scipy.sparse.csr_array":
    """Nonzero for each pair of texts with enough runs of words in common, and for each text with itself."""
    runs = []
    for text in texts:
        words = _WORD.findall(text.lower())
        # A text of fewer words is one run.
        runs.append(list(zip(*(words[k:] for k in range(n_words)), strict=False)) or [tuple(words)])
    holds = _incidence(runs)
    n_holders = np.bincount(holds.indices, minlength=holds.shape[1])
    weight = np.log((len(texts) + 1) / n_holders)
    shared = scipy.sparse.coo_array((holds * weight[None, :]) @ holds.T)
    row, column = shared.coords
    total = holds @ weight
    enough = shared.data >= overlap * np.minimum(total[row], total[column])
    return scipy.sparse.csr_array((np.ones(enough.sum()), (row[enough], column[enough])), shape=shared.shape)


def _incidence(rows: Sequence[Iterable[tuple]]) -> "scipy.sparse.csr_array":
    """1 where a row holds the column's thing, however often."""
    # Sets would be in another order in every process, and sums of floats with them.
    distinct = [dict.fromkeys(things) for things in rows]
    column_of: dict[tuple, int] = {}
    indices = [column_of.setdefault(thing, len(column_of)) for things in distinct for thing in things]
    ptr = np.concatenate([[0], np.cumsum([len(things) for things in distinct])])
    return scipy.sparse.csr_array((np.ones(len(indices)), indices, ptr), shape=(len(rows), max(len(column_of), 1)))


def _name_key(name: str) -> tuple[str, str] | None:
    """First letter and last name, or nothing if only one word is left without titles."""
    words = [word for word in _WORD.findall(name.lower().replace("ph.d", "")) if word not in _TITLES]
    return (words[0][0], words[-1]) if len(words) > 1 else None
