import polars as pl
import pytest

from walkstep.apps import entity_resolver
from walkstep.data.bibliography import generate_bibliography
from walkstep.data.readers.tables import read_table, write_table
from walkstep.evaluation.clusters import cluster_scores

pytestmark = pytest.mark.xdist_group("command")
COLUMNS = ["id", "author", "title", "venue", "year", "pages"]


@pytest.fixture(scope="module")
def citations():
    """Invented citations, their papers known."""
    return generate_bibliography(15, seed=1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, citations, command):
    """A model and a table to resolve."""
    path = tmp_path_factory.mktemp("citations")
    write_table(generate_bibliography(20, seed=0), path / "train.csv")
    write_table(citations.drop("entity"), path / "records.csv")
    fit = ("fit", "resolve", path / "train.csv", "--truth", "entity", "--id", "id", "--epochs", 1, "-q")
    result = command(*fit, "--model", path / "m.walk")
    assert result.exit_code == 0, result.output
    return path


@pytest.fixture
def resolve(command, folder):
    """Resolve the table with the model and some more options."""

    def run(*options, records=(folder / "records.csv",)):
        return command("resolve", *records, "--model", folder / "m.walk", "--samples", 10, *options)

    return run


@pytest.fixture(scope="module")
def tables(folder, citations):
    """Two clean tables: two citations of each paper that has two, ids from 0 in both."""
    several = citations.filter(pl.len().over("entity") > 1)
    paths = folder / "a.csv", folder / "b.csv"
    for k, path in enumerate(paths):
        one_each = several.group_by("entity", maintain_order=True).agg(pl.all().gather(k)).explode(pl.exclude("entity"))
        write_table(one_each.with_columns(id=pl.int_range(pl.len())).select(COLUMNS), path)
    return paths


def test_records_come_back_with_their_entities_and_how_sure_that_is(resolve, citations, tmp_path):
    output, pairs = tmp_path / "entities.parquet", tmp_path / "pairs.csv"
    result = resolve("-o", output, "--pairs", pairs)
    assert result.exit_code == 0, result.output
    entities = read_table(output)
    assert entities.columns == [*COLUMNS, "entity", "confidence"]
    assert entities["title"].to_list() == [title.strip() for title in citations["title"]]
    assert entities["confidence"].is_between(0, 1).all()
    assert cluster_scores(entities["entity"], citations["entity"]).b_cubed.f1 > 0.6
    likely = read_table(pairs)
    assert likely.columns == ["left", "right", "probability", "together"]
    assert set(likely["left"]) <= set(entities["id"])
    assert f"{citations.height} records: {entities['entity'].n_unique()} entities" in result.stdout
    assert f"saved {output} (" in result.stdout
    assert f"saved {pairs} (" in result.stdout


def test_the_same_seed_gives_the_same_files(resolve, tmp_path):
    for name in ("one", "two"):
        resolve("-o", tmp_path / f"{name}.csv", "--pairs", tmp_path / f"{name}.jsonl", "--seed", 3, "-q")
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()


def test_adaptive_jumps_say_what_became_of_them(resolve, command, folder, tmp_path):
    result = resolve("-o", tmp_path / "entities.csv", "--jumps", "adaptive", "-q")
    assert "merge or split: " in result.stdout
    assert "% taken" in result.stdout
    wrong = command("resolve", folder / "records.csv", "-o", tmp_path / "wrong.csv", "--jumps", "wild")
    assert wrong.exit_code != 0
    assert "'wild' is not one of" in wrong.stderr


def test_without_a_model_it_is_said_that_there_were_no_labels(command, folder, citations, tmp_path):
    options = ("--id", "id", "--samples", 5, "-q")
    result = command("resolve", folder / "records.csv", "-o", tmp_path / "entities.csv", *options)
    assert result.exit_code == 0, result.output
    assert "note: weights come from no labels at all" in result.stderr
    entities = read_table(tmp_path / "entities.csv")
    assert cluster_scores(entities["entity"], citations["entity"]).b_cubed.f1 > 0.5


def test_without_samples_nothing_is_said_of_confidence(resolve, command, folder, tmp_path):
    output = tmp_path / "entities.csv"
    result = command("resolve", folder / "records.csv", "--model", folder / "m.walk", "--no-samples", "-o", output)
    assert result.exit_code == 0, result.output
    assert read_table(output).columns == [*COLUMNS, "entity"]


