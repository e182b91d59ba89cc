import json

import polars as pl
import pytest

from walkstep.apps.entity_resolver import EntityResolver
from walkstep.data.bibliography import generate_bibliography
from walkstep.data.readers.tables import write_table
from walkstep.learning.train import Trainer

pytestmark = pytest.mark.xdist_group("command")


@pytest.fixture(scope="module")
def train_file(tmp_path_factory):
    """Citations whose papers are known."""
    path = tmp_path_factory.mktemp("citations") / "train.jsonl"
    write_table(generate_bibliography(20, seed=0), path)
    return path


@pytest.fixture(scope="module")
def fitted(command, train_file):
    """What training on known entities said, and the model it saved."""
    model = train_file.with_name("m.walk")
    options = ("--truth", "entity", "--id", "id", "--epochs", 2, "--ignore", "pages")
    return command("fit", "resolve", train_file, "--model", model, *options), model


def test_results_go_to_stdout_and_progress_to_stderr(fitted, train_file):
    result, model = fitted
    assert result.exit_code == 0, result.output
    n = generate_bibliography(20, seed=0).height
    assert f"learned from the entities of {n} records: " in result.stdout
    assert "true pairs apart" in result.stdout
    assert f"saved {model} (" in result.stdout
    assert f"read {n} records of {train_file}: id, author, title, venue, year, pages, entity" in result.stderr
    assert "epoch 2/2" in result.stderr
    assert not {"pages", "entity", "id"} & set(EntityResolver.load(model).model_.columns)


def test_evaluate_prints_every_metric_and_what_blocks_lose(command, fitted, tmp_path):
    held, scores = tmp_path / "held.csv", tmp_path / "s.json"
    citations = generate_bibliography(10, seed=1)
    gaps = pl.when(pl.int_range(pl.len()) < 5).then(None).otherwise(pl.col("entity"))
    write_table(citations.with_columns(entity=gaps), held)
    result = command("evaluate", fitted[1], held, "--truth", "entity", "--json", scores)
    assert result.exit_code == 0, result.output
    assert "B-cubed " in result.stdout
    assert f"{citations.height - 5} records (5 of unknown truth left out)" in result.stdout
    figures = json.loads(scores.read_text())
    assert 0.5 < figures["b_cubed"]["f1"] <= 1
    assert figures["blocking"]["lost"] < 0.1


def test_evaluate_asks_for_the_column_of_truth(command, fitted, train_file):
    result = command("evaluate", fitted[1], train_file)
    assert result.exit_code == 2
    assert f"{fitted[1]} resolves records; name the column of their true entities with --truth" in result.stderr


def test_other_models_have_no_column_of_truth(command, train_file, monkeypatch):
    monkeypatch.setattr("walkstep.data.archive.kind_of", lambda path: "SequenceTagger")
    result = command("evaluate", "ner.walk", train_file, "--truth", "entity")
    assert result.exit_code == 2
    assert "ner.walk holds a SequenceTagger; leave it out" in result.stderr


def test_labelled_pairs_do_in_place_of_entities(command, train_file, tmp_path):
    citations = generate_bibliography(20, seed=0)
    entity = dict(zip(citations["id"], citations["entity"], strict=True))
    pairs = tmp_path / "labelled.csv"
    rows = [(a, b, int(entity[a] == entity[b])) for a in range(25) for b in range(a)]
    pairs.write_text("left,right,same\n" + "".join(f"{a},{b},{same}\n" for a, b, same in rows))
    result = command(
        "fit", "resolve", train_file, "--pairs", pairs, "--ignore", "entity", "--model", tmp_path / "m.walk"
    )
    assert result.exit_code == 0, result.output
    assert f"learned from {len(rows)} labelled pairs" in result.stdout


def test_without_labels_it_says_so(command, train_file, tmp_path):
    result = command("fit", "resolve", train_file, "--ignore", "entity", "--model", tmp_path / "m.walk", "-q")
    assert result.exit_code == 0, result.output
    assert "note: weights come from no labels at all" in result.stderr
    assert "learned from no labels at all" in result.stdout


def test_a_file_of_settings_is_read_and_options_win(command, train_file, tmp_path, monkeypatch):
    seen = {}

    def fit(self, records, entity, *, pairs, links):
        seen.update(self.get_params())
        raise ValueError("seen enough")

    monkeypatch.setattr(EntityResolver, "fit", fit)
    config = tmp_path / "settings.toml"
    config.write_text(
        'n_epochs = 7\nsignal = "b-cubed"\nignore = ["pages"]\n[kinds]\nyear = "number"\n'
        '[[comparators]]\nkind = "jaccard"\ncolumn = "title"\nthresholds = [0.5, 0.9]\n'
        '[blocking]\nmax_block = 50\nrules = [{ type = "RareTokens", column = "title" }]\n'
        '[[templates]]\ntype = "Affinity"\nconjunctions = []\n'
    )
    options = ("--config", config, "--epochs", 3, "--kind", "venue=text", "--ignore", "author", "--seed", 5)
    result = command("fit", "resolve", train_file, "--model", tmp_path / "m.walk", *options)
    assert "seen enough" in result.stderr
    wanted = {"n_epochs": 3, "signal": "b-cubed", "ignore": ["pages", "author"], "random_state": 5}
    wanted["kinds"] = {"year": "number", "venue": "text"}
    assert {name: seen[name] for name in wanted} == wanted
    assert [one.name for one in seen["comparators"]] == ["jaccard(title)"]
    assert seen["blocking"].max_block == 50


def test_an_interrupt_saves_what_was_learned(command, train_file, tmp_path, monkeypatch):
    original = Trainer.epoch

    def epoch(self):
        if len(self.epochs) == 1:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Trainer, "epoch", epoch)
    model = tmp_path / "m.walk"
    result = command("fit", "resolve", train_file, "--truth", "entity", "--epochs", 5, "--model", model, "-q")
    assert result.exit_code == 130
    assert f"interrupted after 1 of 5 epochs; {model} holds what was learned so far" in result.stderr
    assert EntityResolver.load(model).weights_.any()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--truth", "entity", "--pairs", "pairs.csv"], "--truth and --pairs cannot be combined"),
        (["--learner", "magic"], "learner 'magic' is not known; choose one of samplerank"),
        (["--epochs", "-1"], "--epochs is -1; give 0 or more"),
        (["--kind", "year"], "--kind is 'year'; write COLUMN=KIND"),
        (["--config", "none.toml"], "there is no file none.toml"),
        (["--truth", "entities"], "there is no column 'entities' (is it 'entity'?)"),
        (["--id", "key"], "there is no column 'key'"),
        (["--ignore", "colour"], "ignore names column 'colour'"),
        (["--kind", "colour=text"], "kinds names column 'colour'"),
    ],
)
def test_impossible_options_are_refused(command, train_file, tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pairs.csv").write_text("left,right,same\n0,1,1\n")
    result = command("fit", "resolve", train_file, "--model", tmp_path / "m.walk", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.csv"]
