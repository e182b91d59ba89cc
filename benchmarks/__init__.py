"""Walkstep side by side with its peers, in one run, as ratios, per CPU-second."""
