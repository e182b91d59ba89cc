import numpy as np
import polars as pl
import pytest

from walkstep import CollectiveClassifier
from walkstep.apps.base import NotFittedError
from walkstep.data.debates import generate_debates
from walkstep.data.linked_items import LinkedItems
from walkstep.inference import enumerate_worlds
from walkstep.messages.decoders import best_f1

COLUMNS = {"label": "vote", "group": "debate"}
ITEMS, LINKS = generate_debates(12, 6, seed=0)
NEW_ITEMS, NEW_LINKS = generate_debates(12, 6, seed=1)


def quick(**settings) -> CollectiveClassifier:
    return CollectiveClassifier(**{"n_epochs": 2, "n_first_epochs": 3, "random_state": 0, **COLUMNS, **settings})


@pytest.fixture(scope="module")
def fitted() -> CollectiveClassifier:
    return quick().fit(ITEMS, LINKS)


# --- manners


def test_settings_are_shown_where_they_are_not_the_usual_ones():
    assert repr(quick()) == (
        "CollectiveClassifier(n_epochs=2, n_first_epochs=3, label='vote', group='debate', random_state=0)"
    )
    assert CollectiveClassifier().get_params()["inference"] == "max-product"


def test_asking_before_training_is_an_error():
    for verb in ("predict", "predict_marginals", "evaluate"):
        with pytest.raises(NotFittedError, match="not trained yet"):
            getattr(CollectiveClassifier(), verb)(ITEMS, LINKS)
    with pytest.raises(NotFittedError):
        CollectiveClassifier().save("nowhere.walk")


def test_the_same_seed_gives_the_same_weights(fitted):
    np.testing.assert_array_equal(quick().fit(ITEMS, LINKS).weights_, fitted.weights_)


def test_a_saved_model_answers_alike(fitted, tmp_path):
    fitted.save(tmp_path / "votes.walk")
    again = CollectiveClassifier.load(tmp_path / "votes.walk")
    assert again.get_params() == {**fitted.get_params(), "agree": [], "ignore": []}
    assert again.predict(NEW_ITEMS, NEW_LINKS).equals(fitted.predict(NEW_ITEMS, NEW_LINKS))
    assert again.predict_marginals(NEW_ITEMS, NEW_LINKS).equals(fitted.predict_marginals(NEW_ITEMS, NEW_LINKS))


def test_answers_come_as_tables(fitted):
    labels = fitted.predict(NEW_ITEMS, NEW_LINKS)
    assert labels.columns == ["id", "label"]
    assert labels["id"].to_list() == NEW_ITEMS["id"].to_list()
    assert set(labels["label"]) <= {"for", "against"}
    chances = fitted.predict_marginals(NEW_ITEMS, NEW_LINKS)
    assert chances.columns == ["id", "against", "for"]
    np.testing.assert_allclose(chances["for"] + chances["against"], 1.0)
    scores = fitted.evaluate(NEW_ITEMS, NEW_LINKS)
    assert scores.accuracy == (labels["label"] == NEW_ITEMS["vote"]).mean() == fitted.score(NEW_ITEMS, NEW_LINKS)


# --- against enumeration

TREE = {
    "id": ["a", "b", "c", "d", "e", "f"],
    "text": ["red round", "red", "blue", "", "round blue", "green"],
    "size": [1.0, 2.5, None, 0.0, 3.0, 1.0],
    "maker": ["x", None, "y", None, "z", "x"],
    "label": ["1", "2", "3", "1", "2", "3"],
}
# Two links join a and b, one of them the other way around.
TREE_LINKS = {
    "source": ["a", "b", "b", "c", "e"],
    "target": ["b", "a", "c", "d", "d"],
    "type": ["near", "near", "far", "near", "far"],
    "text": ["touches", "leans on", "sees", "touches", None],
    "metres": [0.1, 0.2, 9.0, 0.3, 7.5],
}


@pytest.fixture(scope="module")
def drawn() -> CollectiveClassifier:
    """A model over a tree of items, with weights from a hat."""
    made = quick(min_count=1, agree=["maker"], label="label", group=None, n_epochs=1, n_first_epochs=0)
    made.fit(TREE, TREE_LINKS)
    made.weights_ = np.random.default_rng(3).normal(size=len(made.weights_))
    return made


