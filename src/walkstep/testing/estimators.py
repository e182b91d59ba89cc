"""A check of estimators whose inputs are not matrices; those that take matrices have scikit-learn's own."""

import inspect
import pickle
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

_PICKLED = tuple(bytes([0x80, protocol]) for protocol in range(2, 6))


def check_estimator(estimator_class: type, make_data: Callable[[], tuple[Any, Any]], **settings: Any) -> None:
    """Check that an estimator keeps scikit-learn's word, and that what it saves is data alone.

    Settings are stored untouched and read and changed by name; asking before training is an error; ``fit``
    returns the estimator and changes neither its settings nor its data; the same ``random_state`` gives the same
    predictions; a saved model is no pickle, is loaded without one, and predicts what was predicted before.

    Parameters
    ----------
    estimator_class : type
        With ``fit(inputs, truth)``, ``predict(inputs)``, ``save(path)`` and ``load(path)``.
    make_data : callable
        ``() -> (inputs, truth)``, the same small training data every time.
    **settings
        What to train with, beside the defaults: few epochs, for one.
    """
    _check_settings(estimator_class, settings)
    if "random_state" in inspect.signature(estimator_class).parameters:
        settings.setdefault("random_state", 0)
    name = estimator_class.__name__
    _check_unfitted(estimator_class(**settings), make_data()[0], name)
    estimator = estimator_class(**settings)
    inputs, truth = make_data()
    returned = estimator.fit(inputs, truth)
    assert returned is estimator, f"{name}.fit returns {type(returned).__name__}; return self"
    for setting, value in estimator.get_params().items():
        if setting in settings:
            assert value is settings[setting], (
                f"{name}.fit changes the setting {setting!r} to {value!r}; keep what is learned in {setting}_"
            )
    for what, mine, fresh in zip(("inputs", "truth"), (inputs, truth), make_data(), strict=True):
        assert _same(mine, fresh), f"{name}.fit changes the {what} it is given; work on a copy"
    expected = estimator.predict(inputs)
    _check_same(estimator.predict(inputs), expected, f"{name}.predict, asked twice", "leave nothing behind in predict")
    twin = estimator_class(**settings).fit(*make_data())
    way_out = "draw from random_state alone"
    _check_same(twin.predict(inputs), expected, f"another {name} with the same settings and data", way_out)
    way_out = "begin fit anew, whatever was learned before"
    _check_same(estimator.fit(inputs, truth).predict(inputs), expected, f"{name} trained a second time", way_out)
    _check_saving(estimator, inputs, expected, name)


def _check_settings(estimator_class: type, settings: Mapping[str, Any]) -> None:
    """Settings must be stored as they are, and be read and changed by name."""
    name = estimator_class.__name__
    parameters = inspect.signature(estimator_class).parameters
    for setting, parameter in parameters.items():
        assert parameter.kind is parameter.KEYWORD_ONLY, (
            f"{name} takes {setting!r} by position; put a * before its settings"
        )
        has_default = parameter.default is not parameter.empty
        assert has_default or setting in settings, f"{name} needs {setting!r}; give it a default"
    marks = {setting: object() for setting in parameters}
    estimator = estimator_class(**marks)
    for setting, mark in marks.items():
        assert getattr(estimator, setting, None) is mark, (
            f"{name} does not keep the setting {setting!r} as it is given; store it in __init__, and look at it in fit"
        )
    learned = [attribute for attribute in vars(estimator) if attribute.endswith("_")]
    assert not learned, f"{name} has {learned[0]!r} before it is trained; set it in fit"
    assert estimator.get_params() == marks, f"{name}.get_params gives other settings than it was given; give those"
    others = {setting: object() for setting in parameters}
    assert estimator.set_params(**others) is estimator, f"{name}.set_params does not return self; let it"
    assert estimator.get_params() == others, (
        f"{name}.set_params does not change what get_params gives; store the settings"
    )
    try:
        estimator.set_params(no_such_setting=1)
    except ValueError:
        return
    raise AssertionError(f"{name}.set_params takes 'no_such_setting'; raise a ValueError that lists the settings")


def _check_unfitted(estimator: Any, inputs: Any, name: str) -> None:
    """Asking before training must be told from other errors."""
    try:
        estimator.predict(inputs)
    except Exception as error:
        if isinstance(error, ValueError) and isinstance(error, AttributeError):
            return
        did = f"raises {error!r}"
    else:
        did = "answers"
    raise AssertionError(f"{name}.predict {did} before it is trained; raise walkstep.apps.base.NotFittedError")


def _check_saving(estimator: Any, inputs: Any, expected: Any, name: str) -> None:
    """A saved model must predict the same, and be data alone."""
    for verb in ("save", "load"):
        assert hasattr(estimator, verb), f"{name} has no {verb!r}; write models with walkstep.data.archive"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        estimator.save(path)
        for file in sorted(Path(folder).rglob("*")):
            if file.is_file():
                _check_file(file, name)
        loaded = type(estimator).load(path)
        way_out = "save all that predict looks at"
        _check_same(loaded.predict(inputs), expected, f"{name}, saved and loaded,", way_out)
        # A second time, when all compiled code is there: that is kept in pickles of its own.
        with _no_pickle(name):
            type(estimator).load(path)


def _check_file(file: Path, name: str) -> None:
    """No file, nor a member of a zip file, may be a pickle."""
    contents = {file.name: file.read_bytes()}
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as members:
            contents |= {member: members.read(member) for member in members.namelist()}
    for member, content in contents.items():
        is_pickled = content.startswith(_PICKLED) or (content.startswith(b"\x93NUMPY") and b"'|O'" in content[:200])
        assert not is_pickled, (
            f"{name}.save writes a pickle ({member}), and loading one can run any code; "
            "write plain arrays and JSON with walkstep.data.archive"
        )


@contextmanager
def _no_pickle(name: str) -> Iterator[None]:
    """Refuse to read pickles, for a while."""

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError(
            f"{name}.load reads a pickle, which can run any code; read plain arrays and JSON with walkstep.data.archive"
        )

    with (
        mock.patch.object(pickle, "load", refuse),
        mock.patch.object(pickle, "loads", refuse),
        mock.patch.object(pickle, "Unpickler", refuse),
        mock.patch.object(pickle._Unpickler, "load", refuse),  # pyright: ignore[reportAttributeAccessIssue]
    ):
        yield


def _check_same(given: Any, expected: Any, who: str, way_out: str) -> None:
    """Predictions must be the same."""
    assert _same(given, expected), f"{who} predicts {_short(given)} instead of {_short(expected)}; {way_out}"


def _same(one: Any, other: Any) -> bool:
    """Whether two nests of lists, mappings, arrays, dataframes and plain things are equal."""
    if hasattr(one, "equals"):  # of Polars, pandas and PyArrow alike
        return type(one) is type(other) and bool(one.equals(other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return np.array_equal(one, other)
    if isinstance(one, Mapping):
        return isinstance(other, Mapping) and one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, Sequence) and not isinstance(one, str):
        return type(one) is type(other) and len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _short(thing: Any) -> str:
    """The beginning of a long text."""
    text = repr(thing)
    return text if len(text) <= 120 else f"{text[:117]}..."
