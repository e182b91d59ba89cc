"""Models, evidence and answers in the format of the UAI inference competitions."""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class UaiModel(NamedTuple):
    """A model as tables of potentials."""

    n_values: NDArray[np.int32]  # (V,)
    scopes: list[tuple[int, ...]]
    tables: list[NDArray[np.float64]]  # not below 0, one axis for each variable of the scope

    @property
    def n_variables(self) -> int:
        """How many variables there are."""
        return len(self.n_values)


class _Words:
    """The words of a file, taken one by one, with what is wrong said by file and word."""

    def __init__(self, path: str | os.PathLike[str]):
        self.path = Path(path)
        try:
            self._words = self.path.read_text(encoding="utf-8").split()
        except UnicodeDecodeError as error:
            raise ValueError(f"{self.path} is no text: byte {error.start} cannot be read; give a UAI file") from None
        self._at = 0

    def take(self, n: int, what: str) -> list[str]:
        """The next so many words."""
        words = self._words[self._at : self._at + n]
        if len(words) < n:
            raise ValueError(
                f"{self.path} ends after {len(self._words)} words, in the middle of {what}; "
                "it seems to be cut off: get it again"
            )
        self._at += n
        return words

    def whole(self, what: str, least: int = 0, below: int | None = None) -> int:
        """The next word, a whole number within bounds."""
        word = self.take(1, what)[0]
        try:
            number = int(word)
        except ValueError:
            raise ValueError(f"{self.path}: word {self._at} is {word!r}, where {what} belongs") from None
        if number < least or (below is not None and number >= below):
            bounds = f"at least {least}" if below is None else f"from {least} to {below - 1}"
            raise ValueError(f"{self.path}: word {self._at} says that {what} is {number}; it must be {bounds}")
        return number

    def reals(self, n: int, what: str) -> NDArray[np.float64]:
        """The next so many numbers."""
        words = self.take(n, what)
        try:
            return np.array(words, dtype=np.float64)
        except ValueError:
            raise ValueError(f"{self.path}: {what} holds a word that is no number") from None

    @property
    def n_left(self) -> int:
        """How many words were not taken."""
        return len(self._words) - self._at


def read_uai(path: str | os.PathLike[str]) -> UaiModel:
    """Read a model (``MARKOV`` or ``BAYES``).

    Parameters
    ----------
    path : path
    """
    words = _Words(path)
    kind = words.take(1, "its first word")[0]
    if kind.upper() not in ("MARKOV", "BAYES"):
        raise ValueError(f"{path} begins with {kind!r}; a UAI model begins with MARKOV or BAYES")
    n_variables = words.whole("the number of variables", least=1)
    n_values = np.array(
        [words.whole(f"the number of values of variable {v}", least=1) for v in range(n_variables)], np.int32
    )
    scopes: list[tuple[int, ...]] = []
    for f in range(words.whole("the number of factors")):
        arity = words.whole(f"the number of variables of factor {f}")
        scope = tuple(words.whole(f"a variable of factor {f}", below=n_variables) for _ in range(arity))
        if len(set(scope)) < arity:
            raise ValueError(f"{path}: factor {f} joins variables {list(scope)}, one of them twice")
        scopes.append(scope)
    tables = []
    for f, scope in enumerate(scopes):
        shape = tuple(n_values[list(scope)].tolist())
        cells = int(np.prod(shape))
        n = words.whole(f"the number of entries of factor {f}")
        if n != cells:
            raise ValueError(f"{path}: factor {f} has {n} entries; its variables {list(scope)} take {cells}")
        table = words.reals(n, f"the table of factor {f}")
        wrong = np.flatnonzero(~(np.isfinite(table) & (table >= 0.0)))
        if len(wrong):
            raise ValueError(f"{path}: entry {wrong[0]} of factor {f} is {table[wrong[0]]}; give 0 or more")
        tables.append(table.reshape(shape))
    if words.n_left:
        raise ValueError(f"{path} goes on for {words.n_left} words after its last table; is it one model?")
    return UaiModel(n_values, scopes, tables)


def read_uai_evidence(path: str | os.PathLike[str], n_values: NDArray[np.integer]) -> dict[int, int]:
    """Read what is observed: the value of some variables.

    Parameters
    ----------
    path : path
    n_values : int array (V,)
        Of the model that it is about.
    """
    words = _Words(path)
    seen: dict[int, int] = {}
    for k in range(words.whole("the number of observed variables")):
        v = words.whole(f"observed variable {k}", below=len(n_values))
        value = words.whole(f"the value of variable {v}", below=int(n_values[v]))
        if seen.setdefault(v, value) != value:
            raise ValueError(f"{path} observes variable {v} as {seen[v]} and as {value}; leave one out")
    return seen


def read_uai_marginals(path: str | os.PathLike[str]) -> list[NDArray[np.float64]]:
    """Read an answer to ``MAR``: the probabilities of each variable's values."""
    words = _Words(path)
    _check_task(words, "MAR")
    n_variables = words.whole("the number of variables")
    return [
        words.reals(words.whole(f"the number of values of variable {v}", least=1), f"the marginals of variable {v}")
        for v in range(n_variables)
    ]


def read_uai_partition(path: str | os.PathLike[str]) -> float:
    """Read an answer to ``PR``: the logarithm, to base 10, of the partition function."""
    words = _Words(path)
    _check_task(words, "PR")
    return float(words.reals(1, "log10 Z")[0])


def _check_task(words: _Words, task: str) -> None:
    said = words.take(1, "its first word")[0]
    if said != task:
        raise ValueError(f"{words.path} begins with {said!r}; an answer to {task} begins with {task}")


def write_uai_marginals(marginals: NDArray[np.floating], n_values: NDArray[np.integer]) -> str:
    """An answer to ``MAR``, as text.

    Examples
    --------
    >>> write_uai_marginals(np.array([[0.25, 0.75]]), np.array([2]))
    'MAR\\n1 2 0.25 0.75\\n'
    """
    parts = [str(len(n_values))]
    for row, k in zip(marginals, n_values.tolist(), strict=True):
        parts += [str(k), *(f"{p:.6g}" for p in row[:k])]
    return f"MAR\n{' '.join(parts)}\n"


def write_uai_partition(log_partition: float) -> str:
    """An answer to ``PR``, as text, from a natural logarithm.

    Examples
    --------
    >>> write_uai_partition(float(np.log(1000.0)))
    'PR\\n3\\n'
    """
    return f"PR\n{log_partition / np.log(10.0):.8g}\n"
