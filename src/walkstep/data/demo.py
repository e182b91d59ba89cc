"""Invented data, made on the spot: news with names in it, and feature rows with label sets.

Nothing here comes from a corpus. The news is hard in the way real news is: most names belong to a person,
a club, a firm and a town alike, the sentence often does not say which, and another sentence of the same
document does.
"""

import re
from collections.abc import Sequence

import numpy as np
import scipy  # its parts load at first use

from walkstep.data.label_sets import LabelledRows
from walkstep.data.sequences import Sequences

_Name = tuple[tuple[str, ...], str]


def _words(text: str) -> tuple[str, ...]:
    """A list of words that reads as a line of text."""
    return tuple(text.split())


# A root may name a person, a town, or a firm or club: its letters do not tell.
_ROOTS = _words(
    "Harlow Brask Tamsin Ondray Velling Corrin Maddock Ishel Parron Lindqua Torvane Ashby Quill Renholt "
    "Drummet Farrow Selwick Norrin Caldane Winther Okembe Salvar Tressel Bannock Jurick Mellow Stanner "
    "Dovrin Garrick Umber Pell Rosk Halden Verity Thorne Locke Baird Wexley Crane Marsh"
)
_FIRST_NAMES = _words(
    "Ada Milo Greta Tomas Ines Rurik Nadia Pavel Wanda Otto Salma Viktor Lena Hugo Mara Dario Edith Kofi "
    "Anouk Simon Petra Idris Clara Boris"
)
_ONSETS = _words("b br c d dr f g gr h j k l m n p pr r s st t tr v w")
_MIDDLES = _words("a e i o u ai ea or an el in ar")
_ENDS = _words("n l rd sk th mer vin dale ton rick more x")
_FIRM_ENDINGS = ("Group", "Bank", "Motors", "Holdings", "& Sons", "Press", "Energy")
_CLUB_ENDINGS = ("United", "City", "Rovers", "Athletic")
_PLACE_ENDINGS = ("Bay", "Valley", "Island")
_EVENT_ENDINGS = ("Open", "Cup", "Prize", "Festival", "Marathon")
_COMMON = _words("Red Trade Open Central First North Union Young White Summer")
_FILLERS = {
    "role": _words("minister striker coach lawyer spokesman writer chairman goalkeeper banker singer"),
    "day": _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday"),
    "subject": ("the offer", "a new plan", "the match", "the report", "the strike", "an election"),
    "number": _words("two three five twelve 24 31 40"),
    "score": _words("0 1 2 3 4"),
}

# Slots: P person, p the same by surname, F firm, f its short name, C club, c its short name, L place,
# N nationality, E event, x one of the document's short names, whatever it is; words in braces are filled
# from the lists above. A slot with a 2 is filled by another one of its kind.
_INTRODUCTIONS = {
    "p": (
        "{P} , a {role} from {L} , said on {day} that {subject} had been delayed .",
        "The {role} {P} was born in {L} and moved to {L2} .",
        "{N} {role} {P} won the {E} in {L} .",
    ),
    "f": (
        "Shares of {F} fell {number} percent in {L} on {day} .",
        "{F} agreed to buy {F2} for {number} million crowns .",
        "{f} shares rose after the company named {P} chairman .",
    ),
    "c": (
        "{C} signed {P} from {C2} on {day} .",
        "{p} , {number} , scored twice for {C} .",
    ),
    "L": (
        "Heavy rain hit {L} and the roads to {L2} were closed .",
        "The mayor of {L} welcomed {P} on {day} .",
        "{number} people were hurt near {L} , police said .",
    ),
}
_TEMPLATES = (
    *(template for templates in _INTRODUCTIONS.values() for template in templates),
    # the sentence tells
    "Mr. {p} told reporters in {L} that he would resign .",
    "The {N} government said {subject} would go on .",
    "Last year 's {E} was held in {L} .",
    # the sentence does not: the document has to
    "{x} declined to comment .",
    "{x} said {subject} was a surprise .",
    "It was a good {day} for {x} .",
    "Nobody expected this from {x} .",
    "{x} and {x2} have met {number} times .",
    "{x} beat {x2} {score} - {score} .",
    "Talks between {x} and {x2} ended on {day} .",
    "{x} , in a statement on {day} , denied it .",
    # clubs go by their town's name
    "{c} beat {c2} {score} - {score} on {day} .",
    "{c} played in {L} without {p} .",
    # nothing to find, but capitals all the same
    "The {role} said {subject} would start on {day} .",
    "Open questions remain , a {role} said .",
    "Summer trade was slow on {day} .",
    "Young and old came to see the match .",
)
_HEADLINES = (
    "{L} {day}",
    "{p} leaves {C}",
    "{f} to cut {number} jobs",
    "{x} wins again",
    "{N} {role} in {L}",
)


