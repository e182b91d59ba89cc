import re
import subprocess
import sys
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from walkstep import SequenceTagger
from walkstep.apps.tag_messages import TypeF1, tag_loss
from walkstep.data.demo import generate_news
from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import allowed_transitions
from walkstep.inference.exact import enumerate_worlds
from walkstep.learning.message_learning import Learned, MessageEpoch, MessageLearner

FEATURES = ["lower", "shape"]
SMALL = {"features": FEATURES, "rate": 0.1, "n_epochs": 8, "n_first_epochs": 4, "n_rounds": 2, "batch_size": 4}


@pytest.fixture(scope="module")
def news():
    return generate_news(120, seed=1), generate_news(60, seed=2)


@pytest.fixture(scope="module")
def risky(news):
    settings = {"templates": "skip-chain", "learner": "risk", "loss": "f1", "inference": "max-product"}
    return SequenceTagger(**settings, **SMALL, random_state=0).fit(news[0])


def test_risk_learns_a_model_with_cycles(news, risky):
    assert risky.evaluate(news[1]).f1 > 0.6
    assert len(risky.epochs_) == 12 == risky.n_epochs_
    assert not risky.interrupted_


# The best rival, which svm and perceptron learn from, takes more rounds to find where there are cycles.
@pytest.mark.slow
@pytest.mark.parametrize(
    ("learner", "templates", "n_rounds", "least"),
    [
        ("likelihood", "skip-chain", 2, 0.6),
        ("softmax-margin", "skip-chain", 2, 0.6),
        ("svm", "chain", 2, 0.5),
        ("svm", "skip-chain", 10, 0.5),
        ("perceptron", "chain", 2, 0.4),
        ("perceptron", "skip-chain", 10, 0.4),
    ],
)
def test_every_learner_learns(news, learner, templates, n_rounds, least):
    tagger = SequenceTagger(templates=templates, learner=learner, **(SMALL | {"n_rounds": n_rounds})).fit(news[0])
    assert tagger.evaluate(news[1]).f1 > least
    assert len(tagger.epochs_) == 8  # first epochs are for risk alone


@pytest.mark.slow
def test_rivals_that_a_scheme_forbids_do_not_stop_learning(news):
    tagger = SequenceTagger(templates="skip-chain", learner="svm", **SMALL).fit(news[0])
    objectives = [epoch.objective for epoch in tagger.epochs_]
    assert min(objectives) > 0.0
    assert objectives[-1] < objectives[0] / 2


