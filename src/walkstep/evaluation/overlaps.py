"""How the clusters of two partitions overlap, and which pairing of them overlaps most."""

import heapq
from collections.abc import Hashable, Iterable, Mapping, Set
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from walkstep.compiled import compiled

Entities = Iterable[Hashable] | NDArray | pl.Series  # the entity of each record


class Overlaps(NamedTuple):
    """The sizes of predicted and true clusters, and of all intersections that are not empty.

    Parameters
    ----------
    n_unknown : int
        How many records were left out, their truth being unknown.
    predicted_size, true_size : int64 arrays (n_predicted,) and (n_true,)
        How many of the other records each cluster holds, at least one.
    ptr : int64 array (n_predicted + 1,)
        Predicted cluster ``p`` is made of cells ``ptr[p]:ptr[p + 1]``.
    true_of_cell : int32 array (n_cells,)
        The true cluster that each cell is shared with; clusters count in order of first appearance.
    count : int64 array (n_cells,)
        How many records each cell holds, at least one.
    """

    n_unknown: int
    predicted_size: NDArray[np.int64]
    true_size: NDArray[np.int64]
    ptr: NDArray[np.int64]
    true_of_cell: NDArray[np.int32]
    count: NDArray[np.int64]  # pyright: ignore[reportIncompatibleMethodOverride]

    @property
    def n_records(self) -> int:
        """How many records were compared."""
        return int(self.predicted_size.sum())

    @property
    def predicted_of_cell(self) -> NDArray[np.int64]:
        """The predicted cluster of each cell (n_cells,)."""
        return np.repeat(np.arange(len(self.predicted_size)), np.diff(self.ptr))


def overlaps(predicted: Entities, truth: Entities) -> Overlaps:
    """Count which predicted cluster shares how many records with which true one.

    Parameters
    ----------
    predicted, truth : arrays, Polars series or iterables of hashables (n_records,)
        The entity of each record. ``None``, NaN and -1 mean unknown: records of unknown truth are left out.

    Examples
    --------
    >>> table = overlaps(["x", "x", "y", "y"], [7, 7, 7, None])
    >>> table.predicted_size.tolist(), table.true_size.tolist(), table.count.tolist(), table.n_unknown
    ([2, 1], [3], [2, 1], 1)
    """
    guess, has_no_guess = _codes("predicted", predicted)
    true, has_no_truth = _codes("truth", truth)
    if len(guess) != len(true):
        raise ValueError(
            f"predicted has {len(guess)} records but truth has {len(true)}; give the same records in the same order"
        )
    if len(true) == 0:
        raise ValueError("predicted and truth hold no records; give at least one")
    missing = np.flatnonzero(has_no_guess & ~has_no_truth)
    if len(missing):
        raise ValueError(
            f"predicted has no entity for record {missing[0]}, whose truth is known; predict all "
            "(a record that was joined to no other is an entity of its own)"
        )
    n_unknown = int(has_no_truth.sum())
    if n_unknown == len(true):
        raise ValueError(f"truth is unknown for all of {n_unknown} records; at least one must be known")
    if n_unknown:
        guess, true = guess[~has_no_truth], true[~has_no_truth]
    guess, predicted_size = _renumber(guess, int(guess.min()), int(guess.max()))
    true, true_size = _renumber(true, int(true.min()), int(true.max()))
    return Overlaps(n_unknown, predicted_size, true_size, *_cells(guess, true, predicted_size, len(true_size)))


