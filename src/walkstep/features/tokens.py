"""Token features: sequences in, sparse rows out."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.data.sequences import Sequences
from walkstep.features.clusters import as_clusters
from walkstep.features.expression import Conjunction, Expression, parse_features
from walkstep.features.feature_names import FeatureNames
from walkstep.features.gazetteers import Gazetteer, as_gazetteers
from walkstep.features.grounding import assemble, ground, is_frequent, merge_symbols
from walkstep.features.observation import Function, Observation
from walkstep.features.properties import PROPERTIES, check_expression, parts_of
from walkstep.features.resources import check_savable, pack_resources, part_of, under, unpack_resources
from walkstep.features.rows import SparseRows
from walkstep.features.vocabulary import Vocabulary


class TokenFeatures:
    """Binary features of tokens, numbered when fitted.

    Parameters
    ----------
    expressions : iterable of str or Expression
        What to ask of each token, in compact notation or read already;
        see :data:`~walkstep.features.properties.PROPERTIES` and :func:`~walkstep.features.expression.parse_feature`.
    min_count : int
        Features that fewer tokens have are left out.
    n_buckets : int, optional
        Number features by hashing into so many buckets instead of keeping a vocabulary; nothing is then
        unknown, and some features share a number.
    gazetteers : mapping of str to path, phrases or Gazetteer, optional
        Lists by name: files with one phrase a line, or the phrases.
    clusters : path or mapping of str to str, optional
        Bit strings of words: a file of Brown clusters, or a mapping.
    functions : mapping of str to callable, optional
        Properties of your own by name, ``word -> str or several``; called once for each distinct word.
    keep_names : bool
        Keep what :meth:`names` needs.

    Examples
    --------
    >>> corpus = Sequences.from_lists([["Ada", "wrote"], ["She", "wrote"]])
    >>> features = TokenFeatures(["lower", "shape[-1]"], keep_names=True)
    >>> rows = features.fit_transform(corpus)
    >>> rows.ptr, rows.index, features.n_features
    (array([0, 2, 4, 6, 8]), array([0, 4, 1, 3, 2, 4, 1, 3], dtype=int32), 5)
    >>> features.names()
    ['lower=ada', 'lower=wrote', 'lower=she', 'shape[-1]=Xxx', 'shape[-1]=<start-1>']
    """

    def __init__(
        self,
        expressions: Iterable[str | Expression],
        *,
        min_count: int = 1,
        n_buckets: int | None = None,
        gazetteers: Mapping[str, str | Path | Iterable[str] | Gazetteer] | None = None,
        clusters: str | Path | Mapping[str, str] | None = None,
        functions: Mapping[str, Function] | None = None,
        keep_names: bool = False,
    ) -> None:
        self.expressions = parse_features(expressions)
        self.functions = dict(functions or {})
        for name in self.functions:
            if name in PROPERTIES:
                raise ValueError(f"function {name!r} has the name of a built-in property; rename it")
        for expression in self.expressions:
            check_expression(expression, self.functions)
        if min_count < 1:
            raise ValueError(f"min_count is {min_count}; give 1 or more")
        if n_buckets is not None and (min_count > 1 or keep_names):
            wish = f"min_count={min_count}" if min_count > 1 else "keep_names=True"
            raise ValueError(f"{wish} needs a vocabulary, which n_buckets={n_buckets} does without; drop one")
        self.min_count, self.n_buckets, self.keep_names = min_count, n_buckets, keep_names
        self.gazetteers = None if gazetteers is None else as_gazetteers(gazetteers)
        self.clusters = None if clusters is None else as_clusters(clusters)
        used = {part.name for expression in self.expressions for part in parts_of(expression)}
        if self.clusters is None and "cluster" in used:
            raise ValueError("feature 'cluster' needs clusters; pass clusters=, a file of Brown clusters")
        if self.gazetteers is None and used & {"gazetteer", "lower_gazetteer"}:
            raise ValueError("feature 'gazetteer' needs lists; pass gazetteers={name: file}")
        self._vocabulary = None if n_buckets is None else Vocabulary(n_buckets=n_buckets)
        self._names: FeatureNames | None = None

    @property
    def n_features(self) -> int:
        """How many columns the rows have."""
        return self._fitted().n_features

    def fit(self, sequences: Sequences) -> "TokenFeatures":
        """Number the features of a corpus."""
        self.fit_transform(sequences)
        return self

    def fit_transform(self, sequences: Sequences) -> SparseRows:
        """Number the features of a corpus, and give its rows.

        Returns
        -------
        SparseRows
            One row a token, all entries 1.
        """
        if self.n_buckets is not None:
            return self.transform(sequences)
        observation = self._observe(sequences)
        grounded, features, kept_keys = [], [], [np.zeros(0, np.uint64)]
        names = FeatureNames() if self.keep_names else None
        n_features = 0
        for expression in self.expressions:
            here = ground(observation, expression)
            if isinstance(expression, Conjunction):
                here = merge_symbols(here)
            is_kept = is_frequent(observation, here, self.min_count)
            number = np.cumsum(is_kept)
            features.append(np.where(is_kept, n_features - 1 + number, -1).astype(np.int32))
            kept_keys.append(here.keys[is_kept])
            grounded.append(here)
            n_features += len(kept_keys[-1])
            if names is not None:
                names.add(observation, expression, here, is_kept)
        self._vocabulary = Vocabulary(np.concatenate(kept_keys))
        self._names = names
        return assemble(observation, grounded, features, n_features, may_collide=False)

    def transform(self, sequences: Sequences) -> SparseRows:
        """The rows of a corpus; features that were not there to be numbered are dropped."""
        vocabulary = self._fitted()
        observation = self._observe(sequences)
        grounded = [ground(observation, expression) for expression in self.expressions]
        features = [vocabulary.find(here.keys) for here in grounded]
        return assemble(observation, grounded, features, vocabulary.n_features, may_collide=self.n_buckets is not None)

    def names(self) -> list[str]:
        """The name of every feature, such as ``word[-1]=Peter``."""
        self._fitted()
        if self._names is None:
            raise ValueError("feature names were not kept; set keep_names=True before fitting")
        return self._names.render(self.expressions)

    def state(self, *, without_functions: bool = False) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What :meth:`from_state` needs, without code in it: a description for JSON, and plain arrays.

        Parameters
        ----------
        without_functions : bool
            Leave out the user's functions, to be passed again to :meth:`from_state`.
        """
        vocabulary = self._fitted()
        check_savable(self.functions, without_functions)
        resources, arrays = pack_resources(self.gazetteers, self.clusters, self.functions)
        arrays |= under("vocabulary", vocabulary.state())
        if self._names is not None:
            arrays |= under("names", self._names.state())
        description = {
            "expressions": list(map(str, self.expressions)),
            "min_count": self.min_count,
            "n_buckets": self.n_buckets,
            "keep_names": self.keep_names,
            **resources,
        }
        return description, arrays

    @classmethod
    def from_state(
        cls,
        description: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        *,
        functions: Mapping[str, Function] | None = None,
    ) -> "TokenFeatures":
        """The features that :meth:`state` described, fitted.

        Parameters
        ----------
        description, arrays
            What :meth:`state` gave.
        functions : mapping of str to callable, optional
            The user's functions, where there were any.
        """
        features = cls(
            description["expressions"],
            min_count=description["min_count"],
            n_buckets=description["n_buckets"],
            keep_names=description["keep_names"],
            **unpack_resources(description, arrays, functions),
        )
        features._vocabulary = Vocabulary.from_state(part_of(arrays, "vocabulary"))
        if description["keep_names"]:
            features._names = FeatureNames.from_state(part_of(arrays, "names"))
        return features

    def _observe(self, sequences: Sequences) -> Observation:
        """A corpus with what came with the features."""
        return Observation(sequences, gazetteers=self.gazetteers, clusters=self.clusters, functions=self.functions)

    def _fitted(self) -> Vocabulary:
        """The vocabulary, once there is one."""
        if self._vocabulary is None:
            raise ValueError("these token features are not fitted; call fit_transform first")
        return self._vocabulary