def exact(made: CollectiveClassifier, items, links, *, held=None):
    linked = made.read(items, links)
    grounded = made.model_.ground(linked, held=held)
    return enumerate_worlds(grounded.graph, made.weights_), grounded.variable_of_item


def test_answers_on_a_tree_are_exact(drawn):
    truth, variable_of_item = exact(drawn, TREE, TREE_LINKS)
    chances = drawn.predict_marginals(TREE, TREE_LINKS).drop("id").to_numpy()
    np.testing.assert_allclose(chances, truth.marginals()[variable_of_item], atol=1e-5)
    best = [drawn.classes_[k] for k in truth.best()[0][variable_of_item]]
    assert drawn.predict(TREE, TREE_LINKS)["label"].to_list() == best


def test_a_score_is_the_sum_of_what_items_and_links_say(drawn):
    layout, weights = drawn.model_.layout, drawn.weights_
    truth, variable_of_item = exact(drawn, TREE, TREE_LINKS)
    own = layout.view(weights, "item")[0]
    names = drawn.model_.items.names
    world = truth.worlds[7][variable_of_item]
    sizes = np.array([1.0, 2.5, np.nan, 0.0, 3.0, 1.0])
    expected = 0.0
    for i, text in enumerate(TREE["text"]):
        expected += own[-1, world[i]] + sum(own[names.index(word), world[i]] for word in text.split())
        z = (sizes[i] - np.nanmean(sizes)) / np.nanstd(sizes)
        expected += 0.0 if np.isnan(z) else z * own[names.index("size"), world[i]]
    place = {name: i for i, name in enumerate(TREE["id"])}
    for source, target, kind, text, metres in zip(*TREE_LINKS.values(), strict=True):
        table = layout.view(weights, f"link: {kind}")[0]
        names = drawn.model_.links[kind].names
        of_kind = [m for m, k in zip(TREE_LINKS["metres"], TREE_LINKS["type"], strict=True) if k == kind]
        cell = world[place[source]], world[place[target]]
        expected += table[-1][cell] + sum(table[names.index(word)][cell] for word in (text or "").split())
        expected += (metres - np.mean(of_kind)) / np.std(of_kind) * table[names.index("metres")][cell]
    expected += layout.view(weights, "same: maker")[0][0][world[0], world[5]]
    assert truth.log_weights[7] == pytest.approx(expected)


def test_labels_that_are_held_change_the_others(drawn):
    some = {**TREE, "label": ["3", None, None, None, "1", None]}
    held = np.array([2, -1, -1, -1, 0, -1])
    truth, variable_of_item = exact(drawn, some, TREE_LINKS, held=held)
    chances = drawn.predict_marginals(some, TREE_LINKS, hold_labels=True).drop("id").to_numpy()
    np.testing.assert_allclose(chances, truth.marginals()[variable_of_item], atol=1e-5)
    assert chances[0].round(6).tolist() == [0.0, 0.0, 1.0]
    assert drawn.predict(some, TREE_LINKS, hold_labels=True)["label"][4] == "1"


def test_answers_to_f_measure_are_those_to_be_expected_best(drawn):
    made = quick(loss="f1", inference="sum-product", label="label", group=None, outside="2").set_params(agree=["maker"])
    made.model_, made.weights_ = drawn.model_, drawn.weights_
    made.classes_, made.temperature_ = drawn.classes_, 1.0
    chances = made.predict_marginals(TREE, TREE_LINKS).drop("id").to_numpy()
    assert made.predict(TREE, TREE_LINKS)["label"].to_list() == [made.classes_[k] for k in best_f1(chances)]


