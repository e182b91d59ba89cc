"""Grounding: templates on token sequences, and the graph that they make."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from walkstep.data.sequences import Sequences
from walkstep.features.clusters import as_clusters
from walkstep.features.default_features import DEFAULT_FEATURES
from walkstep.features.expression import Expression, parse_features
from walkstep.features.gazetteers import Gazetteer, as_gazetteers
from walkstep.features.observation import Function, Observation
from walkstep.features.properties import PROPERTIES, parts_of
from walkstep.features.resources import check_savable, pack_resources, part_of, under, unpack_resources
from walkstep.features.rows import SparseRows
from walkstep.features.tokens import TokenFeatures
from walkstep.model.conditions import values_in
from walkstep.model.domains import Domain
from walkstep.model.evidence import Evidence, Positions
from walkstep.model.factors import Factors
from walkstep.model.graph import Graph, ground
from walkstep.model.pairs import positions_of, ranges
from walkstep.model.plain import from_plain, to_plain
from walkstep.model.template_checks import block_names, check_names, check_variables, names_in
from walkstep.model.templates import Default, Feature, Template
from walkstep.model.weights import Layout

_LISTS = {"gazetteer", "lower_gazetteer"}


class Grounding:
    """Templates on token sequences: features are numbered once, on the training data, and graphs made of any.

    Variables are numbered domain by domain: token ``t`` has variable ``d * n_tokens + t`` of the ``d``-th
    domain. Templates with the same list of features share one vocabulary.

    Parameters
    ----------
    templates : iterable of Template
        The model.
    min_count, n_buckets, gazetteers, clusters, functions, keep_names
        As for :class:`~walkstep.features.tokens.TokenFeatures`; conditions, too, may use gazetteers,
        clusters and functions.

    Examples
    --------
    >>> from walkstep.model.templates import linear_chain
    >>> corpus = Sequences.from_lists([["Ada", "wrote"], ["She", "wrote", "well"]])
    >>> tag = Domain("tag", ("O", "NAME"))
    >>> grounding = Grounding(linear_chain(["lower"]))
    >>> graph, layout = grounding.fit_ground(corpus, tag)
    >>> graph.n_variables, graph.n_factors, [(block.name, block.n_rows) for block in layout]
    (5, 8, [('emission', 5), ('transition', 1)])
    >>> grounding.ground(Sequences.from_lists([["Bob", "wrote"]]))[0].n_factors
    3
    """

    def __init__(
        self,
        templates: Iterable[Template],
        *,
        min_count: int = 1,
        n_buckets: int | None = None,
        gazetteers: Mapping[str, str | Path | Iterable[str] | Gazetteer] | None = None,
        clusters: str | Path | Mapping[str, str] | None = None,
        functions: Mapping[str, Function] | None = None,
        keep_names: bool = False,
    ) -> None:
        self.templates = tuple(templates)
        self.block_names = block_names(self.templates)
        self.min_count, self.n_buckets, self.keep_names = min_count, n_buckets, keep_names
        self.gazetteers = None if gazetteers is None else as_gazetteers(gazetteers)
        self.clusters = None if clusters is None else as_clusters(clusters)
        self.functions = dict(functions or {})
        self.domains: tuple[Domain, ...] = ()
        self._matrices: list[TokenFeatures] = []
        self._matrix_of: list[tuple[int, int]] = []  # of each template: seen from i and from j, -1 for none
        self._layout: Layout | None = None

    @property
    def layout(self) -> Layout:
        """Where the weights lie."""
        if self._layout is None:
            raise ValueError("this grounding is not fitted; call fit or fit_ground with the training data first")
        return self._layout

    def fit(self, sequences: Sequences, *domains: Domain) -> "Grounding":
        """Number the features of the training data, and lay out the weights."""
        self._fit(sequences, domains)
        return self

    def fit_ground(self, sequences: Sequences, *domains: Domain) -> tuple[Graph, Layout]:
        """The same as :meth:`fit` and then :meth:`ground`, at the price of one.

        Parameters
        ----------
        sequences : Sequences
            The training data.
        *domains : Domain
            The label variables that every token has, by name.
        """
        return self._ground(sequences, self._fit(sequences, domains))

    def ground(self, sequences: Sequences) -> tuple[Graph, Layout]:
        """The graph of any data, under the layout of the training data.

        Features that the training data did not show are left out.

        Returns
        -------
        graph : Graph
        layout : Layout
        """
        return self._ground(sequences, self._transform(sequences))

    def factors(self, sequences: Sequences) -> list[Factors]:
        """What each template makes of the data, before it is frozen; templates that make nothing are left out."""
        return self._factors(sequences, self._transform(sequences))

    def feature_names(self, block: str) -> list[str]:
        """Names of a weight block's rows, the bias last; what is seen from ``j`` says so."""
        if block not in self.layout:
            raise KeyError(f"no weights are called {block!r}; there are {list(dict.fromkeys(self.block_names))}")
        at = self.block_names.index(block)
        i, j = self._matrix_of[at]
        names = self._matrices[i].names() if i >= 0 else []
        names += [f"{name} at j" for name in self._matrices[j].names()] if j >= 0 else []
        return names + ["bias"] * self.templates[at].has_bias

    def state(self, *, without_functions: bool = False) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """What :meth:`from_state` needs, without code in it: a description for JSON, and plain arrays.

        Parameters
        ----------
        without_functions : bool
            Leave out the user's functions, to be passed again to :meth:`from_state`.
        """
        _ = self.layout
        check_savable(self.functions, without_functions)
        # Features save the lists that they use; here, those that conditions ask for.
        asked = {value.name for template in self.templates for value in values_in(template.where)}
        resources, arrays = pack_resources(
            self.gazetteers if asked & _LISTS else None, self.clusters if "cluster" in asked else None, self.functions
        )
        descriptions = []
        for k, matrix in enumerate(self._matrices):
            description, held = matrix.state(without_functions=True)
            descriptions.append(description)
            arrays |= under(f"features{k}", held)
        state = {
            "templates": [to_plain(template) for template in self.templates],
            "domains": [{"name": domain.name, "values": list(domain.values)} for domain in self.domains],
            "features": descriptions,
            "matrix_of": [list(pair) for pair in self._matrix_of],
            **resources,
        }
        return state, arrays

    @classmethod
    def from_state(
        cls,
        description: Mapping[str, Any],
        arrays: Mapping[str, NDArray[Any]],
        *,
        functions: Mapping[str, Function] | None = None,
    ) -> "Grounding":
        """The grounding that :meth:`state` described, fitted.

        Parameters
        ----------
        description, arrays
            What :meth:`state` gave.
        functions : mapping of str to callable, optional
            The user's functions, where there were any.
        """
        grounding = cls(
            [from_plain(template) for template in description["templates"]],
            **unpack_resources(description, arrays, functions),
        )
        grounding._matrices = [
            TokenFeatures.from_state(features, part_of(arrays, f"features{k}"), functions=functions)
            for k, features in enumerate(description["features"])
        ]
        grounding._matrix_of = [(i, j) for i, j in description["matrix_of"]]
        if grounding._matrices:
            first = grounding._matrices[0]
            grounding.min_count, grounding.n_buckets = first.min_count, first.n_buckets
            grounding.keep_names = first.keep_names
        domains = [Domain(domain["name"], tuple(domain["values"])) for domain in description["domains"]]
        grounding._lay_out(domains)
        return grounding

    def _fit(self, sequences: Sequences, domains: Sequence[Domain]) -> list[SparseRows]:
        """Learn the features, and give their rows."""
        _check_tokens(sequences)
        check_variables(self.templates, [domain.name for domain in domains])
        lists: dict[tuple[Expression, ...], int] = {(): -1}
        self._matrix_of = []
        for template in self.templates:
            check_names(template, sequences.columns, self.functions)
            self._check_lists(template)
            seen = (_expand(template.features), template.j_features)
            i, j = (lists.setdefault(expressions, len(lists) - 1) for expressions in seen)
            self._matrix_of.append((i, j))
        self._matrices = [self._token_features(expressions) for expressions in lists if expressions]
        rows = [matrix.fit_transform(sequences) for matrix in self._matrices]
        self._lay_out(domains)
        return rows

    def _token_features(self, expressions: tuple[Expression, ...]) -> TokenFeatures:
        """Features with those lists and functions only that they use, lest each keeps a copy of all."""
        used = {part.name for expression in expressions for part in parts_of(expression)}
        return TokenFeatures(
            expressions,
            min_count=self.min_count,
            n_buckets=self.n_buckets,
            gazetteers=self.gazetteers if used & _LISTS else None,
            clusters=self.clusters if "cluster" in used else None,
            functions={name: function for name, function in self.functions.items() if name in used},
            keep_names=self.keep_names,
        )

    def _lay_out(self, domains: Sequence[Domain]) -> None:
        """Give every block its place; data is not needed for that, so that no block depends on it."""
        self.domains = tuple(domains)
        size = {domain.name: len(domain) for domain in domains}
        blocks: dict[str, tuple[str, int, int, tuple[int, ...]]] = {}
        for name, template, pair in zip(self.block_names, self.templates, self._matrix_of, strict=True):
            n_rows = sum(self._matrices[k].n_features for k in pair if k >= 0) + template.has_bias
            blocks[name] = (name, 1, n_rows, tuple(size[site.variable] for site in template.scope))
        self._layout = Layout.of(list(blocks.values()))

    def _transform(self, sequences: Sequences) -> list[SparseRows]:
        """The rows of new data."""
        _ = self.layout
        _check_tokens(sequences)
        for matrix in self._matrices:
            for part in (part for expression in matrix.expressions for part in parts_of(expression)):
                if part.name not in PROPERTIES and part.name not in {*self.functions, *sequences.columns}:
                    raise ValueError(
                        f"the model was trained with the column {part.name!r}, and this data has "
                        f"{', '.join(sequences.columns) or 'no further columns'}; add it, or train without"
                    )
        for template in self.templates:
            check_names(template, sequences.columns, self.functions)
        return [matrix.transform(sequences) for matrix in self._matrices]

    def _ground(self, sequences: Sequences, rows: list[SparseRows]) -> tuple[Graph, Layout]:
        n_values = np.repeat([len(domain) for domain in self.domains], sequences.n_tokens)
        return ground(n_values, self._factors(sequences, rows), self.layout)

    def _factors(self, sequences: Sequences, rows: list[SparseRows]) -> list[Factors]:
        observation = Observation(
            sequences, gazetteers=self.gazetteers, clusters=self.clusters, functions=self.functions
        )
        evidence = Evidence(observation)
        base = {domain.name: d * sequences.n_tokens for d, domain in enumerate(self.domains)}
        made = []
        for name, template, (seen, seen_j) in zip(self.block_names, self.templates, self._matrix_of, strict=True):
            i, j = positions_of(evidence, template)
            if len(i) == 0:
                continue
            scopes = np.stack(
                [base[s.variable] + (i if s.index == "i" else j) + s.offset for s in template.scope], axis=1
            )
            features, row = None, None
            if seen >= 0 and seen_j >= 0:
                features = _side_by_side(rows[seen], i, rows[seen_j], j)
            elif seen >= 0 or seen_j >= 0:
                features, row = (rows[seen], i) if seen >= 0 else (rows[seen_j], j)
            made.append(Factors(name, scopes, features, row, bias=template.has_bias))
        return made

    def _check_lists(self, template: Template) -> None:
        """Gazetteers and clusters must be there where they are asked for."""
        for part, name in names_in(template):
            if name == "cluster" and self.clusters is None:
                raise template.error("'cluster' needs clusters; pass clusters=, a file of Brown clusters", part)
            if name in _LISTS and self.gazetteers is None:
                raise template.error(f"{name!r} needs lists; pass gazetteers={{name: file}}", part)


