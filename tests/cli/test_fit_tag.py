import numpy as np
import pytest

from walkstep.apps.sequence_tagger import SequenceTagger
from walkstep.data.archive import load_archive
from walkstep.data.demo import generate_news
from walkstep.data.readers.conll import write_conll
from walkstep.learning.chain_likelihood import ChainLikelihood
from walkstep.learning.train import Trainer

pytestmark = pytest.mark.xdist_group("command")
SMALL = ("--epochs", 2, "--features", "word,lower,shape")


def test_results_go_to_stdout_and_progress_to_stderr(command, news_file, tmp_path):
    model = tmp_path / "ner.walk"
    result = command("fit", "tag", news_file, "--dev", news_file, "--model", model, *SMALL)
    assert result.exit_code == 0
    assert "trained on 60 sentences" in result.stdout
    assert "development F1 " in result.stdout
    assert f"saved {model} (" in result.stdout
    assert "epoch 2/2" in result.stderr
    assert "epoch" not in result.stdout.replace("epochs", "").replace("after epoch", "")


def test_quiet_is_quiet(command, news_file, tmp_path):
    result = command("fit", "tag", news_file, "--model", tmp_path / "ner.walk", *SMALL, "-q")
    assert (result.exit_code, result.stderr) == (0, "")


def test_the_same_seed_gives_the_same_model(command, news_file, tmp_path):
    for name in ("one.walk", "two.walk"):
        command("fit", "tag", news_file, "--model", tmp_path / name, *SMALL, "--seed", 3, "-q")
    (one, arrays), (two, twins) = (load_archive(tmp_path / name, "SequenceTagger") for name in ("one.walk", "two.walk"))
    assert one == two
    assert {name: array.tobytes() for name, array in arrays.items()} == {name: t.tobytes() for name, t in twins.items()}


def test_options_reach_the_tagger(command, news_file, tmp_path, monkeypatch):
    seen = {}

    def fit(self, corpus, *, dev):
        seen.update(self.get_params())
        raise ValueError("seen enough")

    monkeypatch.setattr(SequenceTagger, "fit", fit)
    four = tmp_path / "four.conll"
    four.write_text("Ada NNP B-NP B-PER\nleft VBD B-VP O\n")
    towns = tmp_path / "towns.txt"
    towns.write_text("Harlow\n")
    options = ["--templates", "skip-chain", "--gazetteer", f"towns={towns}", "--clusters", towns, "--learner", "cd-3"]
    options += ["--step", "mira", "--temperature", 0.5, "--scheme", "bilou", "--epochs", 7, "--threads", 2]
    options += ["--seed", 5, "--min-count", 2, "--signal", "span-f1", "--use-columns"]
    result = command("fit", "tag", four, "--model", tmp_path / "ner.walk", *options)
    assert "seen enough" in result.stderr
    wanted = {"templates": "skip-chain", "learner": "cd-3", "step": "mira", "rate": None, "temperature": 0.5}
    wanted |= {"scheme": "bilou", "n_epochs": 7, "n_threads": 2, "random_state": 5, "min_count": 2}
    wanted |= {"signal": "span-f1", "gazetteers": {"towns": towns}, "clusters": towns, "use_columns": True}
    assert {name: seen[name] for name in wanted} == wanted
    assert not (tmp_path / "ner.walk").exists()


def test_a_tagger_is_trained_by_likelihood(command, news_file, tmp_path):
    model = tmp_path / "ner.walk"
    options = ["--learner", "likelihood", "--l2", 2, "--l1", 0.1, "--features", "word,lower,shape"]
    result = command("fit", "tag", news_file, "--dev", news_file, "--model", model, *options, "--epochs", 7)
    assert result.exit_code == 0, result.stderr
    assert "7 epochs" in result.stdout
    assert ", after epoch " in result.stdout
    assert "epoch 7/7  loss " in result.stderr
    settings = SequenceTagger.load(model).get_params()
    assert (settings["learner"], settings["l2"], settings["l1"]) == ("likelihood", 2.0, 0.1)


