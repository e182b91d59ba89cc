import numpy as np
import pytest

import walkstep
from walkstep.apps.base import NotFittedError
from walkstep.apps.coreference_resolver import CoreferenceResolver
from walkstep.data.archive import ArchiveError, load_archive, save_archive
from walkstep.data.mentions import MentionDocuments
from walkstep.learning.train import Trainer
from walkstep.model.partition_templates import Affinity, Distinct, Size

pytestmark = pytest.mark.xdist_group("partition")

HE, SHE = ["Otto", "Bruno", "Emil", "Hugo"], ["Ada", "Clara", "Edda", "Ida"]


def story(rng):
    """A man and a woman, named in turn and then meant by pronouns; a road that is neither."""
    him, her = rng.choice(HE), rng.choice(SHE)
    sentences = [
        ["When", him, "met", her, ",", "the", "road", "was", "dark", "."],
        ["Then", "he", "left", ",", "and", "she", "followed", "."],
        ["So", her, "saw", him, "on", "the", "road", "."],
    ]
    spans = [(0, 1, 2, "m"), (0, 3, 4, "f"), (0, 5, 7, "r"), (1, 1, 2, "m"), (1, 5, 6, "f")]
    spans += [(2, 1, 2, "f"), (2, 3, 4, "m"), (2, 5, 7, "r")]
    types = {"m": "man", "f": "woman", "r": "road"}
    mentions = [{"sentence": s, "start": a, "end": b, "entity": e, "entity_type": types[e]} for s, a, b, e in spans]
    return {"sentences": sentences, "mentions": mentions}


@pytest.fixture(scope="module")
def stories():
    rng = np.random.default_rng(0)
    return MentionDocuments.from_dicts([story(rng) for _ in range(24)]).split(0.5, seed=1)


@pytest.fixture(scope="module")
def resolver(stories):
    return CoreferenceResolver(n_epochs=2, n_sweeps=40, random_state=0).fit(stories[0])


def test_stories_are_understood(resolver, stories):
    scores = resolver.evaluate(stories[1])
    assert scores.b_cubed.f1 > 0.95
    assert resolver.score(stories[1]) == scores.conll


def test_entities_are_numbered_by_first_appearance_over_all_documents(resolver, stories):
    found = resolver.predict(stories[1])
    assert found.shape == (stories[1].n_mentions,)
    _, first = np.unique(found, return_index=True)
    assert (np.diff(first) > 0).all()
    assert found.min() == 0
    for a, b in zip(stories[1].document_ptr[1:-1], stories[1].document_ptr[2:], strict=True):
        assert found[a:b].min() > found[:a].max()


def test_answers_do_not_depend_on_threads_or_on_the_other_documents(resolver, stories):
    test = stories[1]
    found = resolver.predict(test)
    np.testing.assert_array_equal(resolver.set_params(n_threads=3).predict(test), found)
    resolver.set_params(n_threads=1)
    alone = resolver.predict(test.select([4]))
    a, b = test.document_ptr[4:6]
    np.testing.assert_array_equal(alone, found[a:b] - found[a])


def test_a_saved_model_answers_alike(resolver, stories, tmp_path):
    path = tmp_path / "coreference.walk"
    resolver.save(path)
    loaded = CoreferenceResolver.load(path)
    assert loaded.get_params() == resolver.get_params()
    assert loaded.layout_ == resolver.layout_
    np.testing.assert_array_equal(loaded.weights_, resolver.weights_)
    np.testing.assert_array_equal(loaded.predict(stories[1]), resolver.predict(stories[1]))
    with pytest.raises(ArchiveError):
        walkstep.SequenceTagger.load(path)


def test_own_templates_are_kept_with_the_model(stories, tmp_path):
    templates = [Affinity((("same head", "kinds"),)), Size(), Distinct("gender", "share", "mention")]
    resolver = CoreferenceResolver(templates=templates, n_epochs=1, n_sweeps=20, random_state=0).fit(stories[0])
    resolver.save(tmp_path / "own.walk")
    loaded = CoreferenceResolver.load(tmp_path / "own.walk")
    assert loaded.templates == templates
    np.testing.assert_array_equal(loaded.predict(stories[1]), resolver.predict(stories[1]))


def test_mappings_serve_as_documents(resolver):
    found = resolver.predict([story(np.random.default_rng(5))])
    assert found.tolist() == [0, 1, 2, 0, 1, 1, 0, 2]


def test_documents_with_one_mention_or_none_are_no_trouble(resolver):
    one = {"sentences": [["then", "Ada", "left"]], "mentions": [{"sentence": 0, "start": 1, "end": 2}]}
    none = {"sentences": [["rain", "fell"]], "mentions": []}
    assert resolver.predict([none, one, none, one]).tolist() == [0, 1]
    assert CoreferenceResolver(n_epochs=1, random_state=0).fit([one, story(np.random.default_rng(0))]).weights_.any()


