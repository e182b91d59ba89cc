"""Invented author mentions by the million: who wrote which paper, when names alone do not tell.

Authors live in communities of a research area. A paper is written by members of one community, now and then
with a guest of the same area; its words and venue come from the area, the community and its first author.
"""

import math
from itertools import product

import numpy as np
import polars as pl
from numpy.typing import NDArray


def _parts(text: str) -> tuple[str, ...]:
    """Parts of words that read as a line of text."""
    return tuple(text.split())


_ONSETS = _parts("b br c d dr f g gr h j k kr l m n p pr r s sh st t tr v w y z")
_VOWELS = _parts("a e i o u ai ea ou")
_LINKS = _parts("l r n m v d s b rk nd st lm")
_SURNAME_ENDS = _parts("n l rd sk th rn ng s tz lt")
_WORD_ENDS = _parts("ic al ion or ing ate um ix ex in")

# Chosen so that five million mentions fall into some 440,000 pairs of surname and initial, the largest of which has
# about 13,000 mentions, with 1.8 billion pairs of mentions in all: the figures of a bibliography of computer science.
_N_SURNAMES = 200_000
_SURNAME_POWER, _SURNAME_OFFSET = 1.0, 4.5
_INITIALS = "JMASRCDLPTKHWBGNYEFVZI"
_INITIAL_POWER, _INITIAL_OFFSET = 0.9, 3.0
_GIVEN_PER_INITIAL = 120

# Productivity is log-normal with a ceiling. It is set so that papers an author, as seen from a mention, have the
# quantiles of the ACL Anthology, a real bibliography that is complete for its field: half of its 387,000 mentions are
# of names with up to 9 papers, a quarter of names with more than 32, a tenth of names with more than 80; here these
# are 11, 32 and 82. Five million of them have 4.5 papers an author, 29 as seen from a mention; DBLP, by the counts of
# KONECT (konect.cc, dblp-author), has 6.1 and 41 at 8.6 million, 6.3 and 51 at 12.3 million, which leads to about as
# many.
_MENTIONS_PER_AUTHOR = 1.0  # counting those who never get to write; they are left out of the result
_PRODUCTIVITY_SPREAD = 2.5  # sigma of the log-normal
_PRODUCTIVITY_CEILING = 10_000.0  # times the median; without one, the busiest would write thousands of papers
# Of 727,000 names in proceedings of linguistics, AI, vision and robotics, 3 % are printed with a bare initial (1 % and
# 5 % in the two bibliographies), most of them by venues that print nothing else; 3 to 7 % have a middle initial.
_PREFER_INITIALS, _NOW_AND_THEN, _TERSE_VENUES = 0.02, 0.01, 1 / 40
_HAVE_MIDDLE, _OMIT_MIDDLE = 0.1, 0.3
_COMMUNITY_SIZE = 150
_COMMUNITIES_PER_AREA = 40
_MAX_AREAS = 60
_AREA_WORDS, _GENERAL_WORDS, _AREA_VENUES = 400, 300, 30
# Of 1 to 8 authors: 3.5 on average, as in the ACL Anthology; 3.1 where not enough of a community are active.
_TEAM = np.array([0.12, 0.21, 0.23, 0.18, 0.12, 0.07, 0.04, 0.03])
_CANDIDATES = 4  # drawn for every place in a team, some of whom are in it already, or not active that year
_TITLE_WORDS = (4, 9)
_YEARS = (1965, 2024)

_Ints = NDArray[np.int64]


