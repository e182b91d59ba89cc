"""What all tests share: examples are drawn the same way every time, and compiling may take its time."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "walkstep", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("walkstep")
