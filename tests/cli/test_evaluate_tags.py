import json

import pytest

from walkstep.apps.sequence_tagger import SequenceTagger
from walkstep.data.readers.conll import read_conll

pytestmark = pytest.mark.xdist_group("command")


def test_the_table_and_the_json_say_what_the_tagger_says(command, tagger_file, news_file, tmp_path):
    scores = tmp_path / "scores.json"
    result = command("evaluate", tagger_file, news_file, "--json", scores)
    assert (result.exit_code, result.stderr) == (0, "")
    expected = SequenceTagger.load(tagger_file).evaluate(read_conll(news_file))
    assert result.stdout == expected.table() + "\n"
    assert json.loads(scores.read_text()) == expected.to_dict()


def test_a_missing_folder_is_refused(command, tagger_file, news_file, tmp_path):
    result = command("evaluate", tagger_file, news_file, "--json", tmp_path / "none" / "scores.json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "does not exist; create it" in result.stderr
