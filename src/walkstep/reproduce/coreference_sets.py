"""The documents of coreference that reproductions train and walk on: GUM's and LitBank's training files."""

from walkstep.data.catalogue import find
from walkstep.data.mentions import MentionDocuments
from walkstep.data.readers.conll2012 import read_conll2012
from walkstep.data.readers.litbank import read_litbank


def read_gum() -> MentionDocuments:
    """Documents of many genres."""
    return read_conll2012(find("gum_coref") / "gum.train.conll.gz", layer="gum")


def read_books() -> MentionDocuments:
    """Passages of novels, from LitBank."""
    return read_litbank(find("litbank") / "litbank.train.jsonl.gz")
