import datetime
import math
import os
import re
import uuid
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from walkstep.data.records import as_frame
from walkstep.features.column_kinds import Kind, infer_kinds, parse_dates, parse_numbers

FIRST = ["Ada", "Grace", "Alan", "Emmy", "Kurt", "Sofia", "Carl", "Rosa", "Niels", "Lise", "Max", "Irène"]
LAST = ["Lovelace", "Hopper", "Turing", "Noether", "Gödel", "O'Brien", "Gauss", "Luxemburg", "Bohr", "Meitner-Graf"]
WORDS = [
    "learning",
    "of",
    "graphs",
    "with",
    "walks",
    "for",
    "the",
    "entity",
    "on",
    "large",
    "tables",
    "using",
    "factors",
]
N_ROWS = 200
RNG = np.random.default_rng(7)


def drawn(make):
    return [make() for _ in range(N_ROWS)]


def person():
    return f"{RNG.choice(FIRST)} {RNG.choice(LAST)}"


def initials():
    return f"{RNG.choice(FIRST)[0].lower()}. {RNG.choice(LAST).lower()}"


def several(make, between, last):
    makers = [make() for _ in range(RNG.integers(1, 6))]
    return last.join([between.join(makers[:-1]), makers[-1]]) if len(makers) > 1 else makers[0]


def digits(n):
    return "".join(RNG.choice(list("0123456789"), n))


def sentence(n):
    return " ".join(RNG.choice(WORDS, n))


def day():
    return datetime.date(1900, 1, 1) + datetime.timedelta(days=int(RNG.integers(40000)))


