"""Structured prediction with factor graphs, trained by walking on the metric you are judged by."""

from typing import TYPE_CHECKING

from walkstep.first_use import first_use

if TYPE_CHECKING:
    from walkstep.apps.collective_classifier import CollectiveClassifier
    from walkstep.apps.coreference_resolver import CoreferenceResolver
    from walkstep.apps.entity_resolver import EntityResolver
    from walkstep.apps.hierarchy_classifier import HierarchyClassifier
    from walkstep.apps.label_ranker import LabelRanker
    from walkstep.apps.multi_label_classifier import MultiLabelClassifier
    from walkstep.apps.sequence_tagger import SequenceTagger

__version__ = "0.1.0"

__all__ = [
    "CollectiveClassifier",
    "CoreferenceResolver",
    "EntityResolver",
    "HierarchyClassifier",
    "LabelRanker",
    "MultiLabelClassifier",
    "SequenceTagger",
    "__version__",
]

# Public names are loaded at first use, so that `import walkstep` stays light.
_HOMES = {
    "apps.collective_classifier": ("CollectiveClassifier",),
    "apps.coreference_resolver": ("CoreferenceResolver",),
    "apps.entity_resolver": ("EntityResolver",),
    "apps.hierarchy_classifier": ("HierarchyClassifier",),
    "apps.label_ranker": ("LabelRanker",),
    "apps.multi_label_classifier": ("MultiLabelClassifier",),
    "apps.sequence_tagger": ("SequenceTagger",),
}
__getattr__, __dir__ = first_use("walkstep", _HOMES, "__version__")
