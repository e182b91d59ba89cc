"""The templates of a tagger: a ready-made shape with its features, a text in the model language, or the user's own."""

from typing import Any

from walkstep.data.sequences import Sequences
from walkstep.features.default_features import column_features
from walkstep.model.templates import Template, linear_chain, second_order_chain, skip_chain

_SHAPES = {"chain": linear_chain, "skip-chain": skip_chain, "second-order": second_order_chain}


def tag_templates(tagger: Any, corpus: Sequences) -> tuple[Template, ...]:
    """What a tagger is made of.

    Parameters
    ----------
    tagger : SequenceTagger
        Whose settings are read.
    corpus : Sequences
        Whose columns it may see.
    """
    if not isinstance(tagger.templates, str):
        return tuple(tagger.templates)
    if tagger.templates not in _SHAPES:
        # The parser is loaded only for those who write a model as text.
        from walkstep.model.language import parse_model

        return parse_model(tagger.templates)
    features = ["default"] if isinstance(tagger.features, str) else list(tagger.features)
    if isinstance(tagger.features, str) and tagger.features != "default":
        raise ValueError(f"features is {tagger.features!r}; give 'default' or a list of features")
    if tagger.use_columns:
        features += column_features(corpus.columns)
    if tagger.gazetteers is not None:
        features += ["gazetteer", "gazetteer[-1]", "gazetteer[1]"]
    if tagger.clusters is not None:
        features += [f"cluster({n})[{o}]" for n in (4, 6, 10, 20) for o in (-1, 0, 1)]
    return _SHAPES[tagger.templates](features)
