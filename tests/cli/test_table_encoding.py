"""Tables that are not UTF-8, from one end of the command to the other."""

import polars as pl
import pytest

from walkstep.data.bibliography import generate_bibliography
from walkstep.data.readers.tables import read_table, write_table

pytestmark = pytest.mark.xdist_group("command")
ENCODING = ("--encoding", "latin-1")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Citations with ids in Latin-1, and two files that name some of them."""
    path = tmp_path_factory.mktemp("latin")
    named = generate_bibliography(15, seed=0).with_columns(id=pl.format("nº{}", "id"))
    entity = dict(zip(named["id"], named["entity"], strict=True))
    pairs = [(f"nº{a}", f"nº{b}") for a in range(30) for b in range(a)]
    frames = {
        "known": named,
        "records": named.drop("entity"),
        "pairs": pl.DataFrame([(a, b, int(entity[a] == entity[b])) for a, b in pairs], orient="row"),
        "links": pl.DataFrame({"left": ["nº0", "nº0"], "right": ["nº1", "nº2"], "same": [1, 0]}),
    }
    for name, frame in frames.items():
        write_table(frame, path / f"{name}.csv")
        text = (path / f"{name}.csv").read_text(encoding="utf-8")
        (path / f"{name}.csv").write_text(text, encoding="latin-1")
    return path


@pytest.mark.parametrize("learned_from", [("known", "--truth", "entity"), ("records", "--pairs", "pairs.csv")])
def test_a_named_encoding_holds_for_all_tables(command, folder, monkeypatch, tmp_path, learned_from):
    monkeypatch.chdir(folder)
    data, *truth = learned_from
    model, output = tmp_path / "m.walk", tmp_path / "e.csv"
    fit = ("fit", "resolve", f"{data}.csv", *truth, "--id", "id", "--model", model, "--links", "links.csv", "-q")
    result = command(*fit, *ENCODING)
    assert result.exit_code == 0, result.output
    run = ("resolve", "records.csv", "--model", model, "--links", "links.csv", "-o", output, "--no-samples", "-q")
    result = command(*run, *ENCODING)
    assert result.exit_code == 0, result.output
    entities = read_table(output)
    assert entities["id"][0] == "nº0"
    assert entities["entity"][0] == entities["entity"][1] != entities["entity"][2]
    result = command("evaluate", model, "known.csv", "--truth", "entity", *ENCODING)
    assert result.exit_code == 0, result.output


def test_linked_tables_and_their_links_are_read_in_it_too(command, folder, monkeypatch, tmp_path):
    monkeypatch.chdir(folder)
    given = tmp_path / "given.csv"
    given.write_text("a,b,same\nnº3,nº3,1\n", encoding="latin-1")
    output = tmp_path / "links.csv"
    run = ("resolve", "records.csv", "records.csv", "--id", "id", "--links", given, "-o", output, "--no-samples", "-q")
    result = command(*run, *ENCODING)
    assert result.exit_code == 0, result.output
    assert ("nº3", "nº3") in read_table(output).select("left", "right").rows()
