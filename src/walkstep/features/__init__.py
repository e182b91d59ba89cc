"""From observations to numbers: vocabularies and token features."""