COLUMNS = {
    # what a person would call a name
    ("full_name", Kind.NAME): drawn(person),
    ("x1", Kind.NAME): drawn(person),
    ("surname", Kind.NAME): drawn(
        lambda: f"{RNG.choice(LAST)}{RNG.choice(['', 'son', 'mann', 's', 'er', 'ova', 'a'])}"
    ),
    ("authors", Kind.NAME): drawn(lambda: several(initials, ", ", " and ")),
    ("x2", Kind.NAME): drawn(lambda: several(person, "; ", "; ")),
    ("x3", Kind.NAME): drawn(lambda: several(lambda: f"{RNG.choice(LAST)}, {RNG.choice(FIRST)[0]}.", ", ", " & ")),
    ("company", Kind.NAME): drawn(lambda: f"{RNG.choice(LAST)} {RNG.choice(['Ltd', 'GmbH', '& Sons', 'Inc.'])}"),
    ("姓名", Kind.NAME): drawn(lambda: "".join(RNG.choice(list("王李张刘陈杨赵黄周吴明华强伟芳"), RNG.integers(2, 4)))),
    # texts
    ("title", Kind.TEXT): drawn(lambda: sentence(RNG.integers(4, 9))),
    ("x4", Kind.TEXT): drawn(lambda: sentence(30)),
    ("product", Kind.TEXT): drawn(lambda: f"Sony {sentence(2)} LCD TV {RNG.integers(20, 60)} inch black {digits(3)}"),
    ("address", Kind.TEXT): drawn(lambda: f"{RNG.integers(1, 300)} {RNG.choice(LAST)} Street, {RNG.choice(LAST)}ville"),
    ("简介", Kind.TEXT): drawn(lambda: "".join(RNG.choice(list("关于图上随机游走的学习方法与实体匹配的研究"), 30))),
    ("x17", Kind.TEXT): drawn(
        lambda: f"{RNG.choice(WORDS)} {RNG.choice(['of', 'for the', 'with'])} {RNG.choice(WORDS)}s"
    ),
    # digits and letters that say which
    ("contact", Kind.IDENTIFIER): drawn(lambda: f"{person().lower().replace(' ', '.')}@example.org"),
    ("x18", Kind.IDENTIFIER): drawn(lambda: f"https://example.org/{RNG.choice(FIRST)}/{RNG.choice(LAST)}"),
    ("isbn", Kind.IDENTIFIER): drawn(lambda: f"978-{digits(1)}-{digits(3)}-{digits(5)}-{digits(1)}"),
    ("x5", Kind.IDENTIFIER): drawn(lambda: f"+1 ({digits(3)}) {digits(3)}-{digits(4)}"),
    ("x6", Kind.IDENTIFIER): drawn(lambda: f"10.{digits(4)}/abc.{digits(3)}"),
    ("x7", Kind.IDENTIFIER): drawn(lambda: f"{RNG.choice(['SW', 'N', 'EC'])}{digits(1)} {digits(1)}AB"),
    ("x8", Kind.IDENTIFIER): drawn(lambda: f"AB-{digits(5)}"),
    ("x9", Kind.IDENTIFIER): drawn(lambda: digits(5)),
    ("mail", Kind.IDENTIFIER): drawn(lambda: f"{initials().replace(' ', '')}{digits(2)}@example.org"),
    ("zipCode", Kind.IDENTIFIER): drawn(lambda: int(RNG.integers(10000, 99999))),
    ("ssn", Kind.IDENTIFIER): drawn(lambda: int(RNG.integers(10**8, 10**9))),
    ("paper_id", Kind.IDENTIFIER): drawn(lambda: int(RNG.integers(100))),
    # digits that say how much
    ("price", Kind.NUMBER): drawn(lambda: f"${RNG.integers(1, 2000):,}.99"),
    ("weight", Kind.NUMBER): drawn(lambda: f"{RNG.integers(1, 200)} kg"),
    ("year", Kind.NUMBER): drawn(lambda: f"({RNG.integers(1980, 2020)})."),
    ("born", Kind.NUMBER): drawn(lambda: int(RNG.integers(1980, 2020))),
    ("years", Kind.NUMBER): list(range(1800, 1800 + N_ROWS)),
    ("pages", Kind.NUMBER): drawn(lambda: f"pp. {RNG.integers(1, 300)}-{RNG.integers(300, 2000)},"),
    ("volume", Kind.NUMBER): drawn(lambda: f"{RNG.integers(1, 90)}({RNG.integers(1, 5)})"),
    ("population", Kind.NUMBER): drawn(lambda: int(10 ** RNG.uniform(3, 9))),
    ("latitude", Kind.NUMBER): drawn(lambda: f"{RNG.uniform(10, 80):.6f}"),
    ("rating", Kind.NUMBER): drawn(lambda: int(RNG.integers(1, 6))),
    ("height", Kind.NUMBER): drawn(lambda: float(RNG.normal())),
    # dates
    ("date_of_birth", Kind.DATE): drawn(lambda: f"{day():%Y%m%d}"),
    ("x10", Kind.DATE): drawn(lambda: int(f"{day():%Y%m%d}")),
    ("x11", Kind.DATE): drawn(lambda: f"{day():%d/%m/%Y}"),
    ("x12", Kind.DATE): drawn(lambda: f"{day():%Y-%m-%d} 12:30:00"),
    ("x13", Kind.DATE): drawn(lambda: f"{day():%B} {day().day}, {day():%Y}"),
    ("x14", Kind.DATE): drawn(day),
    # few values
    ("gender", Kind.CATEGORY): drawn(lambda: str(RNG.choice(["f", "m"]))),
    ("state", Kind.CATEGORY): drawn(lambda: str(RNG.choice(["nsw", "vic", "qld", "vci"], p=[0.5, 0.3, 0.19, 0.01]))),
    ("venue", Kind.CATEGORY): drawn(lambda: str(RNG.choice(["VLDB", "Very Large Data Bases", "ACM SIGMOD Record"]))),
    ("is_member", Kind.CATEGORY): drawn(lambda: bool(RNG.integers(2))),
    ("flag", Kind.CATEGORY): drawn(lambda: str(RNG.integers(2))),
    # lists and vectors
    ("keywords", Kind.LIST): drawn(lambda: RNG.choice(WORDS, RNG.integers(1, 4)).tolist()),
    ("pair", Kind.LIST): drawn(lambda: RNG.choice(WORDS, 2).tolist()),
    ("embedding", Kind.VECTOR): drawn(lambda: RNG.normal(size=4).tolist()),
    # no features
    ("id", Kind.KEY): [f"rec-{k}" for k in RNG.permutation(N_ROWS)],
    ("recordId", Kind.KEY): RNG.permutation(N_ROWS).tolist(),
    ("x15", Kind.KEY): list(range(7, 7 + N_ROWS)),
    ("x16", Kind.KEY): [str(uuid.UUID(int=k**9)) for k in range(1, N_ROWS + 1)],
    ("nothing", Kind.CONSTANT): [None] * N_ROWS,
    ("country", Kind.CONSTANT): ["NZ"] * (N_ROWS - 1) + [None],
}


def with_holes(values, share=0.1):
    return [None if RNG.random() < share else value for value in values]


@pytest.mark.parametrize(("name", "kind"), COLUMNS)
def test_a_column_is_of_the_kind_a_person_would_say(name, kind):
    frame = as_frame({name: COLUMNS[name, kind]})
    assert infer_kinds(frame) == {name: kind}
    if kind not in (Kind.KEY, Kind.CONSTANT):
        assert infer_kinds(as_frame({name: with_holes(COLUMNS[name, kind])})) == {name: kind}
        assert infer_kinds(pl.concat([frame] * 3), sample=100) == {name: kind}


def test_numbers_read_from_csv_are_of_the_same_kind_as_numbers():
    for (name, kind), values in COLUMNS.items():
        if isinstance(values[0], int) and not isinstance(values[0], bool):
            assert infer_kinds(as_frame({name: list(map(str, values))})) == {name: kind}


def test_the_kind_does_not_depend_on_the_order_of_rows():
    frame = as_frame({name: values for (name, kind), values in COLUMNS.items() if name != "x15"})
    assert infer_kinds(frame.reverse()) == infer_kinds(frame)


def test_kinds_stand_in_the_order_of_columns_and_are_strings():
    kinds = infer_kinds(as_frame({"b": ["x y", "z y"], "a": [1.5, 2.5]}))
    assert list(kinds) == ["b", "a"]
    assert isinstance(kinds["b"], str)


