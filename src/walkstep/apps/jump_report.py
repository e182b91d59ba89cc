"""What became of jumps, kind by kind, as a table and in words."""

from collections.abc import Iterable

import polars as pl

from walkstep.inference.jump_learning import JumpTally

_TYPES = {
    "kind": pl.String,
    "share": pl.Float64,
    "tried": pl.Int64,
    "taken": pl.Int64,
    "gain": pl.Float64,
    "factors": pl.Int64,
}


def jump_table(tallies: Iterable[JumpTally]) -> pl.DataFrame:
    """A row for each kind, with the share of its jumps that were taken and what one of those gained.

    Examples
    --------
    >>> jump_table([JumpTally("swap", 0.1, 100, 25, 50.0, 900)]).row(0)
    ('swap', 0.1, 100, 25, 50.0, 900, 0.25, 2.0)
    """
    table = pl.DataFrame([tally._asdict() for tally in tallies], schema=_TYPES)
    return table.with_columns(
        (pl.col("taken") / pl.col("tried")).alias("acceptance"),
        (pl.col("gain") / pl.col("taken").clip(1)).alias("gain_per_jump"),
    )


def jump_lines(table: pl.DataFrame) -> list[str]:
    """The same in a line for each kind."""
    return [
        f"{row['kind']}: {row['tried']:,} tried, {row['acceptance']:.1%} taken, "
        f"{row['gain_per_jump']:.2f} gained by each; {row['share']:.0%} of jumps at the end"
        for row in table.iter_rows(named=True)
    ]