def test_a_search_that_ends_early_is_no_interrupt(command, news_file, tmp_path):
    options = ["--learner", "likelihood", "--l2", 50, "--features", "word,shape"]
    result = command("fit", "tag", news_file, "--model", tmp_path / "ner.walk", *options)
    assert (result.exit_code, "interrupted" in result.stderr) == (0, False)
    assert " 100 epochs" not in result.stdout


def test_an_interrupt_keeps_the_last_iteration(command, news_file, tmp_path, monkeypatch):
    original = ChainLikelihood.__call__
    calls = []

    def call(self, weights):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return original(self, weights)

    monkeypatch.setattr(ChainLikelihood, "__call__", call)
    model = tmp_path / "ner.walk"
    options = ["--learner", "likelihood", "--features", "word,lower,shape"]
    result = command("fit", "tag", news_file, "--model", model, *options, "-q")
    assert result.exit_code == 130
    assert " of 100 epochs; " in result.stderr
    assert SequenceTagger.load(model).weights_.any()


def test_a_file_of_templates_is_read(command, news_file, tmp_path):
    spec = tmp_path / "model.spec"
    spec.write_text("emission: tag[i] ~ word[i], shape[i]\ntransition: tag[i-1] tag[i]\n")
    model = tmp_path / "ner.walk"
    result = command("fit", "tag", news_file, "--model", model, "--templates", spec, "--epochs", 1, "-q")
    assert result.exit_code == 0, result.stderr
    assert [template.name for template in SequenceTagger.load(model).grounding_.templates] == ["emission", "transition"]