@given(
    st.lists(st.one_of(st.none(), st.text(max_size=12), st.from_regex(r"[0-9/.-]{1,10}", fullmatch=True)), min_size=1)
)
def test_any_strings_are_of_some_kind(values):
    frame = as_frame({"x": pl.Series(values, dtype=pl.String)})
    assert infer_kinds(frame)["x"] in Kind
    assert len(parse_numbers(frame["x"])) == len(parse_dates(frame["x"])) == len(values)


def naive_number(text):
    """The first number of a string, by a loop over its places."""
    for at in range(len(text)):
        found = re.match(r"\d{1,3}(?:,\d{3})+(?!\w)(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+", text[at:])
        if found:
            is_negative = text[:at].endswith("-") and (at == 1 or text[at - 2] in " (")
            return float(found[0].replace(",", "")) * (-1 if is_negative else 1)
    return math.nan


@given(st.lists(st.text(alphabet="01239.,- (p", max_size=9), min_size=1))
def test_numbers_are_those_of_a_plain_loop(texts):
    np.testing.assert_array_equal(parse_numbers(pl.Series(texts)), [naive_number(text) for text in texts])


def test_numbers_of_other_types_are_kept():
    np.testing.assert_array_equal(parse_numbers(pl.Series([1, None, -3])), [1, np.nan, -3])
    np.testing.assert_array_equal(parse_numbers(pl.Series([True, False])), [1, 0])
    np.testing.assert_array_equal(parse_numbers(pl.Series([1.5, math.inf, math.nan])), [1.5, np.nan, np.nan])
    np.testing.assert_array_equal(parse_numbers(pl.Series(["1e3", "2e999", "x2", "€ -4"])), [1000, np.nan, 2, -4])


WAYS = ["%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y", "%d %B %Y", "%b %d, %Y", "%Y-%m-%dT%H:%M:%S"]


@given(
    days=st.lists(st.dates(datetime.date(1000, 1, 1), datetime.date(2999, 12, 31)), min_size=1),
    way=st.sampled_from(WAYS),
)
def test_dates_are_those_that_were_written(days, way):
    texts = [datetime.datetime.combine(day, datetime.time(7, 30)).strftime(way) for day in days]
    epoch = datetime.date(1970, 1, 1)
    np.testing.assert_array_equal(parse_dates(pl.Series(texts)), [(day - epoch).days for day in days])


def test_the_column_tells_whether_the_month_comes_first():
    january = (datetime.date(2000, 1, 13) - datetime.date(1970, 1, 1)).days
    np.testing.assert_array_equal(parse_dates(pl.Series(["1/13/2000", "1/2/2000"])), [january, january - 11])
    np.testing.assert_array_equal(parse_dates(pl.Series(["13/1/2000", "2/1/2000"])), [january, january - 11])


def test_what_is_no_date_is_nan():
    texts = ["1999-02-30", "19991301", "1999", "12", "soon", "31/31/1999", None]
    assert np.isnan(parse_dates(pl.Series(texts))).all()
    assert np.isnan(parse_dates(pl.Series([None, None], dtype=pl.String))).all()
    np.testing.assert_array_equal(parse_dates(pl.Series(["1970-02", "1970-02-01"])), [31, 31])
    np.testing.assert_array_equal(parse_dates(pl.Series([datetime.datetime(1970, 1, 2, 23), None])), [1, np.nan])


FEBRL = {
    "rec_id": {"key"},
    "given_name": {"name"},
    "surname": {"name"},
    "street_number": {"number", "identifier"},
    "address_1": {"text", "name"},
    "address_2": {"text", "name"},
    "suburb": {"name"},
    "postcode": {"identifier"},
    "state": {"category"},
    "date_of_birth": {"date"},
    "soc_sec_id": {"identifier"},
}
DBLP_ACM = {"id": {"key"}, "title": {"text"}, "authors": {"name"}, "venue": {"category"}, "year": {"number"}}
CORA = {
    "id": {"key"},
    "author": {"name"},
    "title": {"text"},
    "venue": {"text"},
    "year": {"number"},
    "pages": {"number", "identifier"},
    "publisher": {"name", "category"},
    "volume": {"number"},
    "address": {"text", "name"},
    "month": {"category"},
    "note": {"text"},
    "editor": {"name"},
    "institution": {"text", "name"},
}


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("cora/cora1295.jsonl", CORA),
        ("er_dblp_acm/ACM.csv", DBLP_ACM),
        ("er_dblp_acm/DBLP2.csv", DBLP_ACM),
        ("er_febrl/dataset1.csv", FEBRL),
        ("er_febrl/dataset2.csv", FEBRL),
        ("er_febrl/dataset3.csv", FEBRL),
    ],
)
def test_columns_of_published_tables_are_told_apart(name, expected):
    path = Path(os.environ.get("WALKSTEP_DATA", "nowhere"), name)
    if not path.exists():
        pytest.skip(f"set WALKSTEP_DATA to a folder that holds {name}")
    kinds = infer_kinds(as_frame(path))
    wrong = {
        column: kinds[column]
        for column, kinds_of_a_person in expected.items()
        if kinds[column] not in kinds_of_a_person
    }
    assert not wrong
