"""Message passing in JAX: imports NumPy and JAX alone, so that it runs on a machine that has nothing else of ours."""
