"""Public names that are loaded at first use, so that importing a package stays light."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

_EXTRAS = {"jax": "jax", "optax": "jax"}  # what comes with an extra of the package


def missing_extra(who: str, error: ModuleNotFoundError) -> ImportError | None:
    """What to install where a module that comes with an extra is not found; None if it comes with none.

    Parameters
    ----------
    who : str
        What asks for it.
    error : ModuleNotFoundError

    Examples
    --------
    >>> print(missing_extra("learner 'risk'", ModuleNotFoundError(name="jax.numpy")))
    learner 'risk' takes jax.numpy, which is not installed: pip install 'walkstep[jax]'
    """
    extra = _EXTRAS.get((error.name or "").partition(".")[0])
    if extra is None:
        return None
    return ImportError(f"{who} takes {error.name}, which is not installed: pip install 'walkstep[{extra}]'")


def first_use(
    package: str, homes: Mapping[str, Sequence[str]], *loaded: str
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """What a package calls ``__getattr__`` and ``__dir__``.

    Parameters
    ----------
    package : str
        Its name.
    homes : mapping of str to names
        The modules of the package, and the names that are found there.
    *loaded : str
        Names that the package has anyway.
    """
    home = {name: f"{package}.{module}" for module, names in homes.items() for name in names}

    def find(name: str) -> Any:
        if name in home:
            try:
                return getattr(import_module(home[name]), name)
            except ModuleNotFoundError as error:
                missing = missing_extra(f"{package}.{name}", error)
                if missing is None:
                    raise
                raise missing from error
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted([*home, *loaded])
