"""What the columns of a table hold, as a person would say: names, texts, numbers, dates, codes."""

import re
from enum import StrEnum
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray


class Kind(StrEnum):
    """What a column holds, which decides how its values are compared."""

    NAME = "name"  # of a person, several persons, a place or an organisation
    TEXT = "text"  # titles, descriptions, addresses
    IDENTIFIER = "identifier"  # ISBN, DOI, phone, postcode: digits that are not counted
    NUMBER = "number"
    DATE = "date"
    CATEGORY = "category"  # few distinct values
    LIST = "list"
    VECTOR = "vector"  # as many numbers in every row
    KEY = "key"  # tells rows apart, says nothing about what they are
    CONSTANT = "constant"  # missing, or the same in all rows: of no use


_NUMBER = r"([0-9]{1,3}(?:,[0-9]{3})+\b(?:\.[0-9]+)?|[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?|\.[0-9]+)"
_NEGATIVE = r"^(?:[^0-9]*[\s(\[:=])?[-−][$€£]?\.?[0-9]"
_ONE_NUMBER = rf"^[^0-9\pL]*{_NUMBER}[^0-9\pL]*$"
_NUMBERS = (
    r"(?i)^\W*(?:(?:pp?|pages?|vol|volumes?|no|nos|nr|numbers?|art|article|ch|chapter|ca?|approx|about|usd|eur|gbp)"
    r"\W*)?[0-9][0-9\W_]*(?:kg|g|mg|lb|lbs|oz|cm|mm|m|km|ml|l|in|inch|inches|ft|pp|pages|usd|eur|gbp|st|nd|rd|th)?\W*$"
)
_YEAR = r"^[^0-9\pL]*(?:1[5-9]|20)[0-9]{2}[^0-9\pL]*$"
_ADDRESS_OF_THE_WEB = r"(?i)^(?:\S+@\S+\.\S+|(?:https?://|www\.)\S+|(?:doi:\s*)?10\.[0-9]{4,}/\S+)$"
_CODE = r"(?i)^(?:[\pL]{0,3}[^\pL\s]*\s+)*(?:\S*[0-9]\S*)(?:\s+(?:\S*[0-9]\S*|[\pL]{1,3}))*$"
_UUID = r"(?i)^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$"
# Words that names do without: not "a" and "in", which are initials or stand before editors.
_FUNCTION_WORD = (
    r"(?i)(?:^|\s)(?:the|of|for|on|with|to|from|by|using|an|at|is|as|its|via|are|this|that|or|not|how"
    r"|der|die|das|des|für|mit|eine?|im|les|pour|dans|sur|une|avec|para|con|una|il|per)(?:\s|$)"
)
_BETWEEN_NAMES = r"(?i)\s*(?:[,;&|]|\s(?:and|und|et|y)\s)\s*"

_KEY_NAME = re.compile(
    r"(?:(?:rec|record|row|ref|mention|item|entry|unique|src|source)_?)?(?:id|ids|key|index|idx|no|nr)"
)
_KEY_NAMES = frozenset({"uuid", "guid", "pk", "row", "row_number", "rownum", "unnamed:_0"})
_IDENTIFIER_NAME = re.compile(
    r"(?:^|_)(?:id|ids|isbn|issn|doi|pmid|ssn|soc_sec|nino|ein|vat|tin|upc|ean|gtin|sku|asin|iban|phone|telephone|tel|fax"
    r"|mobile|zip|zipcode|zip_code|postcode|post_code|postal_code|plz|code|barcode|serial|passport|licen[cs]e|orcid)(?:_|$)"
)
_NAME_NAME = re.compile(
    r"(?:^|_)(?:names?|surname|forename|firstname|lastname|given|authors?|editors?|person|people|artists?|director|actors?"
    r"|company|organi[sz]ation|publisher|manufacturer|brand|city|town|suburb)(?:_|$)"
)
_TEXT_NAME = re.compile(
    r"(?:^|_)(?:title|booktitle|description|abstract|text|comments?|notes?|summary|content|address|addr|street|venue|journal)"
    r"(?:_|$|[0-9])"
)


