"""Invented debates: members who speak for or against, and refer to each other.

What a member says hints at the vote at best; whom the member praises or contradicts tells more, once the votes of
those are known. Nothing here comes from a corpus.
"""

import numpy as np
import polars as pl


def _words(text: str) -> tuple[str, ...]:
    """A list of words that reads as a line of text."""
    return tuple(text.split())


_MEMBERS = _words(
    "Harlow Brask Tamsin Ondray Velling Corrin Maddock Ishel Parron Lindqua Torvane Ashby Quill Renholt Drummet Farrow "
    "Selwick Norrin Caldane Winther Okembe Salvar Tressel Bannock"
)
_WORDS_OF_VOTE = {
    "for": _words("support progress needed families future improve proud benefit invest help"),
    "against": _words("costs burden oppose waste flawed taxpayers reckless harm delay reject"),
}
_OTHER_WORDS = _words(
    "the bill house today members committee section amendment time floor debate question years state people country "
    "chairman report policy program"
)
_REFERENCES = {
    True: (
        "I agree with my friend on every word",
        "as my colleague put it so well",
        "I thank him for leading this effort",
    ),
    False: (
        "I must correct what was just claimed",
        "the argument of my colleague is simply mistaken",
        "he would have us believe otherwise",
    ),
}
_NEUTRAL = ("before my colleague came to the floor", "to answer the question of the member")


def generate_debates(n_debates: int = 20, n_members: int = 12, seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make debates with the votes of all who take part.

    Parameters
    ----------
    n_debates : int
    n_members : int
        Members who speak in each debate, at most 24.
    seed : int
        The same seed gives the same debates. Words are the same for every seed, so that debates of different seeds
        serve as training and test data.

    Returns
    -------
    items : DataFrame
        A row for each member of each debate: ``id``, ``debate``, ``member``, ``text`` (what was said), ``minutes``
        (how long, which tells nothing) and ``vote``, for or against.
    links : DataFrame
        A row for each reference: ``source`` refers to ``target`` with the words ``text``; its ``type`` is ``reply``
        where something was said, and ``applause`` where nothing was.

    Examples
    --------
    >>> items, links = generate_debates(2, 5, seed=0)
    >>> items.columns, links.columns
    (['id', 'debate', 'member', 'text', 'minutes', 'vote'], ['source', 'target', 'type', 'text'])
    >>> items.height, sorted(set(items["vote"]))
    (10, ['against', 'for'])
    """
    if n_debates < 1:
        raise ValueError(f"n_debates is {n_debates}; ask for at least 1")
    if not 2 <= n_members <= len(_MEMBERS):
        raise ValueError(f"n_members is {n_members}; ask for 2 to {len(_MEMBERS)}")
    rng = np.random.default_rng(seed)
    items, links = [], []
    for debate in range(n_debates):
        members = rng.permutation(len(_MEMBERS))[:n_members]
        votes = rng.random(n_members) < 0.5
        votes[:2] = True, False  # no debate is unanimous
        names = [_MEMBERS[member] for member in members]
        ids = [f"{debate}-{name}" for name in names]
        for m, name in enumerate(names):
            said = _speech(bool(votes[m]), rng)
            vote = "for" if votes[m] else "against"
            items.append((ids[m], f"debate {debate}", name, said, round(float(rng.gamma(3.0)), 1), vote))
            for _ in range(1 + int(rng.random() * 3)):
                other = (m + 1 + int(rng.random() * (n_members - 1))) % n_members
                agrees = bool(votes[m] == votes[other])
                if rng.random() < 0.2:
                    # Applause for one's own side, mostly.
                    if agrees or rng.random() < 0.2:
                        links.append((ids[m], ids[other], "applause", None))
                else:
                    links.append((ids[m], ids[other], "reply", _reference(agrees, rng)))
    columns = ["id", "debate", "member", "text", "minutes", "vote"]
    return (
        pl.DataFrame(items, schema=columns, orient="row"),
        pl.DataFrame(links, schema=dict.fromkeys(["source", "target", "type", "text"], pl.String), orient="row"),
    )


def _speech(is_for: bool, rng: np.random.Generator) -> str:
    """Some twenty words, one in six of which leans to a side, and that mostly to the speaker's own."""
    words = []
    for _ in range(15 + int(rng.random() * 10)):
        if rng.random() < 1 / 6:
            own = rng.random() < 0.7
            words.append(_pick(rng, _WORDS_OF_VOTE["for" if is_for == own else "against"]))
        else:
            words.append(_pick(rng, _OTHER_WORDS))
    return " ".join(words)


def _reference(agrees: bool, rng: np.random.Generator) -> str:
    """The words around a mention: often telling, at times polite, at times misleading."""
    draw = rng.random()
    if draw < 0.2:
        return _pick(rng, _NEUTRAL)
    return _pick(rng, _REFERENCES[agrees if draw < 0.9 else not agrees])


def _pick(rng: np.random.Generator, options: tuple[str, ...]) -> str:
    """One of several, each as likely."""
    return options[int(rng.random() * len(options))]
