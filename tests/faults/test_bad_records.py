import polars as pl
import pytest
from typer.testing import CliRunner

from walkstep import EntityResolver
from walkstep.cli.main import app
from walkstep.data.bibliography import generate_bibliography
from walkstep.data.readers.tables import read_table, write_table

TEXTS = ["author", "title", "venue", "year", "pages"]


@pytest.fixture(scope="module")
def citations():
    return generate_bibliography(15, seed=0)


@pytest.fixture(scope="module")
def resolver_file(citations, tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "papers.walk"
    EntityResolver(id="id", n_epochs=1, n_samples=5, random_state=0).fit(citations, entity="entity").save(path)
    return path


@pytest.fixture
def table(tmp_path):
    """Write a table; its path."""

    def write(frame, name="records.csv"):
        write_table(frame, tmp_path / name)
        return tmp_path / name

    return write


def test_duplicate_ids_are_named_with_their_rows(refused, resolver_file, citations, table, tmp_path):
    twice = table(citations.with_columns(id=pl.Series([3, *range(1, citations.height)])))
    said = refused("resolve", twice, "--model", resolver_file, "-o", tmp_path / "e.csv", "-q")
    assert said == f"{twice}: column 'id' holds '3' in rows 0 and 3; give every record an id of its own"
    said = refused("fit", "resolve", twice, "--truth", "entity", "--id", "id", "--model", tmp_path / "m.walk", "-q")
    assert said.startswith(f"{twice}: column 'id' holds '3' in rows 0 and 3")
    other = table(citations, "other.csv")
    said = refused("resolve", other, twice, "--model", resolver_file, "-o", tmp_path / "l.csv", "-q")
    assert said.startswith(f"{twice}: column 'id' holds '3' in rows 0 and 3")


def test_a_truth_with_gaps_is_learned_from_where_it_is_known(citations, table, tmp_path):
    gaps = pl.when(pl.int_range(pl.len()) % 3 == 0).then(None).otherwise(pl.col("entity"))
    path = table(citations.with_columns(entity=gaps))
    options = ["--truth", "entity", "--id", "id", "--epochs", "1", "--model", str(tmp_path / "m.walk"), "-q"]
    result = CliRunner().invoke(app, ["fit", "resolve", str(path), *options])
    assert result.exit_code == 0, result.output
    n_known = citations.height - -(-citations.height // 3)
    assert f"learned from the entities of {n_known} of {citations.height} records" in result.stdout


def test_a_truth_that_is_never_known_is_refused(refused, resolver_file, citations, table, tmp_path):
    path = table(citations.with_columns(entity=pl.lit("")))
    message = f"{path}: column 'entity' is empty in all {citations.height} rows; give the truth of some records"
    assert refused("fit", "resolve", path, "--truth", "entity", "--model", tmp_path / "m.walk", "-q") == message
    assert refused("evaluate", resolver_file, path, "--truth", "entity") == message


def test_a_truth_without_two_of_a_kind_teaches_nothing(refused, citations, table, tmp_path):
    path = table(citations.with_columns(entity=pl.col("id")))
    said = refused("fit", "resolve", path, "--truth", "entity", "--id", "id", "--model", tmp_path / "m.walk", "-q")
    assert "0 are the same" in said
    assert "learning takes some of both" in said


def test_a_table_with_no_usable_column_is_refused(refused, table, tmp_path):
    path = table(pl.DataFrame({"id": [1, 2, 3], "country": ["NZ", "NZ", "NZ"]}))
    said = refused("resolve", path, "-o", tmp_path / "e.csv", "-q")
    assert said.startswith(f"{path}: no column can be compared; the table has id (key), country (constant).")


def test_one_block_of_all_records_is_cut_and_told(citations, table, tmp_path):
    config = tmp_path / "settings.toml"
    config.write_text('[blocking]\nmax_block = 20\nrules = [{ type = "Same", parts = ["town"] }]\n')
    path = table(citations.drop("entity").with_columns(town=pl.lit("Rome")))
    options = ["--id", "id", "--config", str(config), "-o", str(tmp_path / "e.csv"), "--samples", "5", "-q"]
    result = CliRunner().invoke(app, ["resolve", str(path), *options])
    assert result.exit_code == 0, result.output
    n = citations.height
    assert f"note: Same('town') puts {n} of {n} records in the block of 'rome'; it was cut" in result.stderr
    assert read_table(tmp_path / "e.csv").height == n


def test_a_file_that_is_not_utf8_is_named_with_the_byte(refused, resolver_file, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("id,title\n1,K\u00f6ln\n".encode("latin-1"))
    said = refused("resolve", path, "--model", resolver_file, "-o", tmp_path / "e.csv", "-q")
    assert said.startswith(f"{path} is not utf-8: byte 0xf6 at offset 12 (line 2); save the file as UTF-8")
    assert said.endswith("(--encoding latin-1)")
    said = refused("resolve", path, "--model", resolver_file, "-o", tmp_path / "e.csv", "-q", "--encoding", "klingon")
    assert said == f"{path}: encoding='klingon' is not known; give 'utf-8', 'latin-1', 'cp1252', ..."


def test_an_encoding_is_of_records_alone(refused, tagger_file, tmp_path):
    path = tmp_path / "news.conll"
    path.write_text("Ada B-PER\n")
    said = refused("evaluate", tagger_file, path, "--encoding", "latin-1")
    assert said.startswith(f"--encoding is for tables of records, but {tagger_file} holds a SequenceTagger")


def test_columns_that_the_model_reads_must_be_there(refused, resolver_file, citations, table, tmp_path):
    path = table(citations.rename({"title": "Title"}))
    said = refused("resolve", path, "--model", resolver_file, "-o", tmp_path / "e.csv", "-q")
    assert said.startswith(f"{path}: the table lacks 1 of the ")
    assert "columns that the model reads: 'title' (is it 'Title'?)" in said


def test_a_column_of_another_type_is_named(refused, resolver_file, citations, table, tmp_path):
    path = table(citations.with_columns(title=pl.concat_list("title")), "records.jsonl")
    said = refused("resolve", path, "--model", resolver_file, "-o", tmp_path / "e.csv", "-q")
    assert said.startswith(f"{path}: column 'title' is List(String), but was of kind 'text'")


def test_an_earlier_result_must_be_one(refused, resolver_file, citations, table, tmp_path):
    new, out = table(citations.drop("entity"), "new.csv"), tmp_path / "e.csv"
    run = ("resolve", new, "--model", resolver_file, "-o", out, "-q", "--update")
    bare = table(citations.drop("entity"), "bare.csv")
    assert refused(*run, bare).startswith(f"{bare}: there is no column 'entity'; give the file that")
    words = table(citations.with_columns(entity=pl.lit("paper")), "words.csv")
    assert refused(*run, words).startswith(f"{words}: column 'entity' holds 'paper' in row 0; give the file that")
    same = table(citations, "same.csv")
    assert "column 'id' holds '0' in rows 0 and" in refused(*run, same)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("0,999,1", "a labelled pair names record '999', which is not there"),
        ("0,0,1", "a labelled pair joins record '0' with itself"),
        ("0,1,perhaps", "is neither the same nor different; write 1 or 0"),
        ("0,1,1", "all 1 labelled pairs are the same; learning takes some of both"),
    ],
)
def test_a_wrong_labelled_pair_is_named(refused, citations, table, tmp_path, row, message):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(f"left,right,same\n{row}\n")
    path = table(citations.drop("entity"))
    said = refused("fit", "resolve", path, "--pairs", pairs, "--id", "id", "--model", tmp_path / "m.walk", "-q")
    assert message in said


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("n_epochs = ", "is not TOML"),
        ("epochs = 3", "sets 'epochs'; EntityResolver has kinds, ignore, id"),
        ("[[comparators]]\nkind = 'fuzzy'\ncolumn = 'title'\n", "comparator of column 'title' is of kind 'fuzzy'"),
        ("[[comparators]]\nkind = 'exact'\n", "describes a part that cannot be made"),
        (
            "[blocking]\nmax_block = 5\nrules = [{ type = 'Magic' }]\n",
            "'Magic' is not known; there are Same,",
        ),
    ],
)
def test_a_wrong_file_of_settings_is_named(refused, citations, table, tmp_path, text, message):
    config = tmp_path / "settings.toml"
    config.write_text(text)
    said = refused("resolve", table(citations), "--config", config, "-o", tmp_path / "e.csv", "-q")
    assert message in said
    assert str(config) in said


def test_a_model_of_something_else_is_refused(refused, tagger_file, citations, table, tmp_path):
    said = refused("resolve", table(citations), "--model", tagger_file, "-o", tmp_path / "e.csv", "-q")
    assert said == f"{tagger_file} holds a SequenceTagger, not a EntityResolver; load it with SequenceTagger.load"
