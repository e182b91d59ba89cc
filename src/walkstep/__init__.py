"""Structured prediction with factor graphs, trained by walking on the metric you are judged by."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from walkstep.apps.coreference_resolver import CoreferenceResolver
    from walkstep.apps.entity_resolver import EntityResolver
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.apps.sequence_tagger import SequenceTagger

__version__ = "0.1.0"

__all__ = ["CoreferenceResolver", "EntityResolver", "MultiLabelClassifier", "SequenceTagger", "__version__"]

# Public names are loaded at first use, so that `import walkstep` stays light.
_HOMES = {
    "CoreferenceResolver": "walkstep.apps.coreference_resolver",
    "EntityResolver": "walkstep.apps.entity_resolver",
    "MultiLabelClassifier": "walkstep.apps.multi_label_classifier",
    "SequenceTagger": "walkstep.apps.sequence_tagger",
}


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'walkstep' has no attribute {name!r}")


def __dir__():
    return sorted(__all__)