def infer_kinds(frame: pl.DataFrame, sample: int = 20_000) -> dict[str, Kind]:
    """What each column of a table holds, told from its values and, where these leave doubt, from its name.

    Parameters
    ----------
    frame : DataFrame
        The records, as `as_frame` makes them.
    sample : int
        About how many rows are looked at closely; they are spread evenly.

    Returns
    -------
    dict of str to Kind
        In the order of the columns.

    Examples
    --------
    >>> frame = pl.DataFrame({
    ...     "id": [1, 2, 3],
    ...     "author": ["r. e. schapire and y. singer", "Freund, Y.", "Y. Freund"],
    ...     "title": ["On the margins of boosting", "A theory of games for learners", "Game theory, for learners"],
    ...     "year": ["(1998)", "1996.", "1996,"],
    ... })
    >>> {name: str(kind) for name, kind in infer_kinds(frame).items()}
    {'id': 'key', 'author': 'name', 'title': 'text', 'year': 'number'}
    """
    step = max(1, -(-frame.height // max(1, sample)))
    return {name: _kind(frame[name], step) for name in frame.columns}


def parse_numbers(values: pl.Series) -> NDArray[np.float64]:
    """The first number in each value, NaN where there is none.

    Commas may group digits by three; they are not taken for decimal points.

    Examples
    --------
    >>> parse_numbers(pl.Series(["pp. 12-19", "(1993).", "$1,234.50", "-3", "to appear", None]))
    array([  12. , 1993. , 1234.5,   -3. ,    nan,    nan])
    """
    if values.dtype == pl.String:
        size = values.str.extract(_NUMBER, 1).str.replace_all(",", "").cast(pl.Float64, strict=False)
        is_negative = values.str.contains(_NEGATIVE).fill_null(False)
        numbers = size * (1 - 2 * is_negative.cast(pl.Int8))
    else:
        numbers = values.cast(pl.Float64)
    found = np.array(numbers.fill_null(float("nan")), dtype=np.float64)
    found[np.isinf(found)] = np.nan
    return found


def parse_dates(values: pl.Series) -> NDArray[np.float64]:
    """Each date as days since 1 January 1970, NaN where there is none.

    Dates may be written 1908-12-09 (with a time after it, or no day), 1908/12/09, 19081209, 9.12.1908, 9/12/1908,
    9 December 1908 or Dec 9, 1908. Whether the day or the month comes first in 9/12/1908 is what more of the column's
    values allow; the day, if that leaves it open.

    Examples
    --------
    >>> parse_dates(pl.Series(["1970-01-02", "19700103", "4/1/1970", "Jan 5, 1970", "soon", None]))
    array([ 1.,  2.,  3.,  4., nan, nan])
    """
    if values.dtype.is_temporal():
        dates = values.cast(pl.Date)
    else:
        # Most values are met more than once; each is parsed once.
        texts = values.cast(pl.String).alias("text")
        parsed = texts.unique().to_frame().with_columns(date=_date(texts))
        dates = texts.to_frame().join(parsed, on="text", how="left", maintain_order="left")["date"]
    days = dates.cast(pl.Int32).cast(pl.Float64)
    return np.array(days.fill_null(float("nan")), dtype=np.float64)


def _date(texts: pl.Series) -> pl.Expr:
    """How the column ``text`` is parsed, given the order of day and month that most of the texts allow."""
    parts = texts.str.extract_groups(r"^([0-9]{1,2})[/.-]([0-9]{1,2})[/.-][0-9]{4}\b")
    first, second = (parts.struct[k].cast(pl.Int32) for k in range(2))
    day_first = (first > 12).sum() >= (second > 12).sum()
    text = (
        pl.col("text")
        .str.replace(r"[T ]+[0-9]{1,2}:[0-9]{2}.*$", "")
        .str.replace_all(r"[/.,\s]+", "-")
        .str.replace(r"^([0-9]{4}-[0-9]{1,2})$", "$1-1")
    )
    numeric = ["%d-%m-%Y", "%m-%d-%Y"] if day_first else ["%m-%d-%Y", "%d-%m-%Y"]
    pattern_of_way = {
        "%Y-%m-%d": r"^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$",
        "%Y%m%d": r"^[0-9]{8}$",
        **dict.fromkeys(numeric, r"^[0-9]{1,2}-[0-9]{1,2}-[0-9]{4}$"),
        "%d-%b-%Y": r"^[0-9]{1,2}-\pL{3}-[0-9]{4}$",
        "%d-%B-%Y": r"^[0-9]{1,2}-\pL{4,}-[0-9]{4}$",
        "%b-%d-%Y": r"^\pL{3}-[0-9]{1,2}-[0-9]{4}$",
        "%B-%d-%Y": r"^\pL{4,}-[0-9]{1,2}-[0-9]{4}$",
    }
    return pl.coalesce(
        pl.when(text.str.contains(pattern)).then(text).str.to_date(way, strict=False)
        for way, pattern in pattern_of_way.items()
    )


class _Look(NamedTuple):
    """What is seen of a column: its values that are there, those looked at closely, and its name's words."""

    values: pl.Series
    sampled: pl.Series
    n_missing: int
    n_distinct: int
    words: str

    def share(self, pattern: str) -> float:
        """The share of the sampled strings that match."""
        return float(self.sampled.str.contains(pattern).mean())  # pyright: ignore[reportArgumentType]

    @property
    def is_key(self) -> bool:
        """Whether every row has a value of its own."""
        return self.n_missing == 0 and self.n_distinct == len(self.values)

    @property
    def has_key_name(self) -> bool:
        """Whether the name is one that people give to keys."""
        return bool(_KEY_NAME.fullmatch(self.words)) or self.words in _KEY_NAMES


def _kind(values: pl.Series, step: int) -> Kind:
    """The kind of one column."""
    present = values.drop_nulls()
    if len(present) == 0:
        return Kind.CONSTANT
    if values.dtype.is_nested():
        return _kind_of_lists(present)
    words = re.sub(r"(?<=[a-z])(?=[A-Z])|[\s.-]+", "_", values.name.strip()).lower()
    look = _Look(present, present.gather_every(step), len(values) - len(present), present.n_unique(), words)
    if look.n_distinct == 1:
        return Kind.CONSTANT
    if values.dtype == pl.Boolean:
        return Kind.CATEGORY
    if values.dtype.is_temporal():
        return Kind.DATE if values.dtype in (pl.Date, pl.Datetime) else Kind.NUMBER
    if values.dtype.is_float() or values.dtype.is_decimal():
        return Kind.CATEGORY if look.n_distinct == 2 else Kind.NUMBER
    if values.dtype.is_integer():
        look = look._replace(values=present.cast(pl.String), sampled=look.sampled.cast(pl.String))
    return _kind_of_strings(look)


def _kind_of_lists(present: pl.Series) -> Kind:
    """Lists of several lengths are lists; of one length, and of fractions, vectors."""
    if isinstance(present.dtype, pl.Array):
        present = present.arr.to_list()
    lengths = present.list.len().unique()
    inner = present.dtype.inner  # pyright: ignore[reportAttributeAccessIssue]
    if len(lengths) == 1 and lengths[0] > 1 and inner.is_float():
        return Kind.VECTOR
    return Kind.LIST


def _kind_of_strings(look: _Look) -> Kind:
    """Dates and numbers first, then what repeats, then codes, and last what is made of words."""
    if look.is_key and (look.has_key_name or look.share(_UUID) == 1 or _counts_rows(look)):
        return Kind.KEY
    if np.isfinite(parse_dates(look.sampled)).mean() >= 0.8:
        return Kind.DATE
    if look.share(_NUMBERS) >= 0.8:
        return _kind_of_numerals(look)
    if look.share(_ADDRESS_OF_THE_WEB) >= 0.8:
        return Kind.IDENTIFIER
    if _repeats(look):
        return Kind.CATEGORY
    if look.share(_CODE) >= 0.8:
        return Kind.IDENTIFIER
    return Kind.NAME if _is_name(look) else Kind.TEXT


def _counts_rows(look: _Look) -> bool:
    """Whether the values are the numbers of the rows, or nearly; not years, in the order of years."""
    numbers = look.values.cast(pl.Int64, strict=False)
    if numbers.null_count() or look.share(_YEAR) == 1 or not numbers.is_sorted():
        return False
    return numbers[-1] - numbers[0] < 2 * len(numbers)


def _kind_of_numerals(look: _Look) -> Kind:
    """Digits are a number if they say how much, an identifier if they say which."""
    if look.share(_YEAR) >= 0.8:
        return Kind.NUMBER
    if _IDENTIFIER_NAME.search(look.words):
        return Kind.IDENTIFIER
    if look.n_distinct == 2 and len(look.values) >= 20:
        return Kind.CATEGORY
    if look.share(r"^0[0-9]+$") >= 0.01:
        return Kind.IDENTIFIER
    n_digits = look.sampled.str.count_matches(r"[0-9]").to_numpy()
    has_point = look.share(r"^[^0-9]*[0-9]+\.[0-9]+$") >= 0.2 and look.share(_ONE_NUMBER) >= 0.8
    if not has_point and np.median(n_digits) >= 7 and (n_digits == np.median(n_digits)).mean() >= 0.7:
        return Kind.IDENTIFIER
    return Kind.NUMBER


def _repeats(look: _Look) -> bool:
    """Whether few values make up the column: few in all, or few beside misspellings of them."""
    n_rows = len(look.values)
    if n_rows < 20 or look.n_distinct > n_rows / 3:
        return False
    if look.n_distinct <= min(300, np.sqrt(n_rows)):
        return True
    counts = look.values.value_counts()["count"].to_numpy()
    n_effective = n_rows**2 / np.square(counts, dtype=np.float64).sum()
    return bool(n_effective <= 8)


def _is_name(look: _Look) -> bool:
    """Whether the words are names, alone or in a row: short parts without digits and function words."""
    most_tokens, most_function_words = 4.0, 0.15
    if _NAME_NAME.search(look.words):
        most_tokens, most_function_words = 5.0, 0.3
    elif _TEXT_NAME.search(look.words):
        most_tokens, most_function_words = 1.0, 0.05
    parts = look.sampled.str.replace_all(_BETWEEN_NAMES, "\x00").str.split("\x00").explode()
    parts = parts.filter(parts.str.contains(r"\pL"))
    if len(parts) == 0 or look.share(r"[0-9]") >= 0.3:
        return False
    n_tokens = parts.str.count_matches(r"\pL[\pL\pM'’-]*")
    # A long run of letters without a space is a text in a script that writes none.
    is_short = (n_tokens <= most_tokens) & (parts.str.len_chars() <= 12 * n_tokens)
    return bool(np.mean(is_short.to_numpy()) >= 0.8 and look.share(_FUNCTION_WORD) <= most_function_words)