def _check_tokens(sequences: Sequences) -> None:
    """There must be something to stand on."""
    if sequences.n_tokens == 0:
        raise ValueError("there are no tokens; give at least one sentence")


def _expand(features: tuple[Feature, ...]) -> tuple[Expression, ...]:
    """The features with the defaults spelled out, none twice."""
    named = {feature for feature in features if not isinstance(feature, Default)}
    spelled: list[Expression] = []
    for feature in features:
        if isinstance(feature, Default):
            spelled += [e for e in parse_features(DEFAULT_FEATURES) if e not in named]
        else:
            spelled.append(feature)
    return tuple(spelled)


def _side_by_side(one: SparseRows, rows: Positions, other: SparseRows, other_rows: Positions) -> SparseRows:
    """For each factor a row of one matrix, and beside it a row of another."""
    counts = [np.diff(matrix.ptr)[at] for matrix, at in ((one, rows), (other, other_rows))]
    ptr = np.zeros(len(rows) + 1, np.int64)
    np.cumsum(counts[0] + counts[1], out=ptr[1:])
    index = np.empty(ptr[-1], np.int32)
    index[ranges(ptr[:-1], counts[0])] = one.index[ranges(one.ptr[rows], counts[0])]
    index[ranges(ptr[:-1] + counts[0], counts[1])] = (
        other.index[ranges(other.ptr[other_rows], counts[1])] + one.n_columns
    )
    return SparseRows(ptr, index, np.zeros(0), one.n_columns + other.n_columns)
