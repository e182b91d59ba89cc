"""Readers: one file format each, chosen by hand or, for feature rows, by the file's name."""

import os
from pathlib import Path

from walkstep.data.label_sets import LabelledRows
from walkstep.data.readers._columns import Labels
from walkstep.data.readers.arff import read_arff
from walkstep.data.readers.conll import read_conll, read_sentences, read_tokens, write_conll
from walkstep.data.readers.hierarchical import read_hierarchical
from walkstep.data.readers.libsvm import read_libsvm
from walkstep.data.readers.ranked_rows import read_ranked_rows
from walkstep.data.readers.table import read_csv_rows

__all__ = [
    "read_arff",
    "read_conll",
    "read_csv_rows",
    "read_hierarchical",
    "read_libsvm",
    "read_ranked_rows",
    "read_rows",
    "read_sentences",
    "read_tokens",
    "write_conll",
]

_READER_OF_ENDING = {
    ".arff": read_arff,
    ".libsvm": read_libsvm,
    ".svm": read_libsvm,
    ".txt": read_libsvm,
    ".csv": read_csv_rows,
}


def read_rows(path: str | os.PathLike, labels: Labels = None) -> LabelledRows:
    """Read feature rows with label sets, in the format that the file's name tells.

    ``.arff`` is read by `read_arff`, ``.libsvm``, ``.svm`` and ``.txt`` by `read_libsvm`, ``.csv`` by
    `read_csv_rows`; each may be packed as ``.gz``.

    Parameters
    ----------
    path : path
        The file.
    labels : int, sequence of str, str, path, or None
        Which columns are labels, as the reader of that format explains.

    Examples
    --------
    >>> read_rows("rows.xlsx")
    Traceback (most recent call last):
    ...
    ValueError: rows.xlsx ends in '.xlsx', which is no known format; \
give one of .arff, .libsvm, .svm, .txt, .csv, or one of these with .gz
    """
    name = Path(path).name.lower().removesuffix(".gz")
    ending = Path(name).suffix
    reader = _READER_OF_ENDING.get(ending)
    if reader is None:
        raise ValueError(
            f"{path} ends in {ending!r}, which is no known format; "
            f"give one of {', '.join(_READER_OF_ENDING)}, or one of these with .gz"
        )
    return reader(path, labels=labels)
