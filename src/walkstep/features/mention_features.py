"""Mentions as a table, and what two of them are compared on: words, heads, kinds, agreement, distance, speakers."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.data.mention_properties import POSSESSIVES, PREPOSITIONS, word_set
from walkstep.data.mentions import DETERMINERS, GENDERS, MENTION_TYPES, NUMBERS, MentionDocuments
from walkstep.features.comparators import (
    Comparator,
    categories,
    containment,
    cosine,
    exact,
    initials,
    jaccard,
    jaro_winkler,
    lists,
    missing,
    number,
)
from walkstep.features.comparisons import Comparisons
from walkstep.features.encodings import encode

_PRONOUNS = {
    "I": "i me my mine myself",
    "we": "we us our ours ourselves",
    "you": "you your yours yourself yourselves thou thee thy thine ye",
    "he": "he him his himself",
    "she": "she her hers herself",
    "it": "it its itself",
    "they": "they them their theirs themselves 'em",
    "this": "this that these those",
    "who": "who whom whose which what",
}
_PRONOUN_KIND = {word: kind for kind, words in _PRONOUNS.items() for word in words.split()}
_CASES = {
    "subject": "i we he she they thou who ye",
    "object": "me us him them thee whom 'em",
    "possessive": "my mine our ours his their theirs your yours its hers thy thine whose",
    "reflexive": "myself ourselves himself herself itself themselves yourself yourselves thyself",
}
_CASE = {word: case for case, words in _CASES.items() for word in words.split()}
CASES = ("noun", *_CASES, "any")
"""The case of a pronoun where its form tells ("it" and "her" do not): two in one clause differ unless reflexive."""
_BY_DETERMINER = {"none": "bare"} | {name: name for name in DETERMINERS if name != "none"}
KINDS = ("proper", *(_BY_DETERMINER[name] for name in DETERMINERS), *_PRONOUNS)
"""What a mention is: a name, a noun by its determiner, or a pronoun by its person, gender and number."""


_ARTICLES = word_set("a an the this that these those my your his her its our their some any 's")
_BEING = word_set("is was are were am be been being 's 're 'm became become")
_OPENING, _CLOSING, _STRAIGHT = ("``", "“"), ("''", "”"), '"'
_ROLES = ("nsubj", "obj", "iobj", "obl", "nmod", "nmod:poss", "appos", "compound", "conj", "root", "dep")
_MOST_TYPES = 15
_RIVALS = (-20, -10, -6, -4, -3, -2, -1)
_GENITIVE = word_set("'s ’s '")
_OWNING = POSSESSIVES - {"her"}  # which is an object as well
_OPENERS = word_set("and but that if when while as because for though although than who which where so or then")
_GOVERNING = PREPOSITIONS - word_set("of for as")  # "of" tells a modifier, the others may open a clause
_SPEAKING = word_set(
    "said says say asked asks replied replies answered cried exclaimed muttered murmured whispered shouted observed "
    "remarked returned continued added inquired enquired repeated began demanded declared called thought rejoined "
    "responded responds told suggested screamed growled laughed sighed echoed explained interrupted"
)
_CLOSE = 6  # words between a quotation and the verb that tells whose it is


def mention_frame(documents: MentionDocuments) -> pl.DataFrame:
    """One row a mention, with the columns that comparators read; null where nothing is known.

    Examples
    --------
    >>> documents = MentionDocuments.from_dicts([{
    ...     "sentences": [["Ada", "Quill", ",", "the", "mayor", ",", "left", "."], ["She", "sighed", "."]],
    ...     "mentions": [{"sentence": 0, "start": 0, "end": 2}, {"sentence": 0, "start": 3, "end": 5},
    ...                  {"sentence": 1, "start": 0, "end": 1}]}])
    >>> mention_frame(documents).select("kind", "words", "apposition").to_dicts()[1]
    {'kind': 'definite', 'words': 'mayor', 'apposition': ['0 2', '0 5']}
    """
    kinds = [_kind(documents, m) for m in range(documents.n_mentions)]
    types = [MENTION_TYPES[t] for t in documents.mention_type]
    is_noun = [t != "pronoun" for t in types]
    is_name = [t == "proper" for t in types]
    words = [_content_words(text) for text in documents.text]
    modifiers = [_without(w, head) for w, head in zip(words, documents.head_text, strict=True)]
    document = documents.document_of_mention
    quotation = _quotations(documents)[documents.start]
    relation = documents.columns.get("relation")
    so_far = _so_far(documents, is_noun)
    voices = [
        f"{d} {speaker or f'quotation {q}'}"
        for d, speaker, q in zip(document.tolist(), documents.speaker, quotation.tolist(), strict=True)
    ]
    return pl.DataFrame(
        {
            "text": documents.text,
            "words": _where(is_noun, words),
            "head": _where(is_noun, documents.head_lemma),
            "modifiers": _where(is_noun, modifiers),
            "name": _where(is_name, words),
            "name_head": _where(is_name, documents.head_lemma),
            "pronoun": _where([not noun for noun in is_noun], [text.lower() for text in documents.text]),
            "kind": kinds,
            "mention_type": types,
            "entity_type": [t or None for t in documents.entity_type],
            "gender": [GENDERS[g] if g else None for g in documents.gender],
            "number": [NUMBERS[n] if n else None for n in documents.number],
            "voice": voices,
            "quotation": pl.Series([q if q >= 0 else None for q in quotation.tolist()], dtype=pl.Float64),
            "role": _guessed_roles(documents)
            if relation is None
            else [_role(relation[t]) for t in documents.head_token.tolist()],
            "case": [
                "noun" if noun else _CASE.get(text.lower(), "any")
                for noun, text in zip(is_noun, documents.text, strict=True)
            ],
            "speech": _speech(documents, quotation),
            **so_far,
            "sentence": documents.sentence.astype(np.float64),
            "order": np.arange(documents.n_mentions, dtype=np.float64),
            "place": [[str(t) for t in range(a, b)] for a, b in zip(documents.start, documents.end, strict=True)],
            "apposition": _neighbours(documents, word_set(",")),
            "copula": _neighbours(documents, _BEING),
        },
        schema_overrides={
            "entity_type": pl.String,
            "gender": pl.String,
            "number": pl.String,
            "role": pl.String,
            "apposition": pl.List(pl.String),
            "speech": pl.List(pl.String),
            "copula": pl.List(pl.String),
            "place": pl.List(pl.String),
        },
    )


def mention_comparators() -> list[Comparator]:
    """What pairs of mentions are compared on; of two mentions the earlier one is the first."""
    likeness = (0.2, 0.5, 0.8, 1.0)
    near = (1e-6,)
    return [
        categories("kind", KINDS, name="kinds"),
        categories("mention_type", MENTION_TYPES, name="mention types"),
        categories("entity_type", name="entity types"),
        categories("gender", GENDERS[1:], name="genders"),
        categories("number", NUMBERS[1:], name="numbers"),
        categories("role", _ROLES, name="roles"),
        exact("entity_type", name="same type"),
        exact("words", name="same words"),
        exact("head", name="same head"),
        exact("pronoun", name="same pronoun"),
        exact("voice", name="same voice"),
        missing("modifiers", name="which has modifiers"),
        jaccard("modifiers", (0.01, 0.5, 1.0), name="modifiers in common"),
        jaccard("words", likeness, name="words in common"),
        containment("words", likeness, name="words contained"),
        cosine("words", (0.1, 0.3, 0.5, 0.7, 0.9, 1.0), name="tf-idf"),
        jaro_winkler("head", (0.6, 0.75, 0.85, 0.95), name="head letters"),
        initials("name", (0.5, 1.0), name="initials"),
        jaccard("name", likeness, name="names in common"),
        number("sentence", (-30, -15, -8, -5, -3, -2, -1, 0), name="sentences between"),
        number("order", (-200, -100, -50, -25, -12, -6, -4, -3, -2, -1), name="mentions between"),
        number("quotation", (-4, -3, -2, -1, 0), name="quotations between"),
        categories("case", CASES, name="cases"),
        number("of_type", _RIVALS, name="of that type between"),
        number("noun_of_type", _RIVALS, name="nouns of that type between"),
        number("masculine", _RIVALS, name="men between"),
        number("feminine", _RIVALS, name="women between"),
        lists("speech", near, name="speaks"),
        lists("place", (1e-6, 0.5), name="nested"),
        lists("apposition", near, name="apposition"),
        lists("copula", near, name="copula"),
    ]


CONJUNCTIONS: tuple[tuple[str, ...], ...] = (
    ("kinds", "same words"),
    ("kinds", "same head"),
    ("kinds", "same type"),
    ("kinds", "same pronoun"),
    ("kinds", "same voice"),
    ("kinds", "sentences between"),
    ("kinds", "mentions between"),
    ("kinds", "quotations between"),
    ("kinds", "nested"),
    ("mention types", "genders", "numbers"),
    ("mention types", "tf-idf"),
    ("mention types", "words contained"),
    ("mention types", "apposition"),
    ("mention types", "copula"),
    ("mention types", "roles"),
    ("entity types", "same head"),
    ("entity types", "mention types"),
    ("same head", "which has modifiers", "modifiers in common"),
    ("same head", "sentences between", "mention types"),
    ("same type", "genders", "sentences between"),
    ("kinds", "speaks"),
    ("kinds", "of that type between"),
    ("kinds", "nouns of that type between"),
    ("kinds", "men between"),
    ("kinds", "women between"),
    ("cases", "genders", "sentences between"),
    ("cases", "numbers", "sentences between"),
    ("mention types", "roles", "sentences between"),
    ("same head", "nouns of that type between", "mention types"),
)
"""Comparators of `mention_comparators` whose levels are worth a weight together."""

DISTINCT_COLUMNS = ("entity_type", "gender", "number", "name_head", "head")
"""Columns of `mention_frame` whose distinct values within a cluster tell something."""


class EncodedMentions(NamedTuple):
    """Documents as partition worlds read them."""

    comparisons: Comparisons
    columns: dict[str, NDArray[np.int32]]  # value numbers of `DISTINCT_COLUMNS`, -1 where missing
    document_ptr: NDArray[np.int64]

    def document(self, d: int) -> "EncodedMentions":
        """One of the documents alone."""
        first, last = self.document_ptr[d : d + 2]
        rows = self.comparisons.value_of_record[first:last]
        rows.flags.writeable = False
        columns = {name: _renumbered(values[first:last]) for name, values in self.columns.items()}
        return EncodedMentions(
            self.comparisons._replace(value_of_record=rows), columns, np.array([0, last - first], np.int64)
        )


@dataclass(frozen=True)
class MentionFeatures:
    """Comparators settled on training documents: their entity types, and how rare their words are.

    Parameters
    ----------
    comparators : tuple of Comparator
    texts : tuple of str
        The words of the training mentions; TF-IDF weighs words by how many of these hold them.
    """

    comparators: tuple[Comparator, ...]
    texts: tuple[str, ...]

    @classmethod
    def fit(cls, documents: MentionDocuments, comparators: Sequence[Comparator] | None = None) -> "MentionFeatures":
        """Settle comparators, by default those of `mention_comparators`, on training documents.

        Examples
        --------
        >>> one = {"sentences": [["He"]], "mentions": [{"sentence": 0, "start": 0, "end": 1, "entity_type": "PER"}]}
        >>> features = MentionFeatures.fit(MentionDocuments.from_dicts([one]))
        >>> features.n_levels["mention types"], features.n_levels["entity types"]
        (10, 2)
        """
        frame = mention_frame(documents)
        settled = []
        for comparator in mention_comparators() if comparators is None else comparators:
            if comparator.kind == "categories" and not comparator.categories:
                counts = frame[comparator.column].drop_nulls().value_counts(sort=True)
                common = sorted(counts[comparator.column].to_list()[:_MOST_TYPES])
                comparator = replace(comparator, categories=tuple(common))
            settled.append(comparator)
        return cls(tuple(settled), tuple(frame["words"].drop_nulls().to_list()))

    @property
    def n_levels(self) -> dict[str, int]:
        """How many levels each comparator has, by name."""
        return {comparator.name: comparator.n_levels for comparator in self.comparators}

    def encode(self, documents: MentionDocuments) -> EncodedMentions:
        """Encode documents; what becomes of one does not depend on the others."""
        frame = mention_frame(documents)
        # Words are weighed by the first table that is encoded: that of the training mentions.
        known = pl.DataFrame({"words": self.texts}, schema={"words": pl.String})
        known = known.with_columns(
            pl.lit(None, dtype=frame[name].dtype).alias(name) for name in frame.columns if name != "words"
        )
        encoded = encode(known.select(frame.columns), self.comparators).extend(frame).comparisons
        rows = np.ascontiguousarray(encoded.value_of_record[len(known) :])
        rows.flags.writeable = False
        columns = {name: _renumbered(_codes(frame[name])) for name in DISTINCT_COLUMNS}
        return EncodedMentions(encoded._replace(value_of_record=rows), columns, documents.document_ptr)


def _kind(documents: MentionDocuments, m: int) -> str:
    """One of `KINDS`."""
    mention_type = MENTION_TYPES[documents.mention_type[m]]
    if mention_type == "proper":
        return "proper"
    if mention_type == "pronoun":
        return _PRONOUN_KIND.get(documents.head_text[m].lower(), "bare")
    return _BY_DETERMINER[DETERMINERS[documents.determiner[m]]]


def _content_words(text: str) -> str:
    """The words of a mention in small letters, without articles; all of them where nothing else is there."""
    words = text.lower().split()
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def _without(words: str, head: str) -> str | None:
    """The words but for the head."""
    return " ".join(word for word in words.split() if word != head.lower()) or None


def _where(holds: Sequence[bool], values: Sequence[str | None]) -> list[str | None]:
    """Values where something holds, null elsewhere."""
    return [value if yes else None for yes, value in zip(holds, values, strict=True)]


def _role(relation: str) -> str:
    """A dependency relation, the rare ones together."""
    for name in (relation, relation.split(":")[0]):
        if name in _ROLES:
            return name
    return "dep"


def _guessed_roles(documents: MentionDocuments) -> list[str]:
    """Without dependencies: what follows a preposition or "of", what opens a clause, what stands behind a verb."""
    roles = []
    begins = documents.start - documents.position
    ends = documents.sentence_ptr[np.searchsorted(documents.sentence_ptr, begins, side="right")]
    for start, end, first, last in zip(documents.start.tolist(), documents.end.tolist(), begins, ends, strict=True):
        before = documents.tokens[start - 1].lower() if start > first else ""
        after = documents.tokens[end].lower() if end < last else ""
        if after in _GENITIVE or documents.tokens[start].lower() in _OWNING:
            roles.append("nmod:poss")
        elif before == "of":
            roles.append("nmod")
        elif before in _GOVERNING:
            roles.append("obl")
        elif not before or before in _OPENERS or not before[:1].isalnum():
            roles.append("nsubj")
        else:
            roles.append("obj")
    return roles


def _so_far(documents: MentionDocuments, is_noun: Sequence[bool]) -> dict[str, list[float]]:
    """How many mentions that might be meant instead came before: of the same type, and men and women."""
    counts: dict[str, list[float]] = {name: [] for name in ("of_type", "noun_of_type", "masculine", "feminine")}
    genders = [GENDERS[g] for g in documents.gender]
    for first, last in zip(documents.document_ptr[:-1].tolist(), documents.document_ptr[1:].tolist(), strict=True):
        of_type: Counter[str] = Counter()
        nouns: Counter[str] = Counter()
        masculine = feminine = 0
        for m in range(first, last):
            kind = documents.entity_type[m]
            for name, count in zip(counts, (of_type[kind], nouns[kind], masculine, feminine), strict=True):
                counts[name].append(float(count))
            of_type[kind] += 1
            nouns[kind] += is_noun[m]
            masculine += is_noun[m] and genders[m] in ("unknown", "masculine")
            feminine += is_noun[m] and genders[m] in ("unknown", "feminine")
    return counts


def _speech(documents: MentionDocuments, quotation_of_mention: NDArray[np.int64]) -> list[list[str]]:
    """The quotations that a mention speaks, by its place beside a verb of speaking; "I" speaks the one it stands in."""
    spoken: list[list[str]] = [[] for _ in range(documents.n_mentions)]
    quotation = _quotations(documents)
    begins = {start: m for m, start in reversed(list(enumerate(documents.start.tolist())))}
    ends = {end: m for m, end in reversed(list(enumerate(documents.end.tolist())))}
    document = documents.document_of_mention.tolist()
    bounds = documents.sentence_ptr[documents.document_sentence_ptr].tolist()
    for first, last in pairwise(bounds):
        for t in range(first, last):
            if quotation[t] >= 0 or documents.tokens[t].lower() not in _SPEAKING:
                continue
            m = ends.get(t, begins.get(t + 1) if t + 1 < last else None) if t > first else None
            if m is None:
                continue
            near = quotation[max(first, t - _CLOSE) : min(last, t + _CLOSE)]
            spoken[m] += [f"{document[m]} {q}" for q in np.unique(near[near >= 0]).tolist()]
    for m, q in enumerate(quotation_of_mention.tolist()):
        if q >= 0 and _PRONOUN_KIND.get(documents.text[m].lower()) == "I":
            spoken[m].append(f"{document[m]} {q}")
    return spoken


def _quotations(documents: MentionDocuments) -> NDArray[np.int64]:
    """The number of the quotation that each token stands in, counted in its document; -1 outside of all."""
    quotation = np.full(documents.n_tokens, -1, np.int64)
    bounds = documents.sentence_ptr[documents.document_sentence_ptr]
    for first, last in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        is_open, n = False, -1
        for t in range(first, last):
            token = documents.tokens[t]
            if token in _OPENING or (token == _STRAIGHT and not is_open):
                is_open, n = True, n + 1
            elif token in _CLOSING or token == _STRAIGHT:
                is_open = False
            elif is_open:
                quotation[t] = n
    return quotation


def _neighbours(documents: MentionDocuments, between: frozenset[str]) -> list[list[str]]:
    """Places of single tokens that part a mention from its neighbours: two that share one stand on either side.

    Of mentions that begin or end together only the longest has the place, so that nested ones share none.
    """
    places: list[list[str]] = [[] for _ in range(documents.n_mentions)]
    before: dict[int, int] = {}  # the longest mention that begins after the token
    after: dict[int, int] = {}  # the longest mention that ends before it
    starts, ends = documents.start.tolist(), documents.end.tolist()
    for m, (start, end) in enumerate(zip(starts, ends, strict=True)):
        if start not in before or ends[before[start]] < end:
            before[start] = m
        if end not in after or starts[after[end]] > start:
            after[end] = m
    document = documents.document_of_mention.tolist()
    for start, m in before.items():
        if start > 0 and documents.tokens[start - 1].lower() in between:
            places[m].append(f"{document[m]} {start - 1}")
    for end, m in after.items():
        if end < documents.n_tokens and documents.tokens[end].lower() in between:
            places[m].append(f"{document[m]} {end}")
    return places


def _codes(series: pl.Series) -> NDArray[np.int32]:
    """Numbers of distinct values, -1 where null."""
    present = series.is_not_null().to_numpy()
    codes = np.full(len(series), -1, np.int32)
    codes[present] = np.unique(series.drop_nulls().to_numpy(), return_inverse=True)[1]
    return codes


def _renumbered(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """Values counted from 0, -1 where missing."""
    codes = np.full(len(values), -1, np.int32)
    codes[values >= 0] = np.unique(values[values >= 0], return_inverse=True)[1]
    return codes
