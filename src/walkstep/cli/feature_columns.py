"""Columns of features by name: a model finds those that it was trained with, wherever they stand in a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from walkstep.data.name_hints import listed

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from walkstep.apps.structured_estimator import StructuredEstimator


def named_columns(path: Path, X: "NDArray[np.float64]", names: Sequence[str]) -> "pl.DataFrame":
    """Features with the names of their columns, which a model then keeps."""
    import polars as pl

    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise ValueError(f"{path} has two columns of features called {repeated[0]!r}; rename one of them")
    return pl.DataFrame(X, schema=list(names), orient="row")


def columns_of_model(
    estimator: "StructuredEstimator", path: Path, X: "NDArray[np.float64]", names: Sequence[str]
) -> Any:
    """The features that a model was trained with, in its order; those that it does not know are left out."""
    known = names_of_model(estimator)
    if known is None:
        if len(names) != estimator.n_features_in_:
            raise ValueError(
                f"{path} has {len(names)} features, but the model was trained with {estimator.n_features_in_}; "
                "give rows with the same columns in the same order"
            )
        return X
    position = {name: column for column, name in enumerate(names)}
    missing = [name for name in known if name not in position]
    if missing:
        raise ValueError(
            f"{path} lacks {len(missing)} of the {len(known)} features that the model was trained with: "
            f"{listed(missing, 5)}; give rows with these columns"
        )
    return named_columns(path, X[:, [position[name] for name in known]], known)


def names_of_model(estimator: "StructuredEstimator") -> list[str] | None:
    """What the features of a model are called; None if it was trained on plain arrays."""
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def check_column(path: Path, column: str, what: str, option: str) -> None:
    """An error that names an option, where a CSV table lacks the column that it names."""
    from walkstep.data.readers._csv_cells import read_cells

    columns = list(read_cells(path).columns)
    if column not in columns:
        raise ValueError(
            f"{path} has no column {column!r} of {what}; its last columns are {columns[-5:]}; name it with {option}"
        )


def ending(path: Path) -> str:
    """How a file's name ends, packed or not.

    Examples
    --------
    >>> ending(Path("rows.CSV.gz")), ending(Path("rows"))
    ('.csv', '')
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix
