from itertools import pairwise

import numpy as np
import pytest

from walkstep import SequenceTagger
from walkstep.apps.base import NotFittedError
from walkstep.data.demo import generate_news
from walkstep.data.sequences import Sequences
from walkstep.data.tagging_schemes import allowed_transitions, convert
from walkstep.evaluation.calibration import expected_calibration_error
from walkstep.evaluation.spans import span_scores
from walkstep.learning.chain_likelihood import ChainLikelihood


def lists(corpus):
    return corpus.split(corpus.tokens), corpus.split(corpus.tags)


@pytest.fixture(scope="module")
def news():
    return generate_news(300, seed=1), generate_news(100, seed=2)


@pytest.fixture(scope="module")
def tagger(news):
    return SequenceTagger(n_epochs=5, random_state=0).fit(news[0])


def test_it_learns_what_a_majority_vote_does_not(news, tagger):
    train, test = news
    votes = {}
    for token, tag in zip(train.tokens, train.tags, strict=True):
        votes.setdefault(token, []).append(tag)
    majority = [max(set(votes[t]), key=votes[t].count) if t in votes else "O" for t in test.tokens]
    floor = span_scores(test.tags, majority, test.sentence_ptr).f1
    assert tagger.evaluate(test).f1 > floor + 0.1


def test_lists_and_sequences_give_the_same_model(news):
    train, test = news
    sentences, tags = lists(train)
    documents = np.repeat(np.arange(train.n_documents), np.diff(train.document_ptr))
    one = SequenceTagger(n_epochs=2, random_state=3).fit(train)
    two = SequenceTagger(n_epochs=2, random_state=3).fit(sentences, tags, documents=documents)
    np.testing.assert_array_equal(one.weights_, two.weights_)
    assert one.predict(test) == two.predict(test)


@pytest.mark.parametrize("scheme", ["iob1", "bio", "bilou"])
@pytest.mark.parametrize("inner", ["auto", "bilou"])
def test_predictions_come_in_the_scheme_of_the_training_tags(news, scheme, inner):
    train, test = news
    tags = convert(train.tags, train.sentence_ptr, "bio", scheme)
    tagger = SequenceTagger(n_epochs=3, scheme=inner, random_state=0).fit(train.split(train.tokens), train.split(tags))
    predicted = [tag for sentence in tagger.predict(test.split(test.tokens)) for tag in sentence]
    assert tagger.scheme_ == scheme
    assert set(predicted) <= set(tags)
    assert span_scores(test.tags, predicted, test.sentence_ptr).f1 > 0.6


def test_a_constrained_tagger_never_emits_an_illegal_tag(news):
    train, test = news
    # Trained on nonsense, so that only the constraints keep it legal.
    rng = np.random.default_rng(0)
    noise = [[str(rng.choice(["O", "B-X", "I-X", "B-Y", "I-Y"])) for _ in s] for s in train.split(train.tokens)]
    legal = [convert(tags, [0, len(tags)], None, "bio") for tags in noise]
    text = "tag[i] ~ lower[i]"  # no transitions to learn them by
    tagger = SequenceTagger(templates=text, n_epochs=1, random_state=0).fit(train.split(train.tokens), legal)
    start, transition, _ = allowed_transitions(tagger.classes_, "bio")
    is_first = np.zeros(test.n_tokens, bool)
    is_first[test.sentence_ptr[:-1]] = True

    def is_legal(values):
        return start[values[is_first]].all() and transition[values[:-1], values[1:]][~is_first[1:]].all()

    assert is_legal(tagger._decode(test))
    assert not is_legal(tagger.set_params(constrained=False)._decode(test))


def test_marginals_are_probabilities_and_agree_with_k_best(news, tagger):
    test = news[1].split(news[1].tokens)[:20]
    for sentence, probabilities in zip(test, tagger.predict_marginals(test), strict=True):
        assert probabilities.shape == (len(sentence), len(tagger.classes_))
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    best = tagger.predict(test)
    for tags, answers in zip(best, tagger.predict_k_best(test, 3), strict=True):
        assert answers[0][0] == tags
        scores = [score for _, score in answers]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(found) for found, _ in answers}) == len(answers)


def test_marginals_are_as_sure_as_they_should_be(news):
    train, test = news
    tagger = SequenceTagger(n_epochs=5, random_state=0).fit(train, dev=test)

    def error(temperature):
        tagger.temperature_ = temperature
        probabilities = np.concatenate(tagger.predict_marginals(test))
        truth = np.array([tagger.classes_.index(tag) for tag in test.tags])
        return expected_calibration_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == truth)

    assert error(tagger.temperature_) < 0.03
    assert error(1.0) > 0.1  # scores that only margins have shaped say nothing of how sure they are