def generate_news(n_sentences: int = 1000, seed: int = 0) -> Sequences:
    """Make a corpus of invented news with names tagged in BIO: PER, ORG, LOC and MISC.

    The words and templates are the same for every seed, so corpora of different seeds serve as training and
    test data; a third of the names is put together from syllables and rarely recurs in another document.

    Parameters
    ----------
    n_sentences : int
        How many sentences to make, in documents of four to nine.
    seed : int
        The same seed gives the same corpus; a shorter corpus is the beginning of a longer one.

    Returns
    -------
    Sequences
        Tokens, documents and tags.

    Examples
    --------
    >>> news = generate_news(100, seed=3)
    >>> news.n_sentences, sorted({tag[2:] for tag in news.tags if tag != "O"})
    (100, ['LOC', 'MISC', 'ORG', 'PER'])
    """
    if n_sentences < 1:
        raise ValueError(f"n_sentences is {n_sentences}; ask for at least 1")
    rng = np.random.default_rng(seed)
    sentences: list[list[str]] = []
    tags: list[list[str]] = []
    documents: list[int] = []
    document = 0
    while len(sentences) < n_sentences:
        cast, heroes = _cast(rng)
        for i in range(4 + int(rng.random() * 6)):
            headline = i == 0 and rng.random() < 0.7
            if headline:
                template = _pick(rng, _HEADLINES)
            elif i in (1, 2) and rng.random() < 0.8:
                template = _introduction(heroes[i - 1], rng)
            else:
                template = _pick(rng, _TEMPLATES)
            words, marks = _fill(template, cast, rng)
            if headline and rng.random() < 0.5:
                words = [word.upper() for word in words]
            sentences.append(words)
            tags.append(marks)
            documents.append(document)
        document += 1
    return Sequences.from_lists(sentences[:n_sentences], tags[:n_sentences], documents=documents[:n_sentences])


def generate_rows(n_rows: int = 500, n_labels: int = 6, seed: int = 0, *, n_features: int = 20) -> LabelledRows:
    """Make feature rows whose labels depend on the features and on each other.

    Label ``k`` is borne where ``x · w_k + z · v_k + noise`` passes a threshold; the two coordinates of ``z``
    are hidden, so labels tell about each other what features do not.

    Parameters
    ----------
    n_rows, n_labels, n_features : int
        The sizes. The last column of ``X`` is noise that no label depends on, if there are several.
    seed : int
        The same seed and sizes give the same rows. Weights depend on the seed: cut one set of rows in
        two for training and test.

    Returns
    -------
    LabelledRows
        Labels are borne by 15 to 50 percent of the rows.

    Examples
    --------
    >>> rows = generate_rows(200, 4, seed=1)
    >>> rows.X.shape, rows.Y.shape, rows.label_names[0]
    ((200, 20), (200, 4), 'label0')
    """
    for name, value in (("n_rows", n_rows), ("n_labels", n_labels), ("n_features", n_features)):
        if value < 1:
            raise ValueError(f"{name} is {value}; ask for at least 1")
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(n_features, n_labels))
    if n_features > 1:
        weights[-1] = 0
    weights /= np.linalg.norm(weights, axis=0)
    angle = rng.uniform(0, 2 * np.pi, n_labels)
    hidden_weights = 1.2 * np.stack([np.cos(angle), np.sin(angle)])
    share = rng.uniform(0.15, 0.5, n_labels)
    X = rng.normal(size=(n_rows, n_features))
    hidden = rng.normal(size=(n_rows, 2))
    noise = rng.normal(scale=0.5, size=(n_rows, n_labels))
    scores = 1.2 * X @ weights + hidden @ hidden_weights + noise
    spread = np.sqrt(1.2**2 + 1.2**2 + 0.5**2)
    return LabelledRows(
        X=X,
        Y=(scores > spread * -scipy.special.ndtri(share)).astype(np.int8),
        feature_names=tuple(f"feature{c}" for c in range(n_features)),
        label_names=tuple(f"label{k}" for k in range(n_labels)),
    )