def test_links_of_agreement_are_tables_with_two_weights(drawn):
    made = quick(min_count=1, agree=["maker"], label="label", group=None, pairs="agreement")
    made.set_params(n_epochs=1, n_first_epochs=0).fit(TREE, TREE_LINKS)
    rng = np.random.default_rng(5)
    made.weights_ = rng.normal(size=len(made.weights_))
    # The same weights as tables: those of equal classes on the diagonal, the others beside it.
    twin = np.zeros(drawn.model_.layout.size)
    for block in drawn.model_.layout:
        mine = made.model_.layout.view(made.weights_, block.name)
        if len(block.shape) == 2:
            mine = mine[..., np.eye(3, dtype=int)]
        drawn.model_.layout.view(twin, block.name)[...] = mine
    linked = drawn.read(TREE, TREE_LINKS)
    grounded = drawn.model_.ground(linked)
    truth = enumerate_worlds(grounded.graph, twin)
    chances = made.predict_marginals(TREE, TREE_LINKS).drop("id").to_numpy()
    np.testing.assert_allclose(chances, truth.marginals()[grounded.variable_of_item], atol=1e-5)
    best = [made.classes_[k] for k in truth.best()[0][grounded.variable_of_item]]
    assert made.predict(TREE, TREE_LINKS)["label"].to_list() == best


# --- learning


def test_links_help():
    train, test = generate_debates(40, 8, seed=2), generate_debates(40, 8, seed=3)
    settings = {"learner": "likelihood", "inference": "sum-product", "l2": 0.01, "n_epochs": 20}
    alone = quick(**settings).fit(train[0]).score(test[0])
    assert alone > 0.6
    for pairs in ("table", "agreement"):
        assert quick(pairs=pairs, **settings).fit(*train).score(*test) > alone + 0.05


def test_the_epoch_best_on_development_data_is_kept():
    made = quick(n_epochs=3).fit(ITEMS, LINKS, dev=(NEW_ITEMS, NEW_LINKS))
    assert len(made.epochs_) == 6
    assert 1.0 - made.score(NEW_ITEMS, NEW_LINKS) == pytest.approx(min(epoch.dev for epoch in made.epochs_), abs=1e-6)
    assert made.temperature_ != 1.0


def test_items_of_unknown_label_are_summed_out():
    gaps = ITEMS.with_columns(pl.when(pl.int_range(pl.len()) % 3 > 0).then("vote"))
    made = quick().fit(gaps, LINKS)
    assert len(made.predict(gaps, LINKS)) == len(ITEMS)
    assert made.evaluate(gaps, LINKS).n_items == gaps["vote"].count() < len(ITEMS)


def test_a_list_of_graphs_is_as_good_as_a_column_of_groups(fitted):
    parts = []
    for (debate,), items in NEW_ITEMS.group_by(["debate"], maintain_order=True):
        links = NEW_LINKS.filter(pl.col("source").is_in(items["id"].implode()))
        parts.append(LinkedItems.from_frames(items.with_columns(debate=pl.lit(debate)), links, label="vote"))
    apart, whole = fitted.predict(parts), fitted.predict(NEW_ITEMS, NEW_LINKS)
    assert apart.columns == ["graph", "id", "label"]
    assert apart["graph"].to_list() == np.repeat(np.arange(12), 6).tolist()
    assert apart.drop("graph").equals(whole)
    assert fitted.evaluate(parts).to_dict() == fitted.evaluate(NEW_ITEMS, NEW_LINKS).to_dict()


def test_labels_keep_their_type(fitted):
    items = ITEMS.with_columns(vote=(pl.col("vote") == "for").cast(pl.Int64))
    made = quick().fit(items, LINKS)
    assert made.classes_ == [0, 1]
    assert made.predict(items, LINKS)["label"].dtype == pl.Int64
    assert made.evaluate(items.with_columns(pl.col("vote").cast(pl.String)), LINKS).n_items == len(items)
    assert fitted.classes_ == ["against", "for"]


# --- bad input


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "samplerank"}, "learner is 'samplerank'; choose one of"),
        ({"loss": "acuracy"}, "loss is 'acuracy'; choose one of"),
        ({"inference": "gibbs"}, "inference is 'gibbs'; choose"),
        ({"n_epochs": 0}, "n_epochs is 0; give 1 or more"),
        ({"min_count": 0}, "min_count is 0; give 1 or more"),
        ({"weighting": "tfidf"}, "weighting is 'tfidf'; choose one of binary, normalised"),
        ({"n_grams": 0}, "n_grams is 0"),
        ({"token_pattern": "("}, "token_pattern is '\\(', no regular expression"),
        ({"pairs": "both"}, "pairs is 'both'; choose one of table, agreement"),
        ({"agree": "member"}, "agree is 'member'; give a list of columns"),
        ({"agree": ["id"]}, "there is no column 'id'"),
        ({"agree": ["member"]}, "agree names column 'member', but no two items of a graph share a value"),
        ({"outside": "abstain"}, "outside is 'abstain', but labels are 'against', 'for'"),
        ({"label": "votes"}, "there is no column 'votes' \\(is it 'vote'\\?\\)"),
        ({"group": "bill"}, "there is no column 'bill'"),
        ({"text": "speech"}, "there is no column 'speech'"),
        ({"source": "from"}, "of the links: there is no column 'from'"),
        ({"type": "kind"}, "of the links: there is no column 'kind'"),
    ],
)
def test_settings_that_make_no_sense_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        quick(**settings).fit(ITEMS, LINKS)


