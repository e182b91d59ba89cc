import polars as pl
import pytest

from walkstep import CollectiveClassifier
from walkstep.data.debates import generate_debates
from walkstep.data.readers.tables import write_table

ITEMS, LINKS = generate_debates(12, 6, seed=0)


@pytest.fixture(scope="module")
def votes_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("models") / "votes.walk"
    settings = {"label": "vote", "group": "debate", "n_epochs": 1, "n_first_epochs": 1, "random_state": 0}
    CollectiveClassifier(**settings).fit(ITEMS, LINKS).save(path)
    return path


@pytest.fixture
def table(tmp_path):
    """Write a table; its path."""

    def write(frame, name):
        write_table(frame, tmp_path / name)
        return tmp_path / name

    return write


@pytest.fixture
def fit(refused, table, tmp_path):
    """Train on tables that must be refused; what is said after the names of the files."""

    def run(items, links, *options):
        files = table(items, "items.csv"), table(links, "links.csv")
        arguments = ("--model", tmp_path / "m.walk", "--label", "vote", "-q", *options)
        return refused("fit", "collective", *files, *arguments).removeprefix(f"{files[0]} and {files[1]}: ")

    return run


def test_links_to_unknown_items_are_named(fit):
    links = LINKS.with_columns(target=pl.when(pl.int_range(pl.len()) == 4).then(pl.lit("nobody")).otherwise("target"))
    said = fit(ITEMS, links)
    assert said.startswith("column 'target' of the links names 'nobody' in row 4, and no item is called so (ids are")
    assert said.endswith("correct it, add the item, or leave the link out")


def test_links_of_an_item_with_itself_are_named(fit):
    assert fit(ITEMS, LINKS.with_columns(target="source")) == (
        f"row 0 of the links joins item {LINKS['source'][0]!r} with itself; leave it out"
    )


def test_links_between_groups_are_named(fit):
    said = fit(ITEMS, LINKS, "--group", "id")
    assert said.startswith(f"row 0 of the links joins {LINKS['source'][0]!r} and {LINKS['target'][0]!r}, which are of")


def test_ids_that_are_there_twice_are_named(fit):
    assert "column 'id' holds 'x' in rows 0 and 1" in fit(ITEMS.with_columns(id=pl.lit("x")), LINKS)


def test_labels_that_are_nowhere_are_named(fit):
    message = "none of the 72 items has a label; give a column 'vote' with the truth of some"
    assert fit(ITEMS.with_columns(vote=pl.lit("")), LINKS) == message
    assert fit(ITEMS, LINKS, "--label", "votes").startswith("there is no column 'votes' (is it 'vote'?)")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--epochs", 0), "--epochs is 0; give 1 or more"),
        (("--min-count", 0), "--min-count is 0; give 1 or more"),
        (("--damping", 1), "damping is 1.0; give a number from 0 to below 1"),
        (("--agree", "speaker"), "there is no column 'speaker'"),
        (("--outside", "abstain"), "outside is 'abstain', but labels are 'against', 'for'"),
        (("--dev-links", "links.csv"), "--dev-links is links.csv, but there is no --dev"),
        (("--dev", "nowhere.csv"), "there is no file nowhere.csv"),
    ],
)
def test_options_that_make_no_sense_are_named(fit, options, message):
    assert message in fit(ITEMS, LINKS, *options)


def test_tables_that_do_not_fit_the_model_are_named(refused, votes_file, table, tmp_path):
    links = table(LINKS, "links.csv")
    bare = table(ITEMS.drop("minutes"), "bare.csv")
    said = refused("predict", votes_file, bare, "--links", links)
    assert said.startswith(
        f"{bare} and {links}: of the items: there is no column 'minutes', which the model was trained"
    )
    unlabelled = table(ITEMS.drop("vote"), "unlabelled.csv")
    said = refused("evaluate", votes_file, unlabelled, "--links", links)
    assert said.startswith(f"{unlabelled} and {links}: there is no column 'vote'")
    items = table(ITEMS, "items.csv")
    assert "ends in '.xlsx'" in refused("predict", votes_file, items, "-o", tmp_path / "votes.xlsx")
    assert "not for linked items" in refused("predict", votes_file, items, "--names")


def test_options_of_linked_items_are_for_these_alone(refused, tagger_file, table, tmp_path):
    links, text = table(LINKS, "links.csv"), tmp_path / "raw.txt"
    text.write_text("Ada slept\n")
    said = refused("predict", tagger_file, text, "--links", links)
    assert said == f"--links is for linked items, but {tagger_file} holds a SequenceTagger; leave it out"
    assert refused("evaluate", tagger_file, text, "--links", links).startswith("--links is for linked items")
    assert refused("predict", tagger_file, text, "--hold-labels").startswith("--hold-labels is for linked items")