def test_an_input_column_named_entity_is_kept_beside_the_answer(resolve, citations, tmp_path):
    known = tmp_path / "known.csv"
    write_table(citations, known)
    result = resolve("-o", tmp_path / "entities.csv", records=[known])
    assert result.exit_code == 0, result.output
    entities = read_table(tmp_path / "entities.csv")
    assert entities["entity_given"].to_list() == citations["entity"].cast(pl.String).to_list()


def test_links_are_kept_whatever_the_weights_say(resolve, tmp_path):
    links = tmp_path / "links.csv"
    links.write_text("left,right,same\n0,1,1\n0,2,0\n")
    result = resolve("-o", tmp_path / "entities.csv", "--links", links)
    assert result.exit_code == 0, result.output
    entity = read_table(tmp_path / "entities.csv")["entity"]
    assert entity[0] == entity[1] != entity[2]


def test_two_clean_tables_are_linked_by_the_ids_of_each(resolve, tables, tmp_path):
    result = resolve("-o", tmp_path / "links.csv", "--pairs", tmp_path / "pairs.csv", "--id", "id", records=tables)
    assert result.exit_code == 0, result.output
    links = read_table(tmp_path / "links.csv")
    assert links.columns == ["left", "right", "probability"]
    assert links["left"].is_unique().all()
    assert links["right"].is_unique().all()
    n = read_table(tables[0]).height
    assert (links["left"] == links["right"]).sum() > 0.6 * n
    assert f"{2 * n} records: {links.height} links" in result.stdout
    assert links.height <= read_table(tmp_path / "pairs.csv").height


def test_tables_are_linked_without_a_model_too(command, tables, tmp_path):
    result = command("resolve", *tables, "--id", "id", "-o", tmp_path / "links.csv", "--samples", 5)
    assert result.exit_code == 0, result.output
    assert "no labels at all" in result.stderr
    links = read_table(tmp_path / "links.csv")
    assert links["left"].is_unique().all()


def test_a_column_named_source_does_not_stand_in_the_way_of_links(resolve, command, tables, tmp_path):
    with_source = [tmp_path / path.name for path in tables]
    for path, own in zip(tables, with_source, strict=True):
        write_table(read_table(path).with_columns(source=pl.lit("web")), own)
    for name, records in (("plain", tables), ("source", with_source)):
        output = tmp_path / f"{name}.csv"
        assert resolve("-o", output, "--id", "id", records=records).exit_code == 0
        output = tmp_path / f"{name}-unlabelled.csv"
        assert command("resolve", *records, "--id", "id", "-o", output, "--samples", 5).exit_code == 0
    # The column says the same everywhere, so it changes nothing.
    for end in (".csv", "-unlabelled.csv"):
        assert (tmp_path / f"source{end}").read_bytes() == (tmp_path / f"plain{end}").read_bytes()


def test_given_links_name_an_id_of_each_table(resolve, tables, tmp_path):
    given = tmp_path / "given.csv"
    given.write_text("a,b,same\n0,1,1\n2,2,0\n")
    options = ("--id", "id", "--links", given)
    result = resolve("-o", tmp_path / "links.csv", *options, records=tables)
    assert result.exit_code == 0, result.output
    links = read_table(tmp_path / "links.csv").select("left", "right").rows()
    assert ("0", "1") in links
    assert ("2", "2") not in links


def test_of_three_tables_the_links_name_them(resolve, tables, tmp_path):
    third = tmp_path / "c.csv"
    third.write_bytes(tables[0].read_bytes())
    result = resolve("-o", tmp_path / "links.csv", records=(*tables, third))
    assert result.exit_code == 0, result.output
    links = read_table(tmp_path / "links.csv")
    assert links.columns == ["left_table", "left", "right_table", "right", "probability"]
    same = links.filter(left_table="a.csv", right_table="c.csv")
    assert (same["left"] == same["right"]).sum() > 0.6 * read_table(third).height


