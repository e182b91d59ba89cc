"""A way to run the command inside the test's own process, and files for it to work on."""

import pytest
from typer.testing import CliRunner

from walkstep.cli.main import app
from walkstep.data.demo import generate_news
from walkstep.data.readers.conll import write_conll


@pytest.fixture(scope="session")
def command():
    """Run ``walkstep`` with some arguments; the result has exit_code, stdout and stderr."""
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="session")
def news_file(tmp_path_factory):
    """Tagged news in two columns."""
    path = tmp_path_factory.mktemp("news") / "news.conll"
    news = generate_news(60, seed=0)
    write_conll(path, news, news.tags)
    return path


@pytest.fixture(scope="session")
def tagger_file(command, news_file):
    """A small trained tagger."""
    path = news_file.with_name("news.walk")
    result = command("fit", "tag", news_file, "--model", path, "--epochs", 2, "--features", "word,lower,shape", "-q")
    assert result.exit_code == 0, result.output
    return path