def generate_author_mentions(n_mentions: int, seed: int = 0) -> pl.DataFrame:
    """Make mentions of authors on papers, with the true author of each.

    Every author keeps surname and first initial, so all mentions of one author share them; printed given
    names vary ("Ronald S.", "Ronald", "R. S.", "R."), and different authors bear the same name as often as
    surnames and given names with Zipf-like frequencies make them. The names and words are the same for
    every seed.

    Parameters
    ----------
    n_mentions : int
        How many mentions (rows) to make. Five million take less than a minute and 2.3 GB. Names collide
        more often the more mentions there are: to try a resolver out, make many and keep some of the blocks.
    seed : int
        The same seed and size give the same mentions.

    Returns
    -------
    polars.DataFrame
        One row a mention, in the order of papers:

        - ``surname`` (String) and ``given`` (String): the name as printed;
        - ``title`` (String): words in lower case, separated by one space;
        - ``coauthors`` (List of String): the others on the paper, as "surname initial";
        - ``venue`` (String), ``year`` (Int16);
        - ``paper`` (Int32): mentions of one paper are of different authors;
        - ``entity`` (Int32): the true author, numbered from 0 without gaps.

    Examples
    --------
    >>> mentions = generate_author_mentions(1000, seed=1)
    >>> mentions.height, mentions.columns
    (1000, ['surname', 'given', 'title', 'coauthors', 'venue', 'year', 'paper', 'entity'])
    """
    if n_mentions < 1:
        raise ValueError(f"n_mentions is {n_mentions}; ask for at least 1")
    rng = np.random.default_rng(seed)
    n_authors = max(_COMMUNITY_SIZE, round(n_mentions / _MENTIONS_PER_AUTHOR))
    n_communities = max(1, n_authors // _COMMUNITY_SIZE)
    n_areas = min(_MAX_AREAS, 1 + n_communities // _COMMUNITIES_PER_AREA)
    # Authors of a community, and communities of an area, stand together: either is a range of authors.
    community_of_author = np.arange(n_authors) * n_communities // n_authors
    area_of_community = np.arange(n_communities) * n_areas // n_communities
    first_year, last_year = _careers(rng, community_of_author, n_communities)

    author, paper, year = _papers(rng, n_mentions, community_of_author, area_of_community, first_year, last_year)
    lead = author[np.flatnonzero(np.diff(paper, prepend=-1))]
    community = community_of_author[lead]
    title = _titles(rng, lead, community, area_of_community[community], n_areas)
    venue_code = _venues(rng, community, area_of_community[community])

    surname_of, initial_of, given_of, middle_of = _names(rng, n_authors)
    surnames = pl.Series(_surnames())
    printed, given_code = _printed(rng, author, venue_code[paper], initial_of, given_of, middle_of)
    key = surname_of[author] * len(_INITIALS) + initial_of[author]
    return pl.DataFrame(
        {
            "surname": surnames.gather(surname_of[author]),
            "given": printed.gather(given_code),
            "title": title.gather(paper),
            "coauthors": _coauthors(paper, key, surnames),
            "venue": pl.Series(_venue_names(n_areas)).gather(venue_code[paper]),
            "year": pl.Series(year.astype(np.int16)),
            "paper": pl.Series(paper.astype(np.int32)),
            "entity": pl.Series(np.unique(author, return_inverse=True)[1].astype(np.int32)),
        }
    )


def _syllables(n: int, ends: tuple[str, ...]) -> list[str]:
    """Different words of two syllables and an ending, in an order that looks like none."""
    parts = (_ONSETS, _VOWELS, _LINKS, _VOWELS, ends)
    shape = tuple(len(part) for part in parts)
    # The order belongs to the language: it is the same for every seed.
    order = np.random.default_rng(len(ends)).permutation(math.prod(shape))[:n]
    columns = (np.array(part, object)[place] for part, place in zip(parts, np.unravel_index(order, shape), strict=True))
    return sum(columns, start=np.full(n, "", object)).tolist()


def _surnames() -> list[str]:
    """All surnames, the most frequent ones first."""
    short = ["".join(parts) for parts in product(_ONSETS, _VOWELS, _SURNAME_ENDS)]
    order = np.random.default_rng(1).permutation(len(short))[:400]
    names = [short[i] for i in order] + _syllables(_N_SURNAMES, _SURNAME_ENDS)
    return [name.capitalize() for name in names[:_N_SURNAMES]]


def _given_names() -> list[str]:
    """Given names, `_GIVEN_PER_INITIAL` of each initial, the most frequent ones first."""
    tails = ["".join(parts) for parts in product(_VOWELS, _LINKS, ("a", "o", "e", "in", "an", "is", ""))]
    order = np.random.default_rng(2).permutation(len(tails))
    after_vowel = ["".join(parts) for parts in product(_LINKS, _VOWELS, ("n", "s", "l", "ra", "no", ""))]
    order_after_vowel = np.random.default_rng(3).permutation(len(after_vowel))
    names: list[str] = []
    for letter in _INITIALS:
        vowel = letter in "AEIOU"
        rest = [after_vowel[i] for i in order_after_vowel] if vowel else [tails[i] for i in order]
        names += [letter + tail for tail in rest[:_GIVEN_PER_INITIAL]]
    return names


def _zipf(rng: np.random.Generator, n: int, size: int, power: float, offset: float) -> _Ints:
    """Ranks below ``n``, rank ``r`` with probability proportional to 1 / (r + offset) ** power."""
    cumulative = np.cumsum((np.arange(n) + offset) ** -power)
    return np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")


def _names(rng: np.random.Generator, n_authors: int) -> tuple[_Ints, _Ints, _Ints, _Ints]:
    """Each author's surname, first initial, given name, and middle initial (the last code: none)."""
    surname = _zipf(rng, _N_SURNAMES, n_authors, _SURNAME_POWER, _SURNAME_OFFSET)
    initial = _zipf(rng, len(_INITIALS), n_authors, _INITIAL_POWER, _INITIAL_OFFSET)
    given = initial * _GIVEN_PER_INITIAL + _zipf(rng, _GIVEN_PER_INITIAL, n_authors, 1.0, 1.5)
    middle = _zipf(rng, len(_INITIALS), n_authors, _INITIAL_POWER, _INITIAL_OFFSET)
    middle[rng.random(n_authors) >= _HAVE_MIDDLE] = len(_INITIALS)
    return surname, initial, given, middle


def _careers(rng: np.random.Generator, community_of_author: _Ints, n_communities: int) -> tuple[_Ints, _Ints]:
    """First and last year of every author: members of a community are active in overlapping years."""
    n_authors = len(community_of_author)
    # The field grows: later beginnings are more frequent.
    start = _YEARS[0] + (_YEARS[1] - _YEARS[0] - 8) * rng.random(n_communities) ** 0.4
    first = start[community_of_author] + rng.integers(0, 6, n_authors)
    last = first + 4 + rng.gamma(2.0, 5.0, n_authors)
    return first.astype(np.int64), np.minimum(last, _YEARS[1]).astype(np.int64)


def _papers(
    rng: np.random.Generator,
    n_mentions: int,
    community_of_author: _Ints,
    area_of_community: _Ints,
    first_year: _Ints,
    last_year: _Ints,
) -> tuple[_Ints, _Ints, _Ints]:
    """Author, paper and year of every mention, sorted by paper; the first author of a paper comes first."""
    weight = np.minimum(rng.lognormal(0.0, _PRODUCTIVITY_SPREAD, len(community_of_author)), _PRODUCTIVITY_CEILING)
    cumulative = np.concatenate([[0.0], np.cumsum(weight)])
    community_ptr = np.searchsorted(community_of_author, np.arange(len(area_of_community) + 1))
    community_edge = cumulative[community_ptr]
    area_ptr = np.searchsorted(area_of_community, np.arange(area_of_community[-1] + 2))
    area_edge = community_edge[area_ptr]

    def drawn(low: NDArray[np.float64], high: NDArray[np.float64]) -> _Ints:
        """Authors by productivity, out of the range whose cumulative weights are given."""
        point = low + (high - low) * rng.random(len(low))
        return np.minimum(np.searchsorted(cumulative, point, side="right") - 1, len(weight) - 1)

    batches: list[tuple[_Ints, _Ints, _Ints]] = []
    n_made = n_papers = 0
    while n_made < n_mentions:
        n = max(16, int((n_mentions - n_made) * 0.3))
        lead = drawn(np.zeros(n), np.full(n, cumulative[-1]))
        year = rng.integers(first_year[lead], last_year[lead] + 1)
        size = 1 + np.searchsorted(np.cumsum(_TEAM)[:-1], rng.random(n), side="right")
        n_drawn = 1 + _CANDIDATES * (size - 1)
        paper = np.repeat(np.arange(n), n_drawn)
        slot = np.arange(len(paper)) - np.repeat(np.cumsum(n_drawn) - n_drawn, n_drawn)
        community = community_of_author[lead[paper]]
        area = area_of_community[community]
        guest = rng.random(len(paper)) < 0.08
        author = drawn(
            np.where(guest, area_edge[area], community_edge[community]),
            np.where(guest, area_edge[area + 1], community_edge[community + 1]),
        )
        author = np.where(slot == 0, lead[paper], author)
        active = (first_year[author] <= year[paper]) & (year[paper] <= last_year[author])
        # Nobody stands on a paper twice.
        once = np.zeros(len(paper), bool)
        once[np.unique(paper * len(weight) + author, return_index=True)[1]] = True
        kept = once & active
        # The first of them, as many as the team takes.
        n_before = np.cumsum(kept) - kept
        kept &= n_before - n_before[np.cumsum(n_drawn) - n_drawn][paper] < size[paper]
        batches.append((author[kept], paper[kept] + n_papers, year[paper[kept]]))
        n_papers += n
        n_made += int(kept.sum())
    author, paper, year = (np.concatenate(part)[:n_mentions] for part in zip(*batches, strict=True))
    return author, paper, year


def _titles(rng: np.random.Generator, lead: _Ints, community: _Ints, area: _Ints, n_areas: int) -> pl.Series:
    """Titles whose words come from everyone, the area, the community, and the first author."""
    n_papers, most = len(lead), _TITLE_WORDS[1]
    words = _syllables(_GENERAL_WORDS + n_areas * _AREA_WORDS, _WORD_ENDS)
    length = rng.integers(_TITLE_WORDS[0], most + 1, n_papers)
    columns = []
    for slot in range(most):
        source = rng.random(n_papers)
        rank = _zipf(rng, _AREA_WORDS, n_papers, 1.0, 2.0)
        near = _zipf(rng, 40, n_papers, 0.7, 2.0)
        offset = np.where(source < 0.3, 0, np.where(source < 0.7, community * 37, lead * 101))
        own = (offset + np.where(source < 0.3, rank, near)) % _AREA_WORDS
        code = np.where(
            source < 0.85, _GENERAL_WORDS + area * _AREA_WORDS + own, _zipf(rng, _GENERAL_WORDS, n_papers, 1.0, 1.5)
        )
        columns.append(pl.Series(f"{slot}", np.where(slot < length, code, len(words)).astype(np.int32)))
    spelled = pl.Series([*words, None], dtype=pl.String)
    title = pl.concat_str([spelled.gather(column) for column in columns], separator=" ", ignore_nulls=True)
    return pl.select(title).to_series()


def _venues(rng: np.random.Generator, community: _Ints, area: _Ints) -> _Ints:
    """The venue of every paper: a community has a few that it likes."""
    rank = _zipf(rng, _AREA_VENUES, len(community), 1.4, 1.0)
    return area * _AREA_VENUES + (community * 7 + rank) % _AREA_VENUES


def _venue_names(n_areas: int) -> list[str]:
    """The names of the venues, area after area."""
    words = _syllables(n_areas * _AREA_VENUES, _WORD_ENDS)
    forms = ("{} Journal", "Conf. {}", "Trans. {}", "{} Workshop", "Proc. {}")
    return [forms[i % len(forms)].format(word.capitalize()) for i, word in enumerate(words)]


def _printed(
    rng: np.random.Generator, author: _Ints, venue: _Ints, initial_of: _Ints, given_of: _Ints, middle_of: _Ints
) -> tuple[pl.Series, _Ints]:
    """All printed forms of given names, and the form of every mention."""
    n_authors, no_middle = len(initial_of), len(_INITIALS)
    prefers_initials = rng.random(n_authors) < _PREFER_INITIALS
    # Some venues print nothing but initials; otherwise authors mostly keep to their habit.
    short = prefers_initials[author] | (rng.random(len(author)) < _NOW_AND_THEN)
    short |= venue % round(1 / _TERSE_VENUES) == 0
    middle = np.where(rng.random(len(author)) < _OMIT_MIDDLE, no_middle, middle_of[author])
    n_given = len(_INITIALS) * _GIVEN_PER_INITIAL
    first = np.where(short, n_given + initial_of[author], given_of[author])
    firsts = _given_names() + [f"{letter}." for letter in _INITIALS]
    middles = [f" {letter}." for letter in _INITIALS] + [""]
    forms = pl.Series([a + b for a in firsts for b in middles])
    return forms, first * len(middles) + middle


def _coauthors(paper: _Ints, key: _Ints, surnames: pl.Series) -> pl.Series:
    """For every mention, the surname and initial of the others on its paper."""
    keys, code = np.unique(key, return_inverse=True)
    initials = pl.Series(list(_INITIALS))
    spelled = surnames.gather(keys // len(_INITIALS)) + " " + initials.gather(keys % len(_INITIALS))
    size = np.bincount(paper)
    begin = np.cumsum(size) - size
    other = np.arange(len(_TEAM))[None, :] + begin[paper][:, None]
    inside = np.arange(len(_TEAM))[None, :] < size[paper][:, None]
    inside &= other != np.arange(len(paper))[:, None]
    n_others = inside.sum(axis=1)
    flat = spelled.gather(code[other[inside]])
    row = pl.Series("row", np.repeat(np.arange(len(paper), dtype=np.int32), n_others)).set_sorted()
    grouped = pl.DataFrame({"row": row, "coauthors": flat}).group_by("row", maintain_order=True).agg("coauthors")
    # Those who write alone are in no group.
    place = np.where(n_others > 0, np.cumsum(n_others > 0) - 1, -1)
    lists = grouped["coauthors"].gather(pl.Series(place).replace(-1, None))
    return lists.fill_null([])