def test_a_tagger_is_trained_by_risk(command, news_file, tmp_path):
    model = tmp_path / "ner.walk"
    by_risk = ["--learner", "risk", "--loss", "f1", "--inference", "max-product", "--templates", "skip-chain"]
    sizes = ["--rounds", 2, "--epochs", 2, "--first-epochs", 1, "--batch-size", 8, "--features", "lower,shape"]
    result = command("fit", "tag", news_file, "--model", model, *by_risk, *sizes)
    assert result.exit_code == 0, result.stderr
    assert "epoch 3/3  objective" in result.stderr
    assert "3 epochs" in result.stdout
    tagger = SequenceTagger.load(model)
    assert (tagger.learner, tagger.loss, tagger.inference, tagger.n_rounds) == ("risk", "f1", "max-product", 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--templates", "ring"], "--templates is 'ring', which is neither one of chain, skip-chain, second-order"),
        (["--gazetteer", "towns"], "--gazetteer is 'towns'; write NAME=FILE"),
        (["--gazetteer", "towns=none.txt"], "there is no file none.txt"),
        (["--learner", "magic"], "learner 'magic' is not known; choose one of samplerank"),
        (["--step", "mira", "--rate", "-1"], "rate is -1.0; give a positive number"),
        (["--step", "leap"], "'leap'"),
        (["--epochs", "0"], "--epochs is 0; give 1 or more"),
        (["--dev", "none.conll"], "there is no file none.conll"),
        (["--learner", "likelihood", "--l2", "-1"], "--l2 is -1.0; give 0 or more"),
        (["--learner", "likelihood", "--l1", "nan"], "--l1 is nan; give 0 or more"),
        (["--l1", "2"], "--l1 is 2.0, but learner 'samplerank' has no such penalty; use --l2"),
        (["--learner", "likelihood", "--step", "mira"], "--step is for learners that walk, and 'likelihood' does not"),
        (["--learner", "likelihood", "--signal", "span-f1"], "--signal is for learners that walk"),
        (["--loss", "f1"], "--loss is for learners by messages, but 'samplerank' walks; leave it out, or use risk"),
        (["--learner", "likelihood", "--rounds", 3], "--rounds is for learners by messages, but 'likelihood' is exact"),
        (["--learner", "svm", "--loss", "f1"], "--loss is for the learner risk, and 'svm' has one of its own"),
        (["--learner", "risk", "--inference", "sum"], "Invalid value for '--inference'"),
        (["--learner", "risk", "--batch-size", 0], "--batch-size is 0; give 1 or more"),
        (["--learner", "risk", "--temperature", 1], "--temperature is for learners that walk, and 'risk' does not"),
    ],
)
def test_impossible_options_are_refused_before_training(command, news_file, tmp_path, monkeypatch, options, message):
    monkeypatch.setattr(SequenceTagger, "fit", lambda *args, **kwargs: pytest.fail("training began"))
    result = command("fit", "tag", news_file, "--model", tmp_path / "ner.walk", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_the_training_data_is_not_overwritten(command, news_file):
    before = news_file.read_bytes()
    result = command("fit", "tag", news_file, "--model", news_file)
    assert result.exit_code == 2
    assert f"{news_file} is also an input, which would be overwritten; write elsewhere" in result.stderr
    assert news_file.read_bytes() == before


def test_an_interrupt_saves_what_was_learned(command, news_file, tmp_path, monkeypatch):
    original = Trainer.epoch

    def epoch(self):
        if len(self.epochs) == 2:
            raise KeyboardInterrupt
        return original(self)

    monkeypatch.setattr(Trainer, "epoch", epoch)
    model, twin = tmp_path / "ner.walk", tmp_path / "twin.walk"
    result = command("fit", "tag", news_file, "--model", model, "--features", "word,lower,shape", "-q")
    assert result.exit_code == 130
    assert f"interrupted after 2 of 10 epochs; {model} holds what was learned so far" in result.stderr
    assert f"saved {model}" in result.stdout
    monkeypatch.undo()
    command("fit", "tag", news_file, "--model", twin, *SMALL, "-q")
    np.testing.assert_array_equal(SequenceTagger.load(model).weights_, SequenceTagger.load(twin).weights_)


def test_an_interrupt_before_the_first_epoch_leaves_nothing(command, news_file, tmp_path, monkeypatch):
    def epoch(self):
        raise KeyboardInterrupt

    monkeypatch.setattr(Trainer, "epoch", epoch)
    result = command("fit", "tag", news_file, "--model", tmp_path / "ner.walk", *SMALL)
    assert result.exit_code == 130
    assert "interrupted; nothing was written" in result.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_keeps_the_old_model_and_no_draft(command, news_file, tmp_path, monkeypatch):
    model = tmp_path / "ner.walk"
    model.write_text("the old model")

    def fail(source, target):
        raise OSError(28, "No space left on device", str(target))

    monkeypatch.setattr("walkstep.data.archive.os.replace", fail)
    result = command("fit", "tag", news_file, "--model", model, *SMALL, "-q")
    assert result.exit_code == 2
    assert f"error: {model}: No space left on device" in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["ner.walk"]
    assert model.read_text() == "the old model"


def test_plain_text_can_be_tagged_unless_columns_are_used(command, tmp_path):
    news = generate_news(30, seed=0)
    four, raw = tmp_path / "four.conll", tmp_path / "raw.txt"
    columns = {"pos": ["X"] * news.n_tokens, "chunk": ["Y"] * news.n_tokens}
    write_conll(four, type(news)(news.tokens, news.sentence_ptr, news.document_ptr, columns), news.tags)
    raw.write_text("Ada Harlow left .\nNobody saw Mr. Brask there .\n")
    model = tmp_path / "ner.walk"
    command("fit", "tag", four, "--model", model, "--epochs", 1, "--use-columns", "-q")
    refused = command("predict", model, raw)
    assert refused.exit_code == 2
    assert "the model was trained with the column" in refused.stderr
    command("fit", "tag", four, "--model", model, "--epochs", 1, "-q")
    result = command("predict", model, raw)
    assert result.exit_code == 0, result.stderr
    assert [len(line.split()) for line in result.stdout.splitlines()] == [2, 2, 2, 2, 0, 2, 2, 2, 2, 2, 2]
