"""Invented citations, made on the spot: many ways to print the same paper, and papers that look alike.

Nothing here comes from a corpus. The citations are hard in the way real ones are: venues are abbreviated,
names shortened, coauthors, pages and years left out; and a second part, or the journal version of
a workshop paper, differs from the first in little more than what is left out.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

import numpy as np
import polars as pl


def _words(text: str) -> tuple[str, ...]:
    """A list of words that reads as a line of text."""
    return tuple(text.split())


_SURNAMES = _words(
    "Harlow Brask Ondray Velling Corrin Maddock Ishel Parron Lindqua Torvane Quill Renholt Drummet Farrow Selwick "
    "Norrin Caldane Winther Okembe Salvar Tressel Bannock Jurick Stanner Dovrin Umber Pell Rosk Halden Thorne Wexley "
    "Crane Marsh Harlov Brandt Velline Corin Madsen Ishida Parrin Tessel Quillan Renner Drumm Farley Selby Norris"
)
_GIVEN = _words(
    "Ada Milo Greta Tomas Ines Rurik Nadia Pavel Wanda Otto Salma Viktor Lena Hugo Mara Dario Edith Kofi Anouk Simon "
    "Petra Idris Clara Boris Agnes Maren Theo Gustav Irina Ramon"
)
_ACTIONS = _words("Learning Inferring Sampling Matching Searching Ranking Pruning Merging Planning Indexing")
_KINDS = _words("Sparse Noisy Hidden Relational Temporal Structured Incremental Probabilistic Hierarchical Partial")
_THINGS = _words("Trees Graphs Sequences Records Grammars Rules Networks Clusters Tables Queries Maps Citations")
_SOURCES = ("Few Examples", "Noisy Text", "Large Archives", "Speech", "Weak Labels", "Streams", "Sensor Data")
_MEANS = ("Random Walks", "Local Search", "Linear Programs", "Decision Lists", "Voting", "Message Passing")
_TITLES = (
    "{action} {kind} {things} from {source}",
    "{action} {things} with {means}",
    "{kind} {things} for {source}",
    "A {kind} Approach to {action} {things}: {means} Revisited",
    "On {action} {kind} {things} by {means}",
    "{means} for {action} {things} from {source}",
)

# Of each venue: the full name, what most people shorten it to, and the letters it goes by.
_MEETINGS = (
    ("Proceedings of the International Conference on Inductive Machines", "Proc. Int. Conf. Inductive Mach.", "ICIM"),
    ("Proceedings of the National Meeting on Reasoning", "Proc. Nat. Meeting on Reasoning", "NMR"),
    ("Proceedings of the Symposium on Data Management", "Proc. Symp. Data Management", "SDM"),
    ("Proceedings of the Conference on Language and Inference", "Proc. Conf. Lang. Inference", "CLI"),
    ("Advances in Adaptive Systems", "Adv. Adaptive Syst.", "AAS"),
    ("Proceedings of the European Conference on Search", "Proc. Eur. Conf. Search", "ECS"),
)
_WORKSHOPS = (
    ("Workshop on Learning from Text", "Wkshp. Learning from Text", "WLT"),
    ("Working Notes of the Workshop on Uncertain Data", "Work. Notes Wkshp. Uncertain Data", "WUD"),
    ("Workshop on Statistics and Relations", "Wkshp. Stat. Relations", "WSR"),
)
_JOURNALS = (
    ("Journal of Inductive Machines", "J. Inductive Mach.", "JIM"),
    ("Artificial Reasoning", "Artif. Reasoning", "AR"),
    ("Transactions on Data and Search", "Trans. Data Search", "TDS"),
    ("Journal of Language Inference", "J. Lang. Infer.", "JLI"),
)
_PART_FORMS = {1: ("Part I", "I", "Part 1"), 2: ("Part II", "II", "Part 2")}
_FIRST_YEAR, _LAST_YEAR = 1984, 1999
_MOST_CITATIONS = 60

_Option = TypeVar("_Option")
_Author = tuple[str, str, str]  # given name, middle initial or nothing, surname


class _Paper(NamedTuple):
    """What a paper is; its citations tell parts of it."""

    authors: tuple[_Author, ...]
    title: str
    part: int  # 1 or 2 of two, 0 if it stands alone
    venue: tuple[str, str, str]
    year: int
    pages: tuple[int, int]


def generate_bibliography(n_papers: int = 200, seed: int = 0, *, citations_per_paper: float = 6.0) -> pl.DataFrame:
    """Make citations of invented papers, with the true paper of each.

    The words are the same for every seed, so bibliographies of different seeds serve as training and
    test data.

    Parameters
    ----------
    n_papers : int
        How many different papers are cited. About half of them have a sibling: the other part, or
        the other version, by the same authors.
    seed : int
        The same seed and sizes give the same citations.
    citations_per_paper : float
        How often a paper is cited on average; some are cited once, a few very often (at most 60 times).

    Returns
    -------
    polars.DataFrame
        One row a citation, in random order, with columns ``id`` (0, 1, ...), ``author``, ``title``,
        ``venue``, ``year``, ``pages`` and ``entity``, the true paper. Venue, year and pages may be null.

    Examples
    --------
    >>> citations = generate_bibliography(50, seed=1)
    >>> citations.columns, citations["entity"].n_unique()
    (['id', 'author', 'title', 'venue', 'year', 'pages', 'entity'], 50)
    """
    if n_papers < 1:
        raise ValueError(f"n_papers is {n_papers}; ask for at least 1")
    if citations_per_paper < 1:
        raise ValueError(f"citations_per_paper is {citations_per_paper}; every paper is cited, ask for at least 1")
    rng = np.random.default_rng(seed)
    papers: list[_Paper] = []
    while len(papers) < n_papers:
        papers += _family(rng)
    papers = papers[:n_papers]
    rows = []
    for entity, paper in enumerate(papers):
        # One citation is sure; the others are log-normal, so most papers have few and some have many.
        more = rng.lognormal(-0.5, 1.0) * (citations_per_paper - 1)
        rows += [(*_cited(paper, rng), entity) for _ in range(min(1 + round(more), _MOST_CITATIONS))]
    order = rng.permutation(len(rows))
    schema = {"author": pl.String, "title": pl.String, "venue": pl.String, "year": pl.Int64, "pages": pl.String}
    citations = pl.DataFrame([rows[i] for i in order], {**schema, "entity": pl.Int64}, orient="row")
    return citations.with_row_index("id").cast({"id": pl.Int64})


def _pick(rng: np.random.Generator, options: Sequence[_Option]) -> _Option:
    """One of several, each as likely."""
    return options[int(rng.random() * len(options))]


def _family(rng: np.random.Generator) -> list[_Paper]:
    """One paper, or two that are easily taken for one another."""
    n_authors = 1 + int(rng.choice(5, p=[0.2, 0.35, 0.25, 0.15, 0.05]))
    surnames = rng.choice(len(_SURNAMES), n_authors, replace=False)
    authors = tuple(
        (_pick(rng, _GIVEN), "ABCDEHJKLMPRST"[int(rng.random() * 14)] if rng.random() < 0.4 else "", _SURNAMES[s])
        for s in surnames
    )
    title = _pick(rng, _TITLES).format(
        action=_pick(rng, _ACTIONS),
        kind=_pick(rng, _KINDS),
        things=_pick(rng, _THINGS),
        source=_pick(rng, _SOURCES),
        means=_pick(rng, _MEANS),
    )
    year = int(rng.integers(_FIRST_YEAR, _LAST_YEAR - 1))
    chance = rng.random()
    if chance < 0.16:
        journal = _pick(rng, _JOURNALS)
        later = year + int(rng.integers(0, 2))
        return [
            _Paper(authors, title, 1, journal, year, _pages(rng)),
            _Paper(authors, title, 2, journal, later, _pages(rng)),
        ]
    if chance < 0.38:
        first = _Paper(authors, title, 0, _pick(rng, _WORKSHOPS), year, _pages(rng))
        longer = title if rng.random() < 0.5 else title.removeprefix("On ").removeprefix("A ") + " in Practice"
        later = year + int(rng.integers(1, 3))
        return [first, _Paper(authors, longer, 0, _pick(rng, _JOURNALS), later, _pages(rng))]
    return [_Paper(authors, title, 0, _pick(rng, _MEETINGS + _JOURNALS), year, _pages(rng))]


def _pages(rng: np.random.Generator) -> tuple[int, int]:
    """First and last page."""
    first = int(rng.integers(1, 700))
    return first, first + int(rng.integers(6, 30))


def _cited(paper: _Paper, rng: np.random.Generator) -> tuple[str, str, str | None, int | None, str | None]:
    """One citation: author, title, venue, year and pages as someone printed them."""
    year = None if rng.random() < 0.12 else paper.year
    if year is not None and rng.random() < 0.07:
        year += 1 if rng.random() < 0.5 else -1
    pages = None
    if rng.random() < 0.5:
        first, last = paper.pages
        short = last % 100 if first // 100 == last // 100 and first >= 100 else last
        pages = _pick(rng, (f"{first}-{last}", f"{first}--{last}", f"pp. {first}-{last}", f"{first}-{short}"))
        if rng.random() < 0.05:
            pages = _mistyped(pages, rng)
    return _cited_authors(paper, rng), _cited_title(paper, rng), _cited_venue(paper, rng), year, pages


def _cited_authors(paper: _Paper, rng: np.random.Generator) -> str:
    """Names in one of the usual orders, shortened, cut short, or mistyped."""
    authors = list(paper.authors)
    ending = ""
    if len(authors) > 2 and rng.random() < 0.25:
        authors, ending = authors[:1], " et al."
    elif len(authors) > 1 and rng.random() < 0.08:
        del authors[1 + int(rng.random() * (len(authors) - 1))]
    style = int(rng.choice(4, p=[0.25, 0.35, 0.25, 0.15]))
    keeps_middle = rng.random() < 0.6
    names = []
    for given, middle, surname in authors:
        middle = f" {middle}." if middle and keeps_middle else ""
        if rng.random() < 0.04:
            surname = _mistyped(surname, rng)
        names.append(
            (
                f"{given}{middle} {surname}",
                f"{given[0]}.{middle} {surname}",
                f"{surname}, {given[0]}.{middle}",
                surname,
            )[style]
        )
    if ending or len(names) == 1:
        return ", ".join(names) + ending
    return ", ".join(names[:-1]) + _pick(rng, (" and ", " & ", ", ")) + names[-1]


def _cited_title(paper: _Paper, rng: np.random.Generator) -> str:
    """The title, perhaps without its part, cut short, mistyped, or in lower case."""
    title = paper.title
    if rng.random() < 0.1:
        title = title.split(":")[0] if ":" in title else " ".join(title.split()[:-1])
    if paper.part and rng.random() > 0.12:
        form = _pick(rng, _PART_FORMS[paper.part])
        title = f"{title}{_pick(rng, (': ', ', ', ' - '))}{form}"
    for _ in range(int(rng.poisson(0.25))):
        title = _mistyped(title, rng)
    return title.capitalize() if rng.random() < 0.4 else title


def _cited_venue(paper: _Paper, rng: np.random.Generator) -> str | None:
    """The venue in full, shortened, by its letters, or not at all."""
    if rng.random() < 0.15:
        return None
    full, short, letters = paper.venue
    form = int(rng.choice(4, p=[0.35, 0.3, 0.15, 0.2]))
    # Meetings are told by their year, journals by a volume.
    numbered = f"{letters} {paper.year - 1970}" if paper.venue in _JOURNALS else f"{letters}-{paper.year % 100:02d}"
    venue = (full, short, letters, numbered)[form]
    return f"In {venue}" if full.startswith(("Proc", "Work")) and rng.random() < 0.4 else venue


def _mistyped(text: str, rng: np.random.Generator) -> str:
    """A text with one letter dropped, doubled, changed, or swapped with the next."""
    i = int(rng.random() * (len(text) - 1))
    kind = int(rng.random() * 4)
    if kind == 0:
        return text[:i] + text[i + 1 :]
    if kind == 1:
        return text[: i + 1] + text[i:]
    if kind == 2:
        other = "0123456789" if text[i].isdigit() else "aeinorst"
        return text[:i] + other[int(rng.random() * len(other))] + text[i + 1 :]
    return text[:i] + text[i + 1] + text[i] + text[i + 2 :]
