"""Parts of loops: helpers that are compiled only as far as the loops that call them need it.

Numba makes each function it compiles ready to be called from Python: it writes wrappers, optimises, and emits machine
code, and then optimises it all again inside every caller. Of a helper that only ever becomes part of a loop, none of
that is used. Here such a helper is typed and translated, and left for its callers to optimise. It takes parts of Numba
that are not public, so that the package names the versions it was tried with.
"""

from functools import cached_property
from typing import Any

import numba
from numba import _dynfunc, types  # pyright: ignore[reportAttributeAccessIssue]
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import NativeLowering


class _Unfinished(JITCodeLibrary):
    """Code that other libraries link in, never run itself."""

    def _optimize_final_module(self):
        pass

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._finalized = True


@register_pass(mutates_CFG=True, analysis_only=False)
class _TranslateOnly(NativeLowering):
    """Translate a function, and let callers find its code."""

    _name = "translate_only"

    def run_pass(self, state):
        state.library = _Unfinished(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        made = state.cr
        # Numba finds a function by an object that could be called from Python; there is no address behind this one.
        name = made.fndesc.qualname.split(".")[-1]
        entry = _dynfunc.make_function(made.fndesc.lookup_module(), name, "", 0, made.env, (state.library,))
        state.library.finalize()
        state.targetctx.insert_user_function(entry, made.fndesc, [state.library])
        state["cr"] = _LowerResult(made.fndesc, made.call_helper, cfunc=entry, env=made.env)
        return True


class PartCompiler(CompilerBase):
    """Numba's compiler, whose last step is left to the callers."""

    def define_pipelines(self):
        """Numba's own passes but for the last."""
        builder: Any = DefaultPassBuilder
        passes = PassManager("part")
        made = builder.define_nopython_pipeline(self.state)
        passes.passes = [(_TranslateOnly if one is NativeLowering else one, said) for one, said in made.passes]
        passes.finalize()
        return [passes]


PART = {"nopython": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
"""What Numba is told of such a helper, beside what it is told of any."""


class Part(CPUDispatcher):
    """A helper of loops. Called from Python, it is compiled once more, as a loop of its own."""

    def __init__(self, py_func, locals=None, targetoptions=None, pipeline_class=PartCompiler):
        super().__init__(py_func, locals, {**(targetoptions or {}), **PART}, pipeline_class)

    @cached_property
    def whole(self) -> Any:
        """The helper as something that Python can call."""
        told = {name: value for name, value in self.targetoptions.items() if name not in {*PART, "forceinline"}}
        return numba.njit(**told)(self.py_func)

    def get_call_template(self, args: Any, kws: Any):
        """How Numba asks for the helper: a constant among its arguments is no reason to compile another one."""
        plain = {name: types.unliteral(given) for name, given in kws.items()}
        return super().get_call_template(tuple(types.unliteral(given) for given in args), plain)

    def __call__(self, *args, **kwargs):
        """Call the helper from Python."""
        return self.whole(*args, **kwargs)
