"""Compiled loops of the features layer: arrays and scalars in, arrays out."""
