"""Compilation of the inner loops, and where the compiled code is kept.

Numba looks for edits only in the file of the function it caches, so a loop that calls a helper from
another file would go on running yesterday's helper. The cache folder is therefore named by a hash of
every source file that loops are made of: an edit there starts a fresh folder.
"""

import gc
import hashlib
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import config, typeof, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import CPUDispatcher

from walkstep.cache_folders import base_folder, made_writable
from walkstep.parts import PART, Part, PartCompiler

# -inf scores mark forbidden worlds, so the flags that assume finite numbers stay off.
FAST_MATH = {"nsz", "arcp", "contract", "afn", "reassoc"}

# A world is a struct of many arrays; calling a helper that is not inlined would copy it every time.
# Nor may it count references to those arrays (``_nrt``): that alone nearly doubled the cost of a step.
_INLINE: Any = {"forceinline": True, "_nrt": False, "error_model": "numpy", "fastmath": FAST_MATH}
INLINE: Any = {**_INLINE, **PART, "pipeline_class": PartCompiler}

_IMPORT = re.compile(rb"^(?:from|import) (walkstep[\w.]*)(?: import ([\w, ]+|\([^)]*\)))?", re.MULTILINE)


def _sources_of_loops(package: Path) -> list[Path]:
    """Files that compile something, and those that they import: where loops and the constants they freeze stand."""
    texts = {path: path.read_bytes() for path in package.rglob("*.py")}
    names = {".".join(("walkstep", *path.relative_to(package).with_suffix("").parts)): path for path in texts}
    found: set[Path] = set()
    waiting = [path for path, text in texts.items() if b"walkstep.compiled" in text]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        for module, members in _IMPORT.findall(texts[path]):
            dotted = [module.decode()]
            dotted += [f"{dotted[0]}.{member}" for member in re.findall(r"\w+", members.decode())]
            waiting += [names[name] for name in dotted if name in names]
    return sorted(found)


@cache
def cache_folder() -> Path | None:
    """Folder of this version's compiled code, or None where nothing can be written.

    Set the environment variable ``WALKSTEP_CACHE`` to move it.
    """
    digest = hashlib.blake2b(digest_size=8)
    package = Path(__file__).parent
    for source in _sources_of_loops(package):
        digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes())
    return made_writable(base_folder() / f"{digest.hexdigest()}-numba{numba.__version__}")


class Loop(CPUDispatcher):
    """A function that Numba compiles; meanwhile Python does not look for garbage, which takes a tenth of the time."""

    def compile(self, sig):
        """Compile the function for some types of arguments, or find it on disk."""
        with global_compiler_lock:
            was_enabled = gc.isenabled()
            gc.disable()
            try:
                entry = super().compile(sig)
            finally:
                if was_enabled:
                    gc.enable()
            # What a loop notes that it needs, its callers have to know too; one from disk forgets to tell.
            for made in self.overloads.values():
                made.library._reload_init.update(made.reload_init)
            return entry


def compiled(
    function: Callable[..., Any] | None = None,
    *,
    inline: bool = False,
    part: bool = False,
    allocates: bool = True,
    entry: bool = True,
) -> Any:
    """Compile a loop at its first call, releasing the interpreter lock, and keep the result on disk.

    Parameters
    ----------
    function : callable
        Plain loops over arrays and scalars.
    inline : bool
        A helper that is only ever called from other loops: it becomes part of them and is not cached itself.
    part : bool
        The same for a larger helper: each loop has it once, unless the optimiser finds it worth more.
    allocates : bool
        Whether the loop makes arrays. One that only works on what it is handed runs without
        counting references, and a loop that calls the verbs of worlds must be such a one: they hand
        out arrays whose references nobody has counted.
    entry : bool
        Whether Python calls the loop, not only other loops.
    """
    if function is None:
        return lambda inner: compiled(inner, inline=inline, part=part, allocates=allocates, entry=entry)
    if inline:
        return Part(function, targetoptions=_INLINE)
    # Numba lets what a loop calls inherit what is not said, so all of it is.
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": FAST_MATH, "nogil": True, "forceinline": False}
    options |= {"_nrt": allocates, "no_cfunc_wrapper": True, "no_cpython_wrapper": not entry}
    if part:
        return Part(function, targetoptions=options)
    dispatcher = Loop(function, targetoptions={"nopython": True, **options})
    _keep_on_disk(dispatcher)
    return dispatcher


