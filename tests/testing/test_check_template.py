import itertools
from dataclasses import replace

import numpy as np
import pytest

from walkstep.data.sequences import Sequences
from walkstep.model import Compare, Domain, Site, Template, Value, linear_chain, skip_chain
from walkstep.model import score as slow_twin
from walkstep.model.plain import to_plain
from walkstep.testing import check_template

TAG, CHUNK = Domain("tag", ("O", "B", "I")), Domain("chunk", ("NP", "VP"))
CORPUS = Sequences.from_lists(
    [["Ada", "met", "Bob"], ["Bob", "slept"], ["Ada", "left"]],
    columns={"pos": [["N", "V", "N"], ["N", "V"], ["N", "V"]]},
    documents=[0, 0, 0],
)
EMISSION = Template((Site("tag"),), ("word", "pos[-1]"))  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("model", [EMISSION, linear_chain(edge_features=["word"]), skip_chain(["lower"], pairs="all")])
def test_ready_made_models_pass(model):
    check_template(model, CORPUS, TAG)


def test_templates_with_several_domains_functions_and_lists_pass():
    both = Template((Site("tag"), Site("chunk", offset=1)), ("reversed", "gazetteer"))  # pyright: ignore[reportArgumentType]
    functions = {"reversed": lambda word: word[::-1]}
    check_template(both, CORPUS, TAG, CHUNK, functions=functions, gazetteers={"people": ["Ada"]})


def test_a_function_that_forgets_what_it_said_fails():
    count = itertools.count()
    model = linear_chain(["lucky"])
    with pytest.raises(
        AssertionError, match=r"the graph has another \w+ when grounded again; let its functions depend"
    ):
        check_template(model, CORPUS, TAG, functions={"lucky": lambda word: str(next(count))})


def test_a_template_that_makes_nothing_fails():
    never = Template((Site("tag"),), where=Compare(Value("word"), "==", "nowhere"), name="never")
    with pytest.raises(AssertionError, match="template 'never' makes no factor on these 7 tokens; give data"):
        check_template([EMISSION, never], CORPUS, TAG)


def test_a_template_that_is_saved_as_another_fails(monkeypatch):
    monkeypatch.setattr("walkstep.model.grounding.to_plain", lambda template: to_plain(replace(template, bias=True)))
    with pytest.raises(AssertionError, match=r"template '.*' comes back from a file as '.* bias'"):
        check_template(EMISSION, CORPUS, TAG)


@pytest.mark.parametrize(("twin", "message"), [("statistics", "changes statistic"), ("score", "changes the score by")])
def test_scores_that_differ_from_the_slow_twin_fail(monkeypatch, twin, message):
    rng = np.random.default_rng(0)
    right = getattr(slow_twin, twin)
    monkeypatch.setattr(f"walkstep.testing.templates.{twin}", lambda *args: right(*args) + rng.normal())
    with pytest.raises(AssertionError, match=f"template 'tag\\[i\\]': variable .* {message} .* whole worlds differ"):
        check_template(EMISSION, CORPUS, TAG)
