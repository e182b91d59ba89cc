"""Compiled loops of the inference layer: arrays and scalars in, arrays out."""
