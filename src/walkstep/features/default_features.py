"""Features that serve names and phrases well, for those who do not wish to choose."""

from collections.abc import Collection

_WINDOW = range(-2, 3)

#: Features of a text that has words alone.
DEFAULT_FEATURES: list[str] = [
    *(f"{name}[{offset}]" for name in ("word", "lower", "shape", "short_shape") for offset in _WINDOW),
    *(f"{name}({n})" for name in ("prefix", "suffix") for n in range(1, 5)),
    "bag:lower[-4:-1]",
    "bag:lower[1:4]",
    "word[-1]&word",
    "word&word[1]",
    "shape[-1]&shape&shape[1]",
    "first",
    "sentence_upper",
    "doc_prev",
    "doc_next",
    "doc_lower_seen",
    "doc_capital_seen",
    "doc_phrase",
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
    (40, 52)
    """
    windows = [f"{name}[{offset}]" for name in ("pos", "chunk") if name in columns for offset in _WINDOW]
    pairs = ["pos[-1]&pos", "pos&pos[1]"] if "pos" in columns else []
    return [*DEFAULT_FEATURES, *windows, *pairs]
