"""Structs handed on by address inside compiled loops.

Numba hands a ``NamedTuple`` on by value: a world of fifty arrays is four hundred words at every call that is not
inlined, and inlining everything makes code that takes minutes to compile. A loop that calls `refer` on a world of
one of the classes in `LARGE` gets a reference instead: one word, whose fields are read where they are needed.
Nothing else changes in the code that uses it.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.datamodel import models
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, register_model

LARGE: set[type] = set()
"""Classes of worlds that are handed on by address."""


class Reference(types.Type):
    """The address of a ``NamedTuple``."""

    def __init__(self, target: Any):
        self.target = target
        super().__init__(name=f"Reference({target})")

    @property
    def instance_class(self) -> type:
        """The class behind the address."""
        return self.target.instance_class


def class_of(struct: Any) -> type:
    """The class of a ``NamedTuple``, or of what a reference leads to, from its Numba type."""
    if isinstance(struct, Reference | types.NamedTuple | types.NamedUniTuple):
        return struct.instance_class
    raise TypeError(f"a world is a NamedTuple, not {struct}")


@register_model(Reference)
class _ReferenceModel(models.PrimitiveModel):
    def __init__(self, dmm, fe_type):
        super().__init__(dmm, fe_type, dmm.lookup(fe_type.target).get_value_type().as_pointer())


def _field(reference: Reference, name: str) -> tuple[int, Any]:
    """Where a field lies, and its type."""
    at = reference.target.fields.index(name)
    return at, reference.target.types[at]


def _is_struct(field: Any) -> bool:
    return isinstance(field, types.NamedTuple | types.NamedUniTuple)


@infer_getattr
class _ReferenceAttributes(AttributeTemplate):
    key = Reference

    def generic_resolve(self, value, attr):
        if attr not in value.target.fields:
            return None
        field = _field(value, attr)[1]
        return Reference(field) if _is_struct(field) else field


@lower_getattr_generic(Reference)
def _read_field(context, builder, typ, value, attr):
    at, field = _field(typ, attr)
    word = ir.IntType(32)
    address = builder.gep(value, [word(0), word(at)], inbounds=True)
    if _is_struct(field):
        return address
    read = builder.load(address)
    # The arrays of a world never change their place while a loop runs, whatever is written into them.
    read.set_metadata("invariant.load", builder.module.add_metadata([]))
    return read


def _refer(typingctx, struct):
    """The struct by address where its class is in `LARGE`, otherwise as it is.

    To be called in the loop itself, never in a helper: the address is good as long as its caller runs.
    """
    if _is_struct(struct) and struct.instance_class in LARGE:  # pyright: ignore[reportAttributeAccessIssue]
        return Reference(struct)(struct), lambda context, builder, signature, args: cgutils.alloca_once_value(
            builder, args[0]
        )
    return struct(struct), lambda context, builder, signature, args: args[0]  # pyright: ignore[reportCallIssue]


refer: Any = intrinsic(_refer)
