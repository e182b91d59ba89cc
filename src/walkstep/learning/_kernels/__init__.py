"""Compiled loops of the learning layer: arrays and scalars in, arrays out."""