@pytest.mark.slow
def test_risk_on_a_chain_passes_messages_exactly(news):
    train, test = news
    tagger = SequenceTagger(learner="risk", inference="sum-product", **SMALL).fit(train)
    tagger.temperature_ = 1.0
    exact = SequenceTagger(learner="likelihood", features=FEATURES, n_epochs=1).fit(train)
    exact.weights_, exact.temperature_ = tagger.weights_, 1.0
    for ours, theirs in zip(tagger.predict_marginals(test), exact.predict_marginals(test), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


@pytest.mark.slow
def test_answers_are_the_best_beliefs_of_small_documents_enumerated():
    # A document whose skip edge closes no cycle: messages are exact there.
    sentences = [["Ann", "spoke"], ["Ann", "slept"]]
    tags = [["B-PER", "O"], ["B-PER", "O"]]
    tagger = SequenceTagger(templates="skip-chain", learner="likelihood", features=["lower"], n_epochs=4)
    tagger.fit(sentences * 2, tags * 2, documents=[0, 0, 1, 1])
    corpus = Sequences.from_lists(sentences, documents=[0, 0])
    graph = tagger._decoder().ruled_graph(corpus)
    found = np.concatenate(tagger.predict_marginals(sentences, documents=[0, 0]))
    np.testing.assert_allclose(found, enumerate_worlds(graph, tagger.weights_).marginals(), atol=1e-4)


@pytest.mark.parametrize("inference", ["sum-product", "max-product"])
def test_answers_keep_the_rules_of_the_scheme(news, risky, monkeypatch, inference):
    tagger = risky
    monkeypatch.setattr(tagger, "inference", inference)
    # Weights that say little let the best tags of neighbours contradict each other.
    monkeypatch.setattr(tagger, "weights_", np.random.default_rng(0).normal(size=tagger.weights_.shape))
    start, transition, _ = allowed_transitions(tagger.classes_, "bio")
    code = {tag: k for k, tag in enumerate(tagger.classes_)}
    for sentence in tagger.predict(news[1]):
        values = [code[tag] for tag in sentence]
        assert start[values[0]]
        assert all(transition[a, b] for a, b in pairwise(values))


def test_a_saved_model_answers_alike(news, risky, tmp_path):
    risky.save(tmp_path / "model.walk")
    twin = SequenceTagger.load(tmp_path / "model.walk")
    assert (twin.loss, twin.inference, twin.n_rounds) == ("f1", "max-product", 2)
    assert twin.predict(news[1]) == risky.predict(news[1])
    for ours, theirs in zip(twin.predict_marginals(news[1]), risky.predict_marginals(news[1]), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_marginals_are_chances(news, risky):
    found = np.concatenate(risky.predict_marginals(news[1]))
    assert found.shape == (news[1].n_tokens, len(risky.classes_))
    np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-6)


@pytest.mark.slow
def test_the_epoch_best_on_development_data_is_kept(news, capfd):
    tagger = SequenceTagger(learner="softmax-margin", **SMALL, verbose=1).fit(news[0], dev=news[1])
    assert len(tagger.dev_scores_) == 8
    assert tagger.dev_scores_[tagger.best_epoch_ - 1] == max(tagger.dev_scores_)
    assert tagger.evaluate(news[1]).f1 == pytest.approx(max(tagger.dev_scores_))
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 8
    assert "epoch 8/8  objective" in lines[-1]
    assert "dev F1" in lines[-1]


def test_an_interrupt_keeps_what_was_learned(news, monkeypatch):
    tagger = SequenceTagger(learner="softmax-margin", **SMALL)
    seen = []

    def score(self, *args, **settings):
        seen.append(self.weights_.copy())
        if len(seen) == 2:
            raise KeyboardInterrupt
        return original(self, *args, **settings)

    original = SequenceTagger.evaluate
    monkeypatch.setattr(SequenceTagger, "evaluate", score)
    tagger.fit(news[0], dev=news[1])
    assert tagger.interrupted_
    assert len(tagger.epochs_) == 1
    np.testing.assert_array_equal(tagger.weights_, seen[0])


@pytest.mark.slow
def test_unknown_tags_are_summed_out(news):
    train, test = news
    half = [tag if s % 2 else None for s, tag in enumerate(train.tags)]
    known = Sequences(train.tokens, train.sentence_ptr, train.document_ptr, train.columns, half)
    assert SequenceTagger(templates="skip-chain", learner="likelihood", **SMALL).fit(known).evaluate(test).f1 > 0.5


@pytest.mark.slow
def test_a_loss_of_ones_own(news):
    def mistrust(decoded, truth, weight):
        right = jnp.take_along_axis(decoded, jnp.maximum(truth, 0)[None], axis=0)[0]
        return (weight * (1.0 - right)).sum() / weight.sum()

    short = {**SMALL, "n_epochs": 2, "n_first_epochs": 0}
    mine = SequenceTagger(learner="risk", loss=mistrust, **short).fit(news[0])
    theirs = SequenceTagger(learner="risk", loss="accuracy", **short).fit(news[0])
    np.testing.assert_allclose(mine.weights_, theirs.weights_, atol=1e-3)


def slow_type_f1(tags, truth, classes):
    kinds = [tag.partition("-")[2] for tag in classes]
    pairs = [(kinds[a], kinds[b]) for a, b in zip(tags, truth, strict=True) if b >= 0]
    hits = sum(a == b != "" for a, b in pairs)
    return 1.0 - 2.0 * hits / sum((a != "") + (b != "") for a, b in pairs)


def test_the_f_measure_of_types_is_that_of_certain_answers_counted():
    classes = ["O", "B-LOC", "B-PER", "I-LOC", "I-PER"]
    loss = tag_loss("f1", classes, "bio")
    rng = np.random.default_rng(3)
    for _ in range(20):
        tags, truth = rng.integers(0, 5, 12), rng.integers(-1, 5, 12)
        decoded = jnp.asarray(np.eye(5)[tags].T[:, :, None])
        weight = jnp.asarray((truth >= 0).astype(float)[:, None])
        found = float(loss(decoded, jnp.asarray(truth[:, None]), weight))
        assert found == pytest.approx(slow_type_f1(tags, truth, classes), abs=1e-6)


def test_the_f_measure_of_types_has_the_slope_of_finite_differences():
    loss = TypeF1((0, 1, 2, 1, 2))
    rng = np.random.default_rng(4)
    truth, weight = jnp.asarray(rng.integers(-1, 5, (6, 2))), jnp.ones((6, 2))
    with jax.enable_x64(True):
        chances = jnp.asarray(rng.dirichlet(np.ones(5), size=(6, 2)).transpose(2, 0, 1))
        slope = jax.grad(loss)(chances, truth, weight)
        for k, v, b in [(0, 0, 0), (3, 2, 1), (4, 5, 0)]:
            step = np.zeros(chances.shape)
            step[k, v, b] = 1e-6
            rise = loss(chances + step, truth, weight) - loss(chances - step, truth, weight)
            assert float(slope[k, v, b]) == pytest.approx(float(rise) / 2e-6, abs=1e-6)


def test_one_loss_serves_equal_tags():
    assert tag_loss("f1", ["O", "B-A"], "bio") is tag_loss("f1", ["O", "B-C"], "bio")
    assert tag_loss("f1", ["stime", "O", "speaker"], "raw") == TypeF1((2, 0, 1))
    assert tag_loss("f1", ["O"], "bio") == "accuracy"
    assert tag_loss("accuracy", ["O", "B-A"], "bio") == "accuracy"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"loss": "f1"}, "loss is 'f1', which is for learners by messages, but learner 'samplerank' is none"),
        ({"learner": "likelihood", "n_rounds": 3}, "n_rounds is 3, which is for learners by messages"),
        ({"learner": "svm", "loss": "f1"}, "loss is 'f1', but learner 'svm' has one of its own"),
        ({"learner": "risk", "loss": "f2"}, "loss is 'f2'; choose one of accuracy"),
        ({"learner": "risk", "inference": "gibbs"}, "inference is 'gibbs'; choose 'sum-product' or 'max-product'"),
        ({"learner": "risk", "damping": 1.0}, "damping is 1.0; give a number from 0 to below 1"),
        ({"learner": "risk", "optimiser": "newton"}, "optimiser is 'newton'; choose one of adam"),
        ({"learner": "risk", "l2": -1.0}, "l2 is -1.0; give 0 or more"),
    ],
)
def test_settings_that_make_no_sense_are_named(news, settings, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SequenceTagger(features=["lower"], **settings).fit(news[0])


def test_settings_go_to_the_learner(news, monkeypatch):
    seen = []

    def learn(self, batch, **kwargs):
        seen.append(self)
        return Learned(np.zeros(batch.tables.n_weights), [MessageEpoch(1, 0.0, None, 1.0)])

    monkeypatch.setattr(MessageLearner, "learn", learn)
    settings = {"optimiser": "adagrad", "batch_size": 50, "l1": 1e-6, "l2": 1e-5, "damping": 0.2, "n_first_epochs": 3}
    SequenceTagger(**{"learner": "risk", **SMALL, **settings}, average=False, random_state=5).fit(news[0])
    learner = seen[0]
    given = {name: getattr(learner, name) for name in settings}
    assert given == settings
    assert (learner.n_rounds, learner.rate, learner.average, learner.random_state) == (2, 0.1, False, 5)


def test_jax_is_asked_for_by_name_where_it_is_missing():
    code = (
        "import sys\n"
        "class Missing:\n"
        "    def find_spec(self, name, *args):\n"
        "        if name == 'jax': raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Missing())\n"
        "from walkstep import SequenceTagger\n"
        "SequenceTagger(n_epochs=1).fit([['Ada', 'slept']], [['B-PER', 'O']])\n"
        "try: SequenceTagger(learner='risk').fit([['Ada', 'slept']], [['B-PER', 'O']])\n"
        "except ImportError as error: print(error)\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "pip install 'walkstep[jax]'" in found.stdout