def _pick(rng: np.random.Generator, options: Sequence[str]) -> str:
    """One of several, each as likely."""
    return options[int(rng.random() * len(options))]


def _root(rng: np.random.Generator) -> str:
    """A name that may be anyone's: often known, sometimes new."""
    if rng.random() < 0.67:
        return _pick(rng, _ROOTS)
    return (_pick(rng, _ONSETS) + _pick(rng, _MIDDLES) + _pick(rng, _ENDS)).capitalize()


def _cast(rng: np.random.Generator) -> tuple[dict[str, _Name], tuple[str, str]]:
    """The names of one document by slot, and the slots of the two it is about."""
    cast: dict[str, _Name] = {}
    for which in ("", "2"):
        surname = _root(rng)
        cast["P" + which] = (_pick(rng, _FIRST_NAMES), surname), "PER"
        cast["p" + which] = (surname,), "PER"
        # Some firms bear a common word, so that a capital alone does not make a name.
        stem = _pick(rng, _COMMON) if rng.random() < 0.15 else _root(rng)
        cast["F" + which] = (stem, *_pick(rng, _FIRM_ENDINGS).split()), "ORG"
        cast["f" + which] = (stem,), "ORG"
        town = _root(rng)
        cast["C" + which] = (town, _pick(rng, _CLUB_ENDINGS)), "ORG"
        cast["c" + which] = (town,), "ORG"
        place = _root(rng)
        cast["L" + which] = ((place, _pick(rng, _PLACE_ENDINGS)) if rng.random() < 0.15 else (place,)), "LOC"
        cast["N" + which] = (_root(rng) + "ian",), "MISC"
        cast["E" + which] = (_root(rng), _pick(rng, _EVENT_ENDINGS)), "MISC"
    slots = ("p", "f", "c", "L", "p2", "f2", "c2", "L2")
    first = int(rng.random() * len(slots))
    second = (first + 1 + int(rng.random() * (len(slots) - 1))) % len(slots)
    cast["x"], cast["x2"] = cast[slots[first]], cast[slots[second]]
    return cast, (slots[first], slots[second])


def _introduction(slot: str, rng: np.random.Generator) -> str:
    """A template that tells what a name is."""
    template = _pick(rng, _INTRODUCTIONS[slot[0]])
    if not slot.endswith("2"):
        return template
    # The other of each kind takes the leading part.
    return re.sub(r"\{([PpFfCcLNE])(2?)\}", lambda m: f"{{{m[1]}}}" if m[2] else f"{{{m[1]}2}}", template)


def _fill(template: str, cast: dict[str, _Name], rng: np.random.Generator) -> tuple[list[str], list[str]]:
    """The words of one template, with BIO tags."""
    words: list[str] = []
    tags: list[str] = []
    for part in template.split():
        slot = part[1:-1] if part.startswith("{") else None
        if slot is None:
            words.append(part)
            tags.append("O")
        elif slot in cast:
            name, kind = cast[slot]
            words += name
            tags += [f"B-{kind}"] + [f"I-{kind}"] * (len(name) - 1)
        else:
            filled = _pick(rng, _FILLERS[slot]).split()
            words += filled
            tags += ["O"] * len(filled)
    if words[0][0].islower():
        words[0] = words[0].capitalize()
    return words, tags
