"""What Walkstep's own estimators share: scikit-learn's manners without importing it.

`import sklearn` costs most of a second, which a command that tags a file at once cannot spend; estimators
whose inputs are not matrices gain nothing from its checks, so they keep its word on their own.
"""

import inspect
from typing import Any, Self


class NotFittedError(ValueError, AttributeError):
    """An estimator that was asked before it was trained; the same family as scikit-learn's error."""


class Estimator:
    """Keyword-only settings that are stored as they are, read and changed by name."""

    @classmethod
    def _setting_names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name."""
        return {name: getattr(self, name) for name in self._setting_names()}

    def set_params(self, **settings: Any) -> Self:
        """Change settings by name."""
        known = self._setting_names()
        for name, value in settings.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no setting {name!r}; it has {', '.join(known)}")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        signature = inspect.signature(type(self).__init__)
        changed = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(signature.parameters[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    def _check_fitted(self, attribute: str) -> None:
        if not hasattr(self, attribute):
            raise NotFittedError(f"this {type(self).__name__} is not trained yet; call fit, or load a saved model")