def test_a_saved_model_answers_as_the_one_that_was_saved(news, tagger, tmp_path):
    tagger.save(tmp_path / "ner.walk")
    loaded = SequenceTagger.load(tmp_path / "ner.walk")
    assert loaded.predict(news[1]) == tagger.predict(news[1])
    assert loaded.get_params() == tagger.get_params()
    for one, two in zip(loaded.predict_marginals(news[1]), tagger.predict_marginals(news[1]), strict=True):
        np.testing.assert_array_equal(one, two)
    assert b"pickle" not in (tmp_path / "ner.walk").read_bytes()


def test_unknown_tags_teach_nothing(news):
    train, test = news
    rng = np.random.default_rng(0)
    partial = [tag if rng.random() < 0.5 else None for tag in train.tags]
    half = Sequences(train.tokens, train.sentence_ptr, train.document_ptr, train.columns, partial)
    tagger = SequenceTagger(n_epochs=5, random_state=0).fit(half)
    assert tagger.evaluate(test).f1 > 0.6
    # A sentence without any tag leaves the weights of its own words at zero.
    sentences, tags = lists(train)
    alone = SequenceTagger(n_epochs=2, features=["word"], random_state=0, keep_names=True)
    alone.fit([*sentences, ["Xyzzy", "Plugh"]], [*tags, [None, None]])
    names = alone.grounding_.feature_names("emission")
    rows = alone.layout_.view(alone.weights_, "emission")[0]
    assert not rows[names.index("word=Xyzzy")].any()
    assert rows[names.index("word=the")].any()


def test_skip_chains_join_words_of_a_document(news):
    train, test = news
    tagger = SequenceTagger(templates="skip-chain", n_epochs=3, random_state=0).fit(train)
    assert "skip" in tagger.layout_
    assert tagger.layout_.view(tagger.weights_, "skip").any()
    assert tagger.evaluate(test).f1 > 0.6
    start, transition, _ = allowed_transitions(tagger.classes_, "bio")
    for tags in tagger.predict(test):
        codes = [tagger.classes_.index(tag) for tag in tags]
        assert start[codes[0]]
        assert all(transition[a, b] for a, b in pairwise(codes))
    for probabilities in tagger.predict_marginals(test.split(test.tokens)[:5]):
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_a_model_may_be_written_as_text(news):
    train, test = news
    text = "tag[i] ~ lower[i], suffix(3)[i], lower[i-1]\ntag[i-1] tag[i] ~ is_capital[i]"
    tagger = SequenceTagger(templates=text, n_epochs=3, random_state=0).fit(train)
    assert tagger.evaluate(test).f1 > 0.5


@pytest.mark.parametrize("signal", ["token-f1", "span-f1"])
def test_other_signals_train(news, signal):
    tagger = SequenceTagger(signal=signal, n_epochs=3, random_state=0).fit(news[0])
    assert tagger.evaluate(news[1]).f1 > 0.5


def test_threads_are_deterministic(news):
    weights = [SequenceTagger(n_epochs=2, n_threads=2, random_state=5).fit(news[0]).weights_ for _ in range(3)]
    np.testing.assert_array_equal(weights[0], weights[1])
    np.testing.assert_array_equal(weights[0], weights[2])


def test_development_data_choose_the_epoch(news):
    tagger = SequenceTagger(n_epochs=4, random_state=0).fit(news[0], dev=news[1])
    assert len(tagger.dev_scores_) == 4
    assert tagger.evaluate(news[1]).f1 == max(tagger.dev_scores_)


def test_likelihood_trains_a_chain(news):
    train, test = news
    tagger = SequenceTagger(learner="likelihood").fit(train)
    assert tagger.evaluate(test).f1 > 0.8
    assert tagger.epochs_[-1].loss < tagger.epochs_[0].loss
    assert len(tagger.epochs_) <= 100
    assert tagger.best_epoch_ == len(tagger.epochs_)
    # A likelihood says how sure it is without being told.
    assert tagger.temperature_ == 1.0
    probabilities = np.concatenate(tagger.predict_marginals(test))
    truth = np.array([tagger.classes_.index(tag) for tag in test.tags])
    assert expected_calibration_error(probabilities.max(axis=1), probabilities.argmax(axis=1) == truth) < 0.03


def test_likelihood_weights_have_no_slope_left(news):
    tagger = SequenceTagger(learner="likelihood", features=["word", "shape"], l2=3.0, n_epochs=300).fit(news[0])
    graph, _ = tagger.grounding_.ground(news[0])
    _, gradient = ChainLikelihood(graph, tagger.grounding_.domains[0].encode(news[0].tags))(tagger.weights_)
    assert np.linalg.norm(gradient + 3.0 * tagger.weights_) < 0.01 * np.linalg.norm(gradient)