def test_a_column_that_one_table_lacks_is_told(resolve, tables, tmp_path):
    narrow = tmp_path / "narrow.csv"
    write_table(read_table(tables[1]).drop("pages"), narrow)
    result = resolve("-o", tmp_path / "links.csv", records=(tables[0], narrow))
    assert result.exit_code == 0, result.output
    assert f"note: {narrow} has no column 'pages', which others have" in result.stderr


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_records_are_added_and_entities_keep_their_ids(resolve, folder, tmp_path, ending):
    table = read_table(folder / "records.csv")
    n = table.height - 10
    old, new = tmp_path / f"old.{ending}", tmp_path / "new.csv"
    write_table(table[:n], tmp_path / "first.csv")
    write_table(table[n:], new)
    assert resolve("-o", old, records=[tmp_path / "first.csv"]).exit_code == 0
    result = resolve("-o", tmp_path / "both.csv", "--update", old, records=[new])
    assert result.exit_code == 0, result.output
    before, after = read_table(old)["entity"].cast(pl.Int64), read_table(tmp_path / "both.csv")
    assert after["id"].to_list() == table["id"].to_list()
    assert after.columns == [*COLUMNS, "entity", "confidence"]
    assert (after["entity"].cast(pl.Int64)[:n] == before).mean() > 0.8


def test_ctrl_c_in_the_search_writes_the_best_partition_so_far(resolve, citations, tmp_path, monkeypatch):
    original = entity_resolver.search

    def stop(n_blocks, state, info):
        if n_blocks == 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(entity_resolver, "search", lambda *a, **k: original(*a, **k, callback=stop))
    output, pairs = tmp_path / "entities.csv", tmp_path / "pairs.csv"
    result = resolve("-o", output, "--pairs", pairs)
    assert result.exit_code == 130
    assert f"interrupted; {output} holds the best partition until then" in result.stderr
    assert f"{pairs} was not written, for no samples were drawn" in result.stderr
    assert not pairs.exists()
    entities = read_table(output)
    assert entities.height == citations.height
    assert entities["entity"].n_unique() < citations.height


def test_ctrl_c_while_sampling_keeps_what_was_drawn(resolve, tmp_path, monkeypatch):
    original = entity_resolver.sample_partitions

    def stopped(*arguments, **options):
        drawn = original(*arguments, **options)
        return drawn._replace(draws=drawn.draws[:4], scores=drawn.scores[:4], interrupted=True)

    monkeypatch.setattr(entity_resolver, "sample_partitions", stopped)
    output = tmp_path / "entities.csv"
    result = resolve("-o", output)
    assert result.exit_code == 130
    assert f"interrupted; how sure {output} is comes from 4 samples only" in result.stderr
    assert "confidence" in read_table(output).columns


def test_ctrl_c_while_records_are_compared_writes_nothing(resolve, tmp_path, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(entity_resolver.RecordModel, "prepare", stop)
    result = resolve("-o", tmp_path / "entities.csv")
    assert result.exit_code == 130
    assert "interrupted; nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["-o", "entities.xlsx"], "entities.xlsx ends in '.xlsx', which is no known format of tables"),
        (["--pairs", "e.csv"], "e.csv is named for two outputs"),
        (["--pairs", "p.csv", "--no-samples"], "--samples and --no-samples cannot be combined"),
        (["--samples", "0"], "--samples is 0; give 1 or more, or --no-samples"),
        (["--ignore", "year"], "--ignore says what is compared, which"),
        (["--kind", "year=number"], "--kind says what is compared, which"),
        (["--links", "none.csv"], "there is no file none.csv"),
    ],
)
def test_impossible_options_are_refused_before_any_work(resolve, monkeypatch, tmp_path, options, message):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(entity_resolver.EntityResolver, "load", lambda path: pytest.fail("the model was loaded"))
    result = resolve("-o", "e.csv", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--update", "a.csv"], "--update takes the model that the earlier run had; give --model"),
        (["--kind", "year"], "--kind is 'year'; write COLUMN=KIND, such as year=number"),
        (["--kind", "year=size"], "--kind is 'year=size'; choose a kind among name, text"),
        (["--no-samples", "--pairs", "p.csv"], "--pairs tells probabilities, which come from samples"),
        (["b.csv", "--source", "town"], "--source is for one table with records of several sources"),
    ],
)
def test_options_that_ask_for_a_model_or_one_table_say_so(command, monkeypatch, tmp_path, options, message):
    monkeypatch.chdir(tmp_path)
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("name\nAda\nBob\n")
    (tmp_path / "r.csv").write_text("name\nAda\nBob\n")
    result = command("resolve", "r.csv", "-o", "e.csv", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (tmp_path / "e.csv").exists()
