"""What all tests share: examples are drawn the same way every time, and compiling may take its time."""

import os

# What JAX compiles here runs once or twice, on little: to optimise it takes longer than it saves.
os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_backend_optimization_level=0".strip()

from hypothesis import HealthCheck, settings

settings.register_profile(
    "walkstep", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("walkstep")