@pytest.mark.parametrize("signal", ["pair-f1", "b-cubed"])
def test_every_signal_teaches(signal, stories):
    resolver = CoreferenceResolver(signal=signal, n_epochs=2, n_sweeps=40, random_state=0).fit(stories[0])
    assert resolver.evaluate(stories[1]).b_cubed.f1 > 0.9


def test_the_papers_proposer_teaches_too(stories):
    resolver = CoreferenceResolver(jumps="uniform", n_epochs=2, n_sweeps=40, n_restarts=2, random_state=0)
    assert resolver.fit(stories[0]).evaluate(stories[1]).b_cubed.f1 > 0.9


@pytest.mark.parametrize("jumps", ["guided", "single"])
def test_other_jumps_answer_too_and_are_kept(jumps, stories, tmp_path):
    resolver = CoreferenceResolver(jumps=jumps, n_epochs=2, n_sweeps=40, random_state=0).fit(stories[0])
    assert resolver.evaluate(stories[1]).b_cubed.f1 > 0.9
    assert len(resolver.jumps_) == 0
    resolver.save(tmp_path / "stories.walkstep")
    loaded = CoreferenceResolver.load(tmp_path / "stories.walkstep")
    assert loaded.jumps == jumps
    assert loaded.predict(stories[1]).tolist() == resolver.predict(stories[1]).tolist()


def test_what_jumps_have_learned_is_kept_and_told_from_that_of_other_kinds(resolver, stories, tmp_path):
    path = tmp_path / "stories.walkstep"
    assert len(resolver.jumps_) > 0
    resolver.save(path)
    assert CoreferenceResolver.load(path).predict(stories[1]).tolist() == resolver.predict(stories[1]).tolist()
    description, arrays = load_archive(path, "CoreferenceResolver")
    save_archive(path, "CoreferenceResolver", description, {**arrays, "jumps": arrays["jumps"][1:]})
    with pytest.raises(ValueError, match=r"numbers of jumps that learned, .* by an earlier version; fit it again"):
        CoreferenceResolver.load(path)


def test_some_truth_is_enough(stories):
    truth = stories[0].entity.copy()
    truth[::3] = -1
    resolver = CoreferenceResolver(n_epochs=2, n_sweeps=40, random_state=0).fit(stories[0], truth)
    assert resolver.evaluate(stories[1]).b_cubed.f1 > 0.9


def test_an_interrupted_fit_keeps_what_was_learned(stories, monkeypatch):
    whole = Trainer.epoch

    def epoch(self):
        if len(self.epochs) == 1:
            raise KeyboardInterrupt
        return whole(self)

    monkeypatch.setattr(Trainer, "epoch", epoch)
    resolver = CoreferenceResolver(n_epochs=5, n_sweeps=40, random_state=0).fit(stories[0])
    assert len(resolver.epochs_) == 1
    assert resolver.weights_.any()


def test_an_interrupt_before_anything_was_learned_goes_on_up(stories, monkeypatch):
    def epoch(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "epoch", epoch)
    with pytest.raises(KeyboardInterrupt):
        CoreferenceResolver().fit(stories[0])


def test_top_weights_are_named(resolver):
    name, place, weight = resolver.top_weights(1)[0]
    assert name in resolver.layout_
    assert abs(weight) == np.abs(resolver.weights_).max()
    assert resolver.layout_.view(resolver.weights_, name).ravel()[place] == weight


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"signal": "muc"}, "signal is 'muc'; choose one of pair-accuracy"),
        ({"jumps": "wild"}, "jumps is 'wild'; choose one of adaptive, guided, single, uniform"),
        ({"n_epochs": 0}, "n_epochs is 0; give 1 or more"),
        ({"n_search_sweeps": 0}, "n_search_sweeps is 0; give 1 or more"),
        ({"n_restarts": 0}, "n_restarts is 0; give 1 or more"),
        ({"n_sweeps": 0}, "n_sweeps is 0; give a number above 0"),
        ({"templates": "chain"}, "templates is 'chain'; give 'default'"),
    ],
)
def test_bad_settings_are_named(setting, message, stories):
    with pytest.raises(ValueError, match=message):
        CoreferenceResolver(**setting).fit(stories[0])


def test_bad_truth_is_named(resolver, stories):
    with pytest.raises(ValueError, match="give one entity number for each of the 96 mentions"):
        CoreferenceResolver().fit(stories[0], [0, 1])
    with pytest.raises(ValueError, match="there are no entities to learn from"):
        CoreferenceResolver().fit(stories[0], np.full(stories[0].n_mentions, -1))
    with pytest.raises(ValueError, match="array of float64"):
        resolver.score(stories[1], np.zeros(stories[1].n_mentions))


def test_an_untrained_resolver_says_so(stories):
    with pytest.raises(NotFittedError, match="CoreferenceResolver is not trained yet"):
        CoreferenceResolver().predict(stories[0])


def test_it_is_a_public_name():
    assert walkstep.CoreferenceResolver is CoreferenceResolver
    assert repr(CoreferenceResolver(n_epochs=2)) == "CoreferenceResolver(n_epochs=2)"
