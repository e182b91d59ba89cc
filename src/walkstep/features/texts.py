"""Many short texts as flat arrays: code points to compute on, bytes to save."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from walkstep.features._kernels.hashing import SEED, hash_lines, hash_texts


class Texts(NamedTuple):
    """Texts laid end to end: text ``t`` is ``codes[ptr[t]:ptr[t + 1]]``."""

    codes: NDArray[np.uint32]
    ptr: NDArray[np.int64]

    def keys(self) -> NDArray[np.uint64]:
        """The 64-bit key of each text."""
        return hash_texts(self.codes, self.ptr[:-1], self.ptr[1:], SEED)


def encode(texts: Sequence[str], *, lower: bool = False) -> Texts:
    """Lay texts end to end as code points.

    Parameters
    ----------
    texts : sequence of str
    lower : bool
        Put them in lower case first.

    Examples
    --------
    >>> encode(["NÉ", ""], lower=True)
    Texts(codes=array([110, 233], dtype=uint32), ptr=array([0, 2, 2]))
    """
    # Joined first: one call to lower and to encode for all of them. A line feed is no letter, so what stands
    # beyond it does not bear on how a letter is lowered.
    joined = "\n".join(texts)
    codes = _codes(joined.lower() if lower else joined)
    is_feed = codes == ord("\n")
    feeds = np.flatnonzero(is_feed)
    if len(feeds) == len(texts) - 1:
        codes = codes[~is_feed]
        ptr = np.concatenate([[0], feeds - np.arange(len(feeds)), [len(codes)]])
        return Texts(codes, ptr.astype(np.int64))
    if lower:
        texts = [text.lower() for text in texts]
    return Texts(_codes("".join(texts)), _ptr(list(map(len, texts))))


def keys_of(texts: Sequence[str]) -> NDArray[np.uint64]:
    """The key of each of many texts; what :meth:`Texts.keys` gives, without laying them end to end.

    Examples
    --------
    >>> bool((keys_of(["a", "b"]) == encode(["a", "b"]).keys()).all())
    True
    """
    # Faster than a dictionary of the texts, which would write a hash into every one of them.
    keys, is_complete = hash_lines(_codes("\n".join(texts)), len(texts))
    return keys if is_complete else encode(texts).keys()


def _codes(text: str) -> NDArray[np.uint32]:
    """The code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4").astype(np.uint32)


def pack(texts: Sequence[str]) -> dict[str, NDArray]:
    """Two arrays to save texts as.

    Examples
    --------
    >>> unpack(pack(["né", ""]))
    ['né', '']
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    return {"bytes": np.frombuffer(b"".join(encoded), np.uint8).copy(), "ptr": _ptr(list(map(len, encoded)))}


def unpack(arrays: Mapping[str, NDArray]) -> list[str]:
    """The texts that :func:`pack` packed."""
    whole = np.asarray(arrays["bytes"], np.uint8).tobytes()
    ptr = arrays["ptr"].tolist()
    return [whole[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(ptr)]


def _ptr(lengths: list[int]) -> NDArray[np.int64]:
    """Where each text begins and ends."""
    ptr = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=ptr[1:])
    return ptr
