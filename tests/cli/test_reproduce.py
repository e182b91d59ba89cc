import json
from types import SimpleNamespace

import pytest

from walkstep import reproduce
from walkstep.cli.reproduce import table_of
from walkstep.reproduce import REPRODUCTIONS

pytestmark = pytest.mark.xdist_group("command")

RESULT = {
    "name": "invented",
    "seed": 3,
    "seconds": 1.25,
    "rows": [
        {"row": "first", "metric": "F1", "paper": 0.9, "ours": 0.92},
        {"row": "second", "metric": "F1", "paper": 0.8, "ours": None, "note": "arrives later"},
    ],
    "bars": [{"id": "invented-bar", "ours": 0.92}],
}


def test_the_list_names_every_table(command):
    result = command("reproduce", "--list")
    assert result.exit_code == 0
    assert [line.split()[0] for line in result.stdout.splitlines()] == list(REPRODUCTIONS)


def test_an_unknown_table_is_refused(command):
    result = command("reproduce", "table9")
    assert result.exit_code == 2
    assert "there is no reproduction called 'table9'; there are cora, samplerank-table2" in result.stderr


def test_a_name_is_needed(command):
    result = command("reproduce")
    assert result.exit_code == 2
    assert "no table is named; name one of cora, samplerank-table2" in result.stderr


def test_a_run_prints_a_table_and_writes_json(command, monkeypatch, tmp_path):
    def run(seed, quick, progress):
        progress(f"seed {seed}, quick {quick}")
        return RESULT

    monkeypatch.setattr(reproduce, "load", lambda name: SimpleNamespace(run=run))
    out = tmp_path / "out.json"
    result = command("reproduce", "invented", "--seed", 3, "--quick", "--json", out)
    assert result.exit_code == 0
    assert result.stderr == "seed 3, quick True\n"
    assert result.stdout == table_of(RESULT) + f"\nwrote {out}\n"
    assert json.loads(out.read_text()) == RESULT


def test_the_table_shows_paper_ours_and_difference():
    first, second = table_of(RESULT).splitlines()[1:3]
    assert first.split() == ["first", "F1", "0.9000", "0.9200", "+0.0200"]
    assert second.split() == ["second", "F1", "0.8000", "-", "arrives", "later"]


def test_the_json_folder_is_checked_before_the_run(command, monkeypatch, tmp_path):
    monkeypatch.setattr(reproduce, "load", lambda name: pytest.fail("the run began"))
    result = command("reproduce", "invented", "--json", tmp_path / "none" / "out.json")
    assert result.exit_code == 2
    assert "does not exist; create it" in result.stderr


def test_data_that_is_not_there_is_named(command, monkeypatch, tmp_path):
    monkeypatch.setenv("WALKSTEP_DATA", str(tmp_path))
    result = command("reproduce", "samplerank-table3")
    assert result.exit_code == 2
    assert "data set 'conll2003' is not complete" in result.stderr
    assert "eng.train" in result.stderr
