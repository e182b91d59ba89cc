"""Features that serve names and phrases well, for those who do not wish to choose."""

from collections.abc import Collection

_NEAR = (-1, 0, 1)
_WIDE = (-2, -1, 0, 1, 2)

#: Features of a text that has words alone, chosen on CoNLL-2003's training and development data.
DEFAULT_FEATURES: list[str] = [
    *(f"word[{offset}]" for offset in _NEAR),
    *(f"{name}[{offset}]" for name in ("lower", "short_shape") for offset in _WIDE),
    "shape",
    *(f"{name}({n})" for name in ("prefix", "suffix") for n in range(1, 6)),
    "bag:lower[-4:-1]",
    "bag:lower[1:4]",
    "lower[-1]&lower",
    "lower&lower[1]",
    "lower[-1]&lower[1]",
    "short_shape[-1]&short_shape",
    "short_shape&short_shape[1]",
    "short_shape[-1]&short_shape&short_shape[1]",
    "first",
    "sentence_upper",
    "doc_prev",
    "doc_next",
    "doc_lower_seen",
    "doc_capital_seen",
    "doc_phrase",
    "doc_shape",
]


def default_features(columns: Collection[str] = ()) -> list[str]:
    """The default features for a text with these columns.

    Parameters
    ----------
    columns : collection of str
        Names of the data's columns; ``pos`` and ``chunk`` are used where they are there.

    Examples
    --------
    >>> len(default_features()), len(default_features(["pos", "chunk"]))
    (40, 50)
    """
    windows = [f"{name}[{offset}]" for name in ("pos", "chunk") if name in columns for offset in _WIDE]
    return [*DEFAULT_FEATURES, *windows]