def test_labels_must_tell_something():
    with pytest.raises(ValueError, match="none of the 72 items has a label; give a column 'label' with the truth"):
        quick(label=None).fit(ITEMS, LINKS)
    with pytest.raises(ValueError, match="all labels are 'for'; learning takes two classes or more"):
        quick().fit(ITEMS.with_columns(vote=pl.lit("for")), LINKS)
    with pytest.raises(ValueError, match="there is nothing to learn from"):
        CollectiveClassifier().fit({"id": [1, 2], "label": ["a", "b"]})


def test_what_the_model_never_saw_is_named(fitted):
    with pytest.raises(ValueError, match=r"row \d+ of the links has type 'heckling', .*'applause', 'reply'"):
        fitted.predict(NEW_ITEMS, NEW_LINKS.with_columns(type=pl.lit("heckling")))
    with pytest.raises(
        ValueError, match=r"\(row 0\) has label 'abstain', but the model was trained on 'against', 'for'"
    ):
        fitted.evaluate(NEW_ITEMS.with_columns(vote=pl.lit("abstain")), NEW_LINKS)
    with pytest.raises(
        ValueError, match="of the items: there is no column 'minutes', which the model was trained with"
    ):
        fitted.predict(NEW_ITEMS.drop("minutes"), NEW_LINKS)
    with pytest.raises(ValueError, match="column 'minutes' holds 'long' in row 0, which is no number"):
        fitted.predict(NEW_ITEMS.with_columns(minutes=pl.lit("long")), NEW_LINKS)
    with pytest.raises(ValueError, match="of the items: there is no text, and the model was trained with texts"):
        fitted.predict(NEW_ITEMS.drop("text"), NEW_LINKS)
    with pytest.raises(ValueError, match="none of the 72 items has a label to compare with"):
        fitted.evaluate(NEW_ITEMS.with_columns(vote=pl.lit(None)), NEW_LINKS)
    with pytest.raises(ValueError, match="none of the 72 development items has a label"):
        quick().fit(ITEMS, LINKS, dev=(NEW_ITEMS.with_columns(vote=pl.lit(None)), NEW_LINKS))
    with pytest.raises(ValueError, match="items come with their links already; leave links out"):
        fitted.predict(fitted.read(NEW_ITEMS, NEW_LINKS), NEW_LINKS)


def test_items_that_do_not_count_are_not_learned_from():
    items = {"id": [0, 1, 2, 3], "text": ["a", "a", "b", "a"], "label": ["x", "y", "y", "x"], "n": [3, 0, 1, 1]}
    settings = {"learner": "likelihood", "min_count": 1, "n_epochs": 30, "rate": 0.1, "random_state": 0}
    found = CollectiveClassifier(**settings, weight="n").fit(items)
    assert found.model_.items.names == ("a", "b")  # the column itself is no feature
    sure = found.predict_marginals(items)["x"].to_list()
    even = CollectiveClassifier(**settings, ignore=["n"]).fit(items).predict_marginals(items)["x"].to_list()
    assert sure[0] > even[0] + 0.1


@pytest.mark.parametrize(("counts", "message"), [([1, -2], "is -2 in row 1"), (["one", "two"], "holds String")])
def test_weights_of_items_are_checked(counts, message):
    items = {"id": [0, 1], "text": ["a", "b"], "label": ["x", "y"], "n": counts}
    with pytest.raises(ValueError, match=message):
        CollectiveClassifier(weight="n", min_count=1).fit(items)
