"""Compiled programs of JAX, kept on disk: a second process finds them, where the first compiled for seconds.

JAX knows a program by all that it is compiled from, versions among it, so that an edit needs no fresh folder.
"""

import hashlib
from pathlib import Path
from typing import Any

import jax
from llvmlite import binding as llvm

from walkstep.cache_folders import base_folder, made_writable

_JAX_KEEPS = 1.0  # seconds that a program takes to compile, if JAX is to keep it: more than most of ours take
_WE_KEEP = 0.1  # less makes many small files for little time


def keep_programs() -> None:
    """Let JAX keep programs beside Walkstep's other caches, unless the user has said where, or that it should not.

    It is said to JAX as a whole, once for each process; what the user says to it later wins, until JAX has first
    looked for a program.
    """
    settings: Any = jax.config
    if settings.jax_compilation_cache_dir is not None or not settings.jax_enable_compilation_cache:
        return
    folder = made_writable(programs_folder())
    if folder is None:
        return
    settings.update("jax_compilation_cache_dir", str(folder))
    if settings.jax_persistent_cache_min_compile_time_secs == _JAX_KEEPS:
        settings.update("jax_persistent_cache_min_compile_time_secs", _WE_KEEP)


def programs_folder() -> Path:
    """Where programs for this processor are kept: machines may share a home, but not all run the same instructions."""
    processor = f"{llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"
    digest = hashlib.blake2b(processor.encode(), digest_size=8).hexdigest()
    return base_folder() / f"{digest}-jax{jax.__version__}"
