"""A loop that finds out which columns of features are alike."""

import numpy as np

from walkstep.compiled import compiled
from walkstep.features._kernels.hashing import SEED, mix


@compiled
def column_keys(row_ptr, row_index, value_bits, n_columns):
    """Two keys for each column, which only columns with the same entries in the same rows have in common."""
    first, second = np.zeros(n_columns, np.uint64), np.zeros(n_columns, np.uint64)
    for r in range(len(row_ptr) - 1):
        one = mix(SEED, np.uint64(r))
        other = mix(one, SEED)
        for p in range(row_ptr[r], row_ptr[r + 1]):
            c = row_index[p]
            if len(value_bits):
                first[c] += mix(one, value_bits[p])
                second[c] += mix(other, value_bits[p])
            else:
                first[c] += one
                second[c] += other
    return first, second