def _codes(name: str, entities: Entities) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Integers that are equal where entities are, and which records have none."""
    if isinstance(entities, Mapping | Set):
        raise TypeError(f"{name} is a {type(entities).__name__}; give a list with one entity a record, in order")
    if isinstance(entities, pl.Series) and entities.dtype.is_integer():
        codes, is_missing = _codes(name, entities.fill_null(0).to_numpy())
        return codes, is_missing | entities.is_null().to_numpy()
    if isinstance(entities, np.ndarray) and entities.ndim != 1:
        raise ValueError(f"{name} has shape {entities.shape}; give one entity a record")
    if isinstance(entities, np.ndarray) and entities.dtype.kind in "biu":
        return entities.astype(np.int64), entities == -1
    if isinstance(entities, np.ndarray) and entities.dtype.kind == "f" and entities.itemsize <= 8:
        values = entities.astype(np.float64) + 0.0  # -0 becomes 0, whose bits differ
        return values.view(np.int64), np.isnan(values) | (values == -1)
    # Not by way of an array: NumPy would take 1 and "1" for the same.
    code_of_entity: dict[Hashable, int] = {}
    codes = []
    for record, entity in enumerate(entities.tolist() if isinstance(entities, np.ndarray) else entities):
        try:
            is_missing = entity is None or entity != entity or entity == -1
            codes.append(-1 if is_missing else code_of_entity.setdefault(entity, len(code_of_entity)))
        except (TypeError, ValueError) as error:
            raise TypeError(
                f"{name}[{record}] is {entity!r}; give numbers, strings, tuples or other hashable values"
            ) from error
    codes = np.array(codes, dtype=np.int64)
    return codes, codes == -1


@compiled
def _renumber(codes, lowest, highest):
    """Numbers from 0 in place of any codes, and how often each occurs: a hash table with open addressing."""
    bits = 4
    while (1 << bits) * 2 < len(codes) * 3:
        bits += 1
    mask = (1 << bits) - 1
    # Codes in a narrow range are their own places, which keeps neighbours together and never collides.
    is_narrow = 0 <= highest - lowest <= mask  # a difference that overflows is negative
    number_at = np.full(1 << bits, -1, dtype=np.int32)
    code_of_number = np.empty(len(codes), dtype=np.int64)
    size = np.zeros(len(codes), dtype=np.int64)
    numbers = np.empty(len(codes), dtype=np.int32)
    n_numbers = 0
    for record in range(len(codes)):
        code = codes[record]
        if is_narrow:
            place = code - lowest
        else:
            place = np.int64((np.uint64(code) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(64 - bits))
        number = number_at[place]
        while not is_narrow and number >= 0 and code_of_number[number] != code:
            place = (place + 1) & mask
            number = number_at[place]
        if number < 0:
            number = n_numbers
            number_at[place] = number
            code_of_number[number] = code
            n_numbers += 1
        size[number] += 1
        numbers[record] = number
    return numbers, size[:n_numbers].copy()


@compiled
def _cells(predicted, true, predicted_size, n_true):
    """The cells of each predicted cluster: pointers, true clusters, counts."""
    n_predicted = len(predicted_size)
    place = np.zeros(n_predicted, dtype=np.int64)
    for p in range(1, n_predicted):
        place[p] = place[p - 1] + predicted_size[p - 1]
    true_by_cluster = np.empty(len(true), dtype=np.int32)
    for record in range(len(true)):
        true_by_cluster[place[predicted[record]]] = true[record]
        place[predicted[record]] += 1
    ptr = np.zeros(n_predicted + 1, dtype=np.int64)
    true_of_cell = np.empty(len(true), dtype=np.int32)
    count = np.empty(len(true), dtype=np.int64)
    last_cell_of_true = np.full(n_true, -1, dtype=np.int64)
    n_cells = k = 0
    for p in range(n_predicted):
        for _ in range(predicted_size[p]):
            t = true_by_cluster[k]
            k += 1
            if last_cell_of_true[t] < ptr[p]:  # a cell of an earlier cluster, or none
                last_cell_of_true[t] = n_cells
                true_of_cell[n_cells] = t
                count[n_cells] = 0
                n_cells += 1
            count[last_cell_of_true[t]] += 1
        ptr[p + 1] = n_cells
    return ptr, true_of_cell[:n_cells].copy(), count[:n_cells].copy()


def best_assignment(
    ptr: NDArray[np.int64], column: NDArray[np.int32], weight: NDArray[np.float64], n_columns: int
) -> NDArray[np.int64]:
    """The pairing of rows with columns whose weights sum to most; each is in at most one pair.

    Rows enter one at a time, by shortest augmenting paths (Kuhn 1955; Jonker and Volgenant 1987) over the
    edges that exist. A search stays near where it began, so that many small components cost no more than
    their edges, and no matrix is made.

    Parameters
    ----------
    ptr : int64 array (n_rows + 1,)
        Row ``r`` has edges ``ptr[r]:ptr[r + 1]``.
    column : int32 array (n_edges,)
        Where each edge leads; no two of a row to the same column.
    weight : float64 array (n_edges,)
        The gain of each edge, above 0.
    n_columns : int
        How many columns there are.

    Returns
    -------
    int64 array (n_rows,)
        The edge by which each row is paired, -1 for none.

    Examples
    --------
    >>> edges = np.array([0, 2, 3]), np.array([0, 1, 0], np.int32), np.array([5.0, 4.0, 3.0])
    >>> best_assignment(*edges, n_columns=2)  # 4 + 3 is more than 5
    array([1, 2])
    """
    few_edges_first = np.argsort(np.diff(ptr), kind="stable")  # hubs, entering late, are searched seldom
    return _augment(few_edges_first, ptr, column, weight, n_columns)


@compiled
def _augment(order, ptr, column, weight, n_columns):
    """Shortest augmenting paths under prices: ``row_price + column_price >= weight``, equal where paired."""
    row_price = np.zeros(len(order))
    column_price = np.zeros(n_columns)  # 0 while unpaired, as is a row's
    edge_of_row = np.full(len(order), -1, dtype=np.int64)
    row_of_column = np.full(n_columns, -1, dtype=np.int64)
    distance = np.full(n_columns, np.inf)
    row_before = np.empty(n_columns, dtype=np.int64)
    edge_before = np.empty(n_columns, dtype=np.int64)
    reached = np.empty(n_columns, dtype=np.int64)
    settled = np.empty(n_columns, dtype=np.int64)
    for start in order:
        for e in range(ptr[start], ptr[start + 1]):
            row_price[start] = max(row_price[start], weight[e] - column_price[column[e]])
        # A path ends at an unpaired column, or at a row that gives up its own: at first, the new one.
        shortest, last_row, last_column = row_price[start], start, -1
        n_reached = n_settled = 0
        row, so_far = start, 0.0
        heap = [(0.0, np.int64(0)) for _ in range(0)]
        while True:
            for e in range(ptr[row], ptr[row + 1]):
                c = column[e]
                # Rounding must not shorten the way to a settled column, so nothing is nearer than 0.
                further = so_far + max(0.0, row_price[row] + column_price[c] - weight[e])
                if further < shortest and further < distance[c]:
                    if distance[c] == np.inf:
                        reached[n_reached] = c
                        n_reached += 1
                    distance[c] = further
                    row_before[c], edge_before[c] = row, e
                    if row_of_column[c] < 0:
                        shortest, last_row, last_column = further, -1, c
                    else:
                        heapq.heappush(heap, (further, np.int64(c)))
            c = -1
            while len(heap) > 0 and c < 0:
                so_far, c = heapq.heappop(heap)
                if so_far >= shortest:
                    heap.clear()
                    c = -1
                elif so_far > distance[c]:  # reached by a shorter way since
                    c = -1
            if c < 0:
                break
            settled[n_settled] = c
            n_settled += 1
            row = row_of_column[c]
            if so_far + row_price[row] < shortest:
                shortest, last_row, last_column = so_far + row_price[row], row, c
        row_price[start] -= shortest
        for k in range(n_settled):
            c = settled[k]
            row_price[row_of_column[c]] -= shortest - distance[c]
            column_price[c] += shortest - distance[c]
        if last_row >= 0:
            edge_of_row[last_row] = -1
        c = last_column
        while c >= 0:
            row = row_before[c]
            before = edge_of_row[row]
            edge_of_row[row] = edge_before[c]
            row_of_column[c] = row
            c = column[before] if before >= 0 else -1
        for k in range(n_reached):
            distance[reached[k]] = np.inf
    return edge_of_row
