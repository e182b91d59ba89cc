"""Rules to block by, chosen from the kinds of columns."""

from collections.abc import Mapping

from walkstep.features.block_keys import RareTokens, Rule, Same, SortedNeighbourhood
from walkstep.features.blocking import Blocking
from walkstep.features.minhash import MinHash


def default_blocking(kinds: Mapping[str, str], *, max_block: int = 1000) -> Blocking:
    """Rules for columns of which only the kinds are known, meant to lose next to no true pair.

    Parameters
    ----------
    kinds : mapping of column to kind
        ``name`` (of a person), ``text``, ``identifier``, ``number``, ``date``, ``category``, ``list``; columns of kind
        ``vector``, ``constant`` and ``key`` are not blocked by.
    max_block : int
        As in `Blocking`.

    Examples
    --------
    >>> default_blocking({"id": "key", "phone": "identifier", "state": "category"}).rules
    (Same('phone'),)
    """
    rules: list[Rule] = []
    for column, kind in kinds.items():
        match kind:
            case "text":
                rules += [RareTokens(column, n=4), MinHash(column)]
            case "name":
                rules += [RareTokens(column, n=4), Same(f"last_word:{column}", f"first_initial:{column}")]
            case "list":
                rules += [RareTokens(column), RareTokens(column, tokens="items")]
            case "identifier" | "date":
                rules.append(Same(column))
            case "number" | "category" | "vector" | "constant" | "key":
                pass
            case _:
                raise ValueError(
                    f"column {column!r} has kind {kind!r}; choose among name, text, identifier, number, date, "
                    "category, list, vector, constant, key"
                )
    if not rules:  # weak columns serve where there is nothing better
        rules += [SortedNeighbourhood(column, 20) for column, kind in kinds.items() if kind == "number"]
        rules += [Same(column) for column, kind in kinds.items() if kind == "category"]
    if not rules:
        raise ValueError(f"no column to block by among {dict(kinds)}; give a Blocking with rules of your own")
    return Blocking(tuple(rules), max_block=max_block)
