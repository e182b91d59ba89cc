import pytest

from walkstep import SequenceTagger
from walkstep.apps.base import NotFittedError

pytestmark = pytest.mark.xdist_group("command")


@pytest.mark.parametrize(
    ("sentences", "tags", "message"),
    [
        (
            [["Ada", "left"], ["Bob"]],
            [["B-PER", "O"], ["B-PER", "O"]],
            "sentence 1 has 1 tokens but 2 entries in tags; give one entry a token",
        ),
        ([["Ada"], ["Bob"]], [["B-PER"]], "there are 2 sentences but tags has 1; give one each"),
        ([["Ada"], []], [["B-PER"], []], "sentence 1 is empty; leave empty sentences out"),
        ([], [], "there are no"),
        ([["Ada"]], None, "there are no tags to learn from; pass tags="),
        ([["Ada"]], [[None]], "there are no tags to learn from; pass tags="),
        (
            [[("Ada", "NNP"), ("left",)]],
            [["B-PER", "O"]],
            "a token of sentence 0 is ('left',), but the first token has 2 columns; give every token the same columns",
        ),
    ],
)
def test_ragged_and_empty_training_data_is_refused(sentences, tags, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is looked at
        SequenceTagger().fit(sentences, tags)
    assert message in str(error.value)


def test_tokens_that_are_no_words_are_refused(tagger):
    with pytest.raises(TypeError, match=r"a token of sentence 1 is 7, not a string; convert it with str\(\)"):
        tagger.predict([["Ada"], [7]])


def test_empty_and_ragged_sentences_are_refused_at_prediction(tagger):
    with pytest.raises(ValueError, match="sentence 0 is empty; leave empty sentences out"):
        tagger.predict([[]])
    with pytest.raises(ValueError, match="sentence 0 has 1 tokens but 2 entries in tags; give one entry a token"):
        tagger.evaluate([["Ada"]], [["B-PER", "O"]])
    assert tagger.predict([]) == []


def test_unknown_tags_are_refused_unless_they_may_be_missed(tagger):
    with pytest.raises(ValueError, match=r"the tag of 'Ada' \(token 1\) is 'B-CAR', but the model was trained on"):
        tagger.evaluate([["Ada", "left"]], [["B-CAR", "O"]])
    assert tagger.evaluate([["Ada", "left"]], [["B-CAR", "O"]], allow_unknown=True).recall == 0.0


def test_unknown_tags_are_refused_by_the_command(refused, tagger_file, tmp_path):
    data = tmp_path / "test.conll"
    data.write_text("Ada B-PER\nleft O\n\nAcme B-ORG\ngrew O\n")
    message = refused("evaluate", tagger_file, data, "--json", tmp_path / "scores.json")
    assert f"{data}: the tag of 'Acme' (token 3) is 'B-ORG', but the model was trained on PER" in message
    assert "--allow-unknown" in message


def test_a_tag_that_the_model_does_not_have_has_no_features(tagger):
    with pytest.raises(ValueError, match=r"the model has no tag 'B-ORG'; it has O, B-PER"):
        tagger.top_features("B-ORG")


def test_an_untrained_tagger_says_so():
    with pytest.raises(NotFittedError, match="this SequenceTagger is not trained yet; call fit, or load a saved model"):
        SequenceTagger().predict([["Ada"]])


def test_documents_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="there are 1 sentences but documents names 2; give one each"):
        SequenceTagger().fit([["Ada"]], [["B-PER"]], documents=[0, 1])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"scheme": "iob9"}, "scheme is 'iob9'; choose one of auto, bio, bilou, raw"),
        ({"signal": "speed"}, "signal is 'speed'; choose one of hamming, token-f1, span-f1, or pass a function"),
        ({"learner": "magic"}, "learner 'magic' is not known; choose one of samplerank"),
        ({"step": "leap"}, "step rule 'leap' is not known; choose one of perceptron"),
        ({"features": "words"}, "features is 'words'; give 'default' or a list of features"),
        ({"n_epochs": 0}, "n_epochs is 0; give 1 or more"),
        ({"temperature": -1.0}, "temperature is -1.0; give 0 or more"),
    ],
)
def test_impossible_settings_are_refused(settings, message):
    with pytest.raises(ValueError) as error:  # noqa: PT011
        SequenceTagger(**settings).fit([["Ada", "left"]], [["B-PER", "O"]])
    assert message in str(error.value)


CONTENTS = {
    "Ada NNP B-PER\nleft O\n\nBob NNP B-PER\n": (
        ", line 2: 'left O' has 2 column(s), expected 3 as in other lines; complete the line"
    ),
    "Ada NNP B-PER\n\n\nleft VBD\nBob NNP B-PER\nslept VBD O\n": ", line 4: 'left VBD' has 2 column(s), expected 3",
    "": " holds no token; give a file with one token a line",
    "\n\n \n": " holds no token; give a file with one token a line",
}


@pytest.mark.parametrize(("content", "message"), CONTENTS.items())
def test_a_line_that_lacks_a_column_is_named(refused, tagger_file, tmp_path, content, message):
    data = tmp_path / "bad.conll"
    data.write_text(content)
    for arguments in (
        ("fit", "tag", data, "--model", tmp_path / "ner.walk", "-q"),
        ("evaluate", tagger_file, data, "--json", tmp_path / "scores.json"),
    ):
        assert f"{data}{message}" in refused(*arguments)


def test_development_data_is_checked_before_training(refused, tmp_path):
    good, bad = tmp_path / "good.conll", tmp_path / "bad.conll"
    good.write_text("Ada B-PER\nleft O\n")
    bad.write_text("Ada B-PER\nleft\n")
    message = refused("fit", "tag", good, "--dev", bad, "--model", tmp_path / "ner.walk", "-q")
    assert f"{bad}, line " in message


def test_text_that_is_not_utf8_is_refused(refused, tagger_file, tmp_path):
    data = tmp_path / "latin.txt"
    data.write_bytes(b"Ada met Ren\xe9 .\n")
    message = refused("predict", tagger_file, data, "-o", tmp_path / "tagged.conll")
    assert message == f"{data} is not UTF-8: byte 0xe9 at offset 11 (line 1); save the file as UTF-8"


def test_an_empty_text_is_refused(refused, tagger_file, tmp_path):
    data = tmp_path / "empty.txt"
    data.touch()
    message = refused("predict", tagger_file, data, "-o", tmp_path / "tagged.conll")
    assert message == f"{data} holds no words; give a file with one sentence a line"


def test_files_that_are_not_there_are_named(refused, tagger_file, tmp_path):
    absent = tmp_path / "absent.txt"
    for arguments in (
        ("fit", "tag", absent, "--model", tmp_path / "ner.walk"),
        ("predict", tagger_file, absent),
        ("evaluate", tagger_file, absent),
    ):
        assert refused(*arguments) == f"there is no file {absent}; check the name"