def test_likelihood_is_deterministic_in_any_number_of_threads(news):
    one, two, three = (
        SequenceTagger(learner="likelihood", n_epochs=8, n_threads=n).fit(news[0]).weights_ for n in (1, 2, 2)
    )
    np.testing.assert_array_equal(two, three)
    np.testing.assert_allclose(one, two, atol=1e-5)


def test_likelihood_with_absolute_penalties_leaves_few_weights(news):
    tagger = SequenceTagger(learner="likelihood", l1=1.0, l2=0.0, n_epochs=30).fit(news[0])
    assert np.mean(tagger.weights_ == 0.0) > 0.8
    assert tagger.evaluate(news[1]).f1 > 0.8


def test_likelihood_sums_over_unknown_tags(news):
    train, test = news
    rng = np.random.default_rng(0)
    partial = [tag if rng.random() < 0.5 else None for tag in train.tags]
    half = Sequences(train.tokens, train.sentence_ptr, train.document_ptr, train.columns, partial)
    assert SequenceTagger(learner="likelihood").fit(half).evaluate(test).f1 > 0.75


def test_likelihood_on_models_written_as_text(news):
    train, test = news
    text = "tag[i] ~ lower[i], suffix(3)[i], lower[i-1]\ntag[i-1] tag[i] ~ is_capital[i]"
    assert SequenceTagger(templates=text, learner="likelihood", n_epochs=30).fit(train).evaluate(test).f1 > 0.6
    alone = SequenceTagger(templates="tag[i] ~ lower[i]", learner="likelihood", n_epochs=10).fit(train)
    assert len(alone.epochs_) <= 10


def test_development_data_choose_the_iteration(news):
    tagger = SequenceTagger(learner="likelihood", n_epochs=12, features=["lower", "shape"]).fit(news[0], dev=news[1])
    assert len(tagger.dev_scores_) == 3  # after 5, 10 and 12
    assert tagger.best_epoch_ in (5, 10, 12)
    assert tagger.evaluate(news[1]).f1 == max(tagger.dev_scores_)


def test_raw_tags_are_tagged_without_spans():
    sentences = [["the", "dog", "barks"], ["a", "cat", "sleeps"]] * 5
    tags = [["DT", "NN", "VB"], ["DT", "NN", "VB"]] * 5
    tagger = SequenceTagger(n_epochs=3, random_state=0).fit(sentences, tags)
    assert tagger.predict([["the", "cat", "barks"]]) == [["DT", "NN", "VB"]]
    assert tagger.score(sentences, tags) == 1.0


def test_top_features_are_named(news):
    tagger = SequenceTagger(n_epochs=2, features=["lower"], keep_names=True, random_state=0).fit(news[0])
    top = tagger.top_features("B-PER", 5)
    assert len(top) == 5
    assert all(name.startswith("lower=") or name == "bias" for name, _ in top)
    with pytest.raises(ValueError, match="has no tag 'B-CAR'"):
        tagger.top_features("B-CAR")


def test_nothing_in_nothing_out(tagger):
    assert tagger.predict([]) == []
    assert tagger.predict_marginals([]) == []
    assert tagger.predict_k_best([], 2) == []


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        ([], [], "no tags to learn from"),
        ([["a"], []], [["O"], []], "sentence 1 is empty"),
        ([["a", "b"]], [["O"]], "sentence 0 has 2 tokens but 1 entries in tags"),
        ([["a"]], [["O"], ["O"]], "there are 1 sentences but tags has 2"),
        ([["a"]], [[None]], "no tags to learn from"),
        ([["a"]], None, "no tags to learn from"),
    ],
)
def test_bad_sentences_are_named(sentences, tags, message):
    with pytest.raises(ValueError, match=message):
        SequenceTagger().fit(sentences, tags)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "samplerang"}, "'samplerang' is not known"),
        ({"step": "mirra"}, "'mirra' is not known"),
        ({"scheme": "iobes"}, "scheme is 'iobes'; choose one of"),
        ({"signal": "bleu"}, "signal is 'bleu'; choose one of"),
        ({"features": ["shpae"]}, "did you mean 'shape'"),
        ({"features": "all"}, "give 'default' or a list"),
        ({"templates": "tag[i ~ word[i]"}, "line 1, column"),
        ({"n_epochs": 0}, "n_epochs is 0"),
        ({"l1": 1.0}, "l1 is 1.0, but learner 'samplerank' has no such penalty"),
        ({"learner": "likelihood", "l2": -1.0}, "l2 is -1.0; give 0 or more"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SequenceTagger(**settings).fit([["a", "b"]], [["O", "B-X"]])


def test_asking_before_training_is_refused():
    with pytest.raises(NotFittedError, match="not trained yet; call fit"):
        SequenceTagger().predict([["a"]])


def test_strings_are_not_sentences():
    with pytest.raises(TypeError, match="split it into a list of words"):
        SequenceTagger().fit(["a b"], [["O", "O"]])
