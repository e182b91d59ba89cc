"""Loops compiled on their own, which other loops call by name without taking their code in.

Numba links whatever a loop calls into it and optimises the whole anew, at every level of calls. A world whose verbs
are large would be optimised a dozen times over, for minutes. A `separate` function is compiled once for its
argument types; its callers hold nothing but a symbol, and the note that it must be there before they are loaded
from disk. So it is compiled, or loaded, together with the first loop that calls it.
"""

import hashlib
from collections.abc import Callable, Hashable
from importlib import import_module
from typing import Any, NamedTuple

import llvmlite.binding as llvm
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from walkstep.compiled import compiled


class _Symbols:
    """One function, compiled for some types of arguments."""

    def __init__(self, function: Callable[..., Any]):
        self.dispatcher = compiled(function, allocates=False, entry=False)
        self.module = function.__module__
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.known: dict[tuple[Any, ...], tuple[str, Any]] = {}

    def prepare(self, taken: tuple[Any, ...]) -> tuple[str, Any]:
        """Compile or load the function for argument types; returns its symbol and what it returns."""
        if taken not in self.known:
            self.dispatcher.compile(taken)
            made = self.dispatcher.overloads[taken]
            digest = hashlib.blake2b(repr(taken).encode(), digest_size=8).hexdigest()
            symbol = f"{self.name}.{digest}"
            llvm.add_symbol(symbol, made.library.get_pointer_to_function(made.fndesc.llvm_func_name))
            self.known[taken] = (symbol, made.signature.return_type)
        return self.known[taken]


_FUNCTIONS: dict[str, _Symbols] = {}
_CALLS: set[Any] = set()


class _Needed(NamedTuple):
    """A note in a compiled loop: what it calls, made ready when the loop is loaded from disk."""

    module: str
    name: str
    taken: tuple[Any, ...]

    def __call__(self):
        import_module(self.module)
        _FUNCTIONS[self.name].prepare(self.taken)


def separate(function: Callable[..., Any]) -> Any:
    """Compile a function on its own; compiled loops call what this returns like any other."""
    symbols = _Symbols(function)

    @intrinsic
    def call(typingctx, *args):
        taken = tuple(types.unliteral(given) for given in args)
        symbol, result = symbols.prepare(taken)

        def codegen(context, builder, signature, arguments):
            # The arguments come as one tuple.
            values = cgutils.unpack_tuple(builder, arguments[0], len(taken))
            context.active_code_library._reload_init.add(_Needed(symbols.module, symbols.name, taken))
            convention = context.call_conv
            callee_type = convention.get_function_type(result, taken)
            callee = cgutils.get_or_insert_function(builder.module, callee_type, symbol)
            status, value = convention.call_function(builder, callee, result, taken, values)
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return value

        return result(types.StarArgTuple(taken)), codegen

    _FUNCTIONS[symbols.name] = symbols
    _CALLS.add(call)
    call.__doc__ = function.__doc__
    return call


def is_separate(function: Any) -> bool:
    """Whether a function comes from `separate`."""
    return isinstance(function, Hashable) and function in _CALLS