def _keep_on_disk(dispatcher: Any) -> None:
    """Let a dispatcher find its compiled code in the cache folder, where there is one."""
    folder = cache_folder()
    if folder is not None:
        before = config.CACHE_DIR  # pyright: ignore[reportAttributeAccessIssue]
        config.CACHE_DIR = str(folder)  # pyright: ignore[reportAttributeAccessIssue]
        try:
            dispatcher.enable_caching()
        finally:
            config.CACHE_DIR = before  # pyright: ignore[reportAttributeAccessIssue]


@cache
def uncached(dispatcher: Any, world: type) -> Any:
    """The same loop, compiled anew in every process and for every class of worlds.

    The class counts by identity: Numba takes two of the same name and fields, such as one and its edited
    successor, for the same.
    """
    return Loop(dispatcher.py_func, targetoptions=dict(dispatcher.targetoptions))


def loop_for(dispatcher: Any, world: Any) -> Any:
    """The loop to run over a world: one kept on disk for Walkstep's own, an `uncached` one for a user's.

    Numba would not notice that a user has edited the verbs of his world.
    """
    is_own = type(world).__module__.partition(".")[0] == "walkstep"
    return dispatcher if is_own else uncached(dispatcher, type(world))


class Again:
    """A loop that is called again and again on the same structs: what types they have is found out once.

    Numba looks at every array of every struct at each call, which for a large world takes half a millisecond.
    """

    def __init__(self, dispatcher: Any):
        self._dispatcher = dispatcher
        self._last: tuple[tuple[Any, ...], Any] = ((), None)

    def __call__(self, *args):
        """Run the loop; arguments that are no structs are to have the same types at every call."""
        structs = tuple(x for x in args if isinstance(x, tuple))
        known, entry = self._last  # read at once: other threads may call it with structs of their own
        if len(known) != len(structs) or any(x is not y for x, y in zip(structs, known, strict=True)):
            taken = tuple(typeof(x) for x in args)
            self._dispatcher.compile(taken)
            entry = self._dispatcher.overloads[taken].entry_point
            self._last = (structs, entry)
        return entry(*args)


class Pointer(Loop):
    """A user's function with one fixed signature, which compiled loops call through its address.

    To Numba its type is the signature alone, so that a loop compiled once serves every function of that
    signature and is found again on disk; unlike a C callback, errors raised inside reach the caller.
    """

    @property
    def _numba_type_(self):
        return types.FunctionType(self.nopython_signatures[0])


@cache
def own_pointer(dispatcher: Any, signature: Any) -> Pointer:
    """One of Walkstep's own loops behind its address: those that call it are compiled without it, and sooner."""
    options = {name: value for name, value in dispatcher.targetoptions.items() if name != "no_cfunc_wrapper"}
    made = Pointer(dispatcher.py_func, targetoptions=options)
    _keep_on_disk(made)
    made.compile(signature)
    made.disable_compile()
    return made


def pointer(function: Callable[..., Any], signature: Any, what: str, arguments: str, *, nogil: bool = True) -> Pointer:
    """Compile a user's function for one signature, now, so that what is wrong with it is said now.

    Parameters
    ----------
    function : callable
        A plain Python function that Numba can compile.
    signature : numba signature
        What it takes and returns.
    what, arguments : str
        Its role and its parameters, for the error message.
    nogil : bool
        False for one that goes back to Python.
    """
    function = getattr(function, "py_func", function)
    dispatcher = Pointer(function, targetoptions={"nopython": True, "nogil": nogil})
    try:
        dispatcher.compile(signature)
    except (NumbaError, TypeError) as error:  # the latter where the number of arguments differs
        raise TypeError(
            f"{what} {function.__name__!r} does not compile as {arguments}; the compiler says: {error}"
        ) from error
    dispatcher.disable_compile()
    return dispatcher
