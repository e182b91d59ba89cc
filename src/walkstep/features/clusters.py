"""Word clusters as bit strings, in the format of Brown clusters."""

from collections.abc import Mapping
from pathlib import Path


def read_clusters(path: str | Path) -> dict[str, str]:
    """Read a clusters file: on each line the bit string, the word and its count, separated by tabs.

    Returns
    -------
    dict of str to str
        The bit string of each word.
    """
    path = Path(path)
    bits_of_word: dict[str, str] = {}
    for number, raw in enumerate(path.read_bytes().split(b"\n"), 1):
        try:
            line = raw.decode("utf-8").rstrip("\r")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}, line {number}: not UTF-8 ({raw[error.start : error.end]!r}); save the file as UTF-8"
            ) from None
        if not line:
            continue
        bits, *rest = line.split("\t")
        if len(rest) not in (1, 2) or not bits or bits.strip("01"):
            raise ValueError(
                f"{path}, line {number}: {line!r} is not a bit string, a word and a count separated by tabs; "
                "give the 'paths' file that Brown clustering writes"
            )
        bits_of_word[rest[0]] = bits
    if not bits_of_word:
        raise ValueError(f"{path} holds no word; give the 'paths' file that Brown clustering writes")
    return bits_of_word


def as_clusters(given: str | Path | Mapping[str, str]) -> dict[str, str]:
    """Bit strings by word, from a file or a mapping.

    Examples
    --------
    >>> as_clusters({"Monday": "0110"})
    {'Monday': '0110'}
    """
    if isinstance(given, str | Path):
        return read_clusters(given)
    for word, bits in given.items():
        if not bits or bits.strip("01"):
            raise ValueError(f"the cluster of word {word!r} is {bits!r}; give a string of 0s and 1s")
    return dict(given)
