"""What users supply beside the text, as plain data: lists of phrases, word clusters, functions of their own."""

from collections.abc import Iterable, Mapping
from typing import Any

from numpy.typing import NDArray

from walkstep.features.gazetteers import Gazetteer
from walkstep.features.observation import Function
from walkstep.features.texts import pack, unpack

Arrays = dict[str, NDArray[Any]]


def under(prefix: str, arrays: Mapping[str, NDArray[Any]]) -> Arrays:
    """The arrays with a prefix before their names; `part_of` takes it off again."""
    return {f"{prefix}.{name}": array for name, array in arrays.items()}


def part_of(arrays: Mapping[str, NDArray[Any]], prefix: str) -> Arrays:
    """The arrays whose names begin with a prefix, by the rest of their names."""
    start = f"{prefix}."
    return {name.removeprefix(start): array for name, array in arrays.items() if name.startswith(start)}


def check_savable(functions: Iterable[str], without_functions: bool) -> None:
    """Refuse to save functions, unless they are to be left out."""
    for name in functions:
        if not without_functions:
            raise ValueError(
                f"function {name!r} cannot be saved; pass without_functions=True here, "
                "and the functions again when loading"
            )


def pack_resources(
    gazetteers: Mapping[str, Gazetteer] | None, clusters: Mapping[str, str] | None, functions: Iterable[str]
) -> tuple[dict[str, Any], Arrays]:
    """A description for JSON, and plain arrays; of functions only their names."""
    arrays: Arrays = {}
    for k, gazetteer in enumerate((gazetteers or {}).values()):
        arrays |= under(f"gazetteer{k}", pack(gazetteer.phrases))
    if clusters is not None:
        arrays |= under("cluster_words", pack(list(clusters)))
        arrays |= under("cluster_bits", pack(list(clusters.values())))
    description = {
        "gazetteers": None if gazetteers is None else list(gazetteers),
        "clusters": clusters is not None,
        "functions": list(functions),
    }
    return description, arrays


def unpack_resources(
    description: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], functions: Mapping[str, Function] | None
) -> dict[str, Any]:
    """The gazetteers, clusters and functions that `pack_resources` described, by name of argument."""
    given = functions or {}
    for name in description["functions"]:
        if name not in given:
            raise ValueError(f"this model uses your function {name!r}; pass functions={{{name!r}: ...}}")
    names = description["gazetteers"]
    gazetteers = names and {name: Gazetteer(unpack(part_of(arrays, f"gazetteer{k}"))) for k, name in enumerate(names)}
    clusters = None
    if description["clusters"]:
        words, bits = (unpack(part_of(arrays, name)) for name in ("cluster_words", "cluster_bits"))
        clusters = dict(zip(words, bits, strict=True))
    return {
        "gazetteers": gazetteers,
        "clusters": clusters,
        "functions": {name: given[name] for name in description["functions"]},
    }
