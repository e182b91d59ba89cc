"""Random numbers inside compiled loops: xoshiro256++ on an array of four words.

NumPy's generators cost more than the move they serve (measured: 100 ns a step, most of it the
generator); this one is a few additions and shifts, and its whole state is data.
"""

import numpy as np
from numpy.typing import NDArray

from walkstep.compiled import compiled

Seed = int | np.random.Generator | None


def as_generator(seed: Seed) -> np.random.Generator:
    """A NumPy generator from a seed, or the generator itself."""
    return seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)


def stream(seed: Seed) -> NDArray[np.uint64]:
    """A fresh state for compiled loops, drawn from a NumPy generator or a seed.

    Examples
    --------
    >>> stream(0).dtype, stream(0).shape
    (dtype('uint64'), (4,))
    """
    return as_generator(seed).integers(1, 2**64 - 1, size=4, dtype=np.uint64)


@compiled(inline=True)
def next_word(rng):
    """The next 64 random bits (Blackman and Vigna, 2021)."""
    s0, s1, s2, s3 = rng[0], rng[1], rng[2], rng[3]
    sum_ = s0 + s3
    result = ((sum_ << np.uint64(23)) | (sum_ >> np.uint64(41))) + s0
    t = s1 << np.uint64(17)
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = (s3 << np.uint64(45)) | (s3 >> np.uint64(19))
    rng[0], rng[1], rng[2], rng[3] = s0, s1, s2, s3
    return result


@compiled(inline=True)
def uniform(rng):
    """A number in [0, 1) with 53 random bits."""
    return np.float64(next_word(rng) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled(inline=True)
def below(rng, n):
    """A whole number in 0..n-1 (bias under n / 2**53)."""
    return np.int64(uniform(rng) * n)
