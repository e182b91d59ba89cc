"""The tags that a model knows, and those that it has never been shown."""

from collections.abc import Iterable, Sequence

from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import split_tag


def known_tags(tags: Iterable[str | None]) -> list[str]:
    """Tags in a fixed order, the one outside of spans first.

    Examples
    --------
    >>> known_tags(["B-PER", None, "O", "B-LOC", "O"])
    ['O', 'B-LOC', 'B-PER']
    """
    return sorted({tag for tag in tags if tag is not None}, key=lambda tag: (tag != "O", tag))


def refuse_unknown_tags(corpus: Sequences, classes: Sequence[str], scheme: str) -> None:
    """Name a tag of a type that the model was never shown.

    Parameters
    ----------
    corpus : Sequences
    classes : sequence of str
        The tags that the model knows.
    scheme : str
        How spans are written in the corpus.
    """

    def type_of(tag: str | None) -> str | None:
        return tag if tag is None or scheme == "raw" else split_tag(tag)[1]

    known = {type_of(tag) for tag in classes} | {None, type_of("O")}
    for tag in set(corpus.tags or ()):
        if type_of(tag) not in known:
            t = (corpus.tags or []).index(tag)
            shown = ", ".join(sorted(name for name in known if name))
            raise ValueError(
                f"the tag of {corpus.tokens[t]!r} (token {t + 1}) is {tag!r}, but the model was trained on {shown} "
                "only; correct the data, train on data that has it, or let unknown tags be counted as missed "
                "(allow_unknown=True, or --allow-unknown)"
            )
