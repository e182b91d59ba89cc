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


def column_features(columns: Collection[str]) -> list[str]:
    """Features of further columns, such as parts of speech, in a window of two.

    On CoNLL-2003 they gain nothing measurable beside `DEFAULT_FEATURES`, and text to be tagged must then have them.

    Examples
    --------
    >>> column_features(["pos"])
    ['pos[-2]', 'pos[-1]', 'pos[0]', 'pos[1]', 'pos[2]']
    """
    return [f"{name}[{offset}]" for name in columns for offset in _WIDE]
