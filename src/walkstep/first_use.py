"""Public names that are loaded at first use, so that importing a package stays light."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any

_EXTRAS = {"jax": "jax", "optax": "jax"}  # what comes with an extra of the package


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
                if error.name not in _EXTRAS:
                    raise
                raise ImportError(
                    f"{package}.{name} takes {error.name}, which is not installed: "
                    f"pip install 'walkstep[{_EXTRAS[error.name]}]'"
                ) from error
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return find, lambda: sorted([*home, *loaded])
