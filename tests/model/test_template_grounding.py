import json
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive_templates import Naive

from walkstep.data.sequences import Sequences
from walkstep.model import Domain
from walkstep.model.grounding import Grounding
from walkstep.model.language import parse_condition, parse_model
from walkstep.model.notation import LanguageError
from walkstep.model.score import features_of
from walkstep.model.templates import Site, Template, linear_chain, second_order_chain, skip_chain

TAG, CHUNK = Domain("tag", ("O", "B", "I")), Domain("chunk", ("NP", "VP"))
words = st.sampled_from(["Ada", "ada", "the", "The", "Of", "of", "7", "B-52", "x", "Émile"])


@st.composite
def corpora(draw):
    sentences = draw(st.lists(st.lists(words, min_size=1, max_size=6), min_size=1, max_size=6))
    documents = sorted(draw(st.lists(st.integers(0, 2), min_size=len(sentences), max_size=len(sentences))))
    pos = [[draw(st.sampled_from(["NN", "VB"])) for _ in sentence] for sentence in sentences]
    return Sequences.from_lists(sentences, columns={"pos": pos}, documents=documents)


def grounded_by_name(grounding, graph):
    """Every factor of each block: its scope, and its features by name."""
    made = {name: [] for name in grounding.block_names}
    layout = grounding.layout
    blocks = {block.offset: block.name for block in layout if block.size}
    names = {name: grounding.feature_names(name) for name in blocks.values()}
    for f in range(graph.n_factors):
        block = blocks[int(graph.factor_weight[f])]
        scope = graph.factor_variables[graph.factor_ptr[f] : graph.factor_ptr[f + 1]]
        seen = [names[block][row] for row, _ in features_of(graph, f)]
        assert len(set(seen)) == len(seen)
        made[block].append((tuple(scope.tolist()), frozenset(seen)))
    return made


def check_against_naive(model, corpus, domains=(TAG,)):
    grounding = Grounding(model, keep_names=True)
    graph, layout = grounding.fit_ground(corpus, *domains)
    naive = Naive(corpus, domains)
    expected = {name: [] for name in grounding.block_names}
    for name, template in zip(grounding.block_names, model, strict=True):
        expected[name] += naive.factors(template)
    assert grounded_by_name(grounding, graph) == expected
    assert graph.n_weights == layout.size
    again, _ = grounding.ground(corpus)
    assert_same_graph(graph, again)


def assert_same_graph(one, other):
    for name, mine, others in zip(one._fields, one, other, strict=True):
        np.testing.assert_array_equal(mine, others, err_msg=name)


MODEL = """
emission: tag[i] ~ word[i], lower[i-1] & lower[i], prefix(2)[i+1], bag(lower)[i-2 .. i-1], is_capital[i] bias
transition: tag[i-1] tag[i]
tag[i-1] tag[i] ~ word[i], pos[i-1]
tag[i-2] tag[i] ~ word[i], pos[i-1]
second: tag[i-2] tag[i-1] tag[i] ~ lower[i] where pos[i] == "NN" or first[i-2]
shared: chunk[i] tag[i+1] where not is_capital[i]
chunk[i] ~ shape[i]
"""


@given(corpora())
def test_grounding_matches_its_slow_twin(corpus):
    check_against_naive(parse_model(MODEL), corpus, (TAG, CHUNK))


@pytest.mark.parametrize("options", ["", "all pairs", "within sentence", "all pairs within sentence"])
@pytest.mark.parametrize(
    "condition",
    [
        "lower[i] == lower[j] and is_capital[i] and is_capital[j]",
        "lower[j] == lower[i]",
        "word[i] == lower[j]",
        "lower[i-1] == lower[j-1] and pos[i] == pos[j]",
        "prefix(2)[i] == suffix(2)[j+1]",
        "is_capital[i] == is_capital[j] and first[i+1] != first[j]",
        "lower[i] != lower[j]",
        "not (lower[i] == lower[j] or pos[i] != pos[j])",
        "lower[i] == lower[j] or pos[j-1] == pos[i]",
        "j - i <= 3",
        "j - i < 4 and j - i >= 2 and j - i != 3",
        "j - i == 2 and pos[i] == pos[j]",
        "j - i > 2 and lower[i] == lower[j] and not same_sentence(i, j)",
        "same_sentence(i, j) and length[i] >= 3 and length[j] < 3",
        'pos[i] == "NN" and pos[j] != "NN" and length[i] == 3',
        "same_sentence(j, i) and lower[i] == lower[j]",
    ],
)
def test_skip_edges_match_the_quadratic_twin(condition, options):
    rng = np.random.default_rng(0)
    vocabulary = ["Ada", "ada", "the", "The", "of", "7", "abab"]
    lengths = rng.integers(1, 8, 12)
    sentences = [rng.choice(vocabulary, n).tolist() for n in lengths]
    pos = [rng.choice(["NN", "VB"], n).tolist() for n in lengths]
    corpus = Sequences.from_lists(sentences, columns={"pos": pos}, documents=[0] * 5 + [1] * 6 + [2])
    text = f"tag[i]\nskip: tag[i] tag[j] where {condition} {options}\n"
    text += f"tag[i-1] tag[i] tag[j-1] ~ lower[i], word[j-1], lower[j] where {condition} {options}\n"
    text += f"tag[i+1] tag[j] ~ pos[j] where {condition} {options}"
    check_against_naive(parse_model(text), corpus)


def test_long_ranges_are_looked_at_piece_by_piece(monkeypatch):
    monkeypatch.setattr("walkstep.model.pairs._CHUNK", 7)
    corpus = Sequences.from_lists([list("abcabcaab")] * 3, documents=[0, 0, 1])
    check_against_naive(parse_model("tag[i] tag[j] where word[i] != word[j] all pairs"), corpus)
    check_against_naive(parse_model("tag[i] tag[j] where word[i] == word[j] all pairs"), corpus)


@given(corpora())
def test_text_and_objects_give_the_same_graph(corpus):
    text = """
    emission: tag[i] ~ word[i], lower[i-1] bias
    transition: tag[i-1] tag[i] ~ word[i] bias
    skip: tag[i] tag[j] where lower[i] == lower[j] and is_capital[i] and is_capital[j]"""
    objects = skip_chain(["word", "lower[-1]"], edge_features=["word"])
    assert parse_model(text) == objects
    graphs = [Grounding(model).fit_ground(corpus, TAG) for model in (parse_model(text), objects)]
    assert_same_graph(graphs[0][0], graphs[1][0])
    assert graphs[0][1] == graphs[1][1]


def test_templates_of_one_name_share_weights():
    corpus = Sequences.from_lists([["a", "b", "a", "b"]])
    graph, layout = Grounding(
        parse_model("near: tag[i-1] tag[i]\nnear: tag[i-2] tag[i]\ntag[i-1] tag[i]\ntag[i-1] tag[i]")
    ).fit_ground(corpus, TAG)
    assert [(block.name, block.size) for block in layout] == [
        ("near", 9),
        ("tag[i-1] tag[i]", 9),
        ("tag[i-1] tag[i] (2)", 9),
    ]
    assert graph.factor_weight.tolist() == [0] * 5 + [9] * 3 + [18] * 3


@pytest.mark.parametrize(
    ("second", "what"),
    [
        ("near: tag[i-1] chunk[i]", "variables"),
        ("near: tag[i]", "variables"),
        ("near: tag[i-1] tag[i] ~ word[i]", "features"),
        ("near: tag[i] tag[j] ~ word[j] where j - i == 1 bias", "features at j"),
    ],
)
def test_templates_of_one_name_must_have_one_shape(second, what):
    with pytest.raises(LanguageError, match=f"line 2, column 1: two templates are called 'near' .* differ in {what};"):
        Grounding(parse_model(f"near: tag[i-1] tag[i]\n{second}"))


def test_equal_lists_of_features_share_one_matrix():
    grounding = Grounding(parse_model("tag[i] ~ word[i]\ntag[i-1] tag[i] ~ word[i]\ntag[i] ~ lower[i]"))
    factors = grounding.fit(Sequences.from_lists([["a", "b"]]), TAG).factors(Sequences.from_lists([["a", "b"]]))
    assert factors[0].features is factors[1].features
    assert factors[0].features is not factors[2].features


def test_the_layout_stays_on_new_data_with_unseen_words():
    grounding = Grounding(skip_chain(["lower", "shape[-1]"]), keep_names=True)
    _, layout = grounding.fit_ground(Sequences.from_lists([["Ada", "met", "Bob"], ["Hi"]]), TAG)
    new = Sequences.from_lists([["Zoe", "met"], ["Zoe"]], documents=[0, 0])
    graph, again = grounding.ground(new)
    assert again is layout
    assert grounded_by_name(grounding, graph) == {
        "emission": [
            ((0,), {"shape[-1]=<start-1>", "bias"}),
            ((1,), {"lower=met", "shape[-1]=Xxx", "bias"}),
            ((2,), {"shape[-1]=<start-1>", "bias"}),
        ],
        "transition": [((0, 1), {"bias"})],
        "skip": [((0, 2), {"bias"})],
    }


def test_templates_that_make_nothing_keep_their_weights():
    grounding = Grounding(second_order_chain(["word"]))
    graph, layout = grounding.fit_ground(Sequences.from_lists([["Ada"]]), TAG)
    assert graph.n_factors == 1
    assert layout["second_order"].size == 27
    assert grounding.ground(Sequences.from_lists([["Ada", "met", "Bob"]]))[0].n_factors == 6


def test_default_features_join_those_that_are_named():
    corpus = Sequences.from_lists([["Ada", "met"]], columns={"pos": [["NN", "VB"]]})
    both = Grounding(parse_model("tag[i] ~ word[i], default, pos[i-1]"), keep_names=True).fit(corpus, TAG)
    names = both.feature_names("tag[i]")
    assert {"pos[-1]=NN", "word=Ada", "lower[-1]=ada"} <= set(names)
    assert len(set(names)) == len(names)
    with pytest.raises(ValueError, match="trained with the column 'pos', and this data has no further columns; add it"):
        both.ground(Sequences.from_lists([["Ada"]]))


STATEFUL = """
emission: tag[i] ~ default, shout[i], gazetteer[i], cluster(2)[i] where not (loud[i] and pos[i] == "X")
chunk[i] tag[i] ~ bag(lower)[i-1 .. i+1] where gazetteer[i] == "U-names" or cluster(2)[i] == "01" or length[i] > 2
skip: tag[i] tag[j] ~ word[i], lower[i-1] & lower[i], word[j] where lower[i] == lower[j] all pairs at most 99 pairs
"""


def test_state_goes_through_json_and_plain_arrays():
    corpus = Sequences.from_lists(
        [["Ada", "met", "ada"], ["Bob", "!"]], columns={"pos": [["N", "V", "N"], ["N", "X"]]}, documents=[0, 0]
    )
    functions = {"shout": str.upper, "loud": lambda word: ["yes"] if word.isupper() else []}
    grounding = Grounding(
        parse_model(STATEFUL),
        gazetteers={"names": ["Ada"]},
        clusters={"met": "0110", "Bob": "10"},
        functions=functions,
        keep_names=True,
    )
    graph, layout = grounding.fit_ground(corpus, TAG, CHUNK)
    with pytest.raises(ValueError, match="function 'shout' cannot be saved; pass without_functions=True"):
        grounding.state()
    description, arrays = grounding.state(without_functions=True)
    assert all(array.dtype.kind in "iuf" for array in arrays.values())
    description = json.loads(json.dumps(description))
    with pytest.raises(ValueError, match="this model uses your function 'shout'; pass functions="):
        Grounding.from_state(description, arrays)
    loaded = Grounding.from_state(description, arrays, functions=functions)
    assert loaded.templates == grounding.templates
    assert loaded.domains == (TAG, CHUNK)
    assert loaded.layout == layout
    assert_same_graph(loaded.ground(corpus)[0], graph)
    assert loaded.feature_names("skip") == grounding.feature_names("skip")
    description["templates"][0]["is"] = "Popen"
    with pytest.raises(ValueError, match="the saved model has a part 'Popen', unknown here"):
        Grounding.from_state(description, arrays, functions=functions)
    description["templates"][0] = {"is": "Site", "shell": True}
    with pytest.raises(ValueError, match="the saved model has a damaged part 'Site'"):
        Grounding.from_state(description, arrays, functions=functions)


def test_state_of_a_model_without_features():
    corpus = Sequences.from_lists([["Ada", "met"]])
    grounding = Grounding(parse_model("tag[i-1] tag[i]")).fit(corpus, TAG)
    assert_same_graph(Grounding.from_state(*grounding.state()).ground(corpus)[0], grounding.ground(corpus)[0])


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        ("a: tag[i]\nb: tag[i] ~ word[i], pso[i-1]", 2, 22, "unknown feature 'pso'; did you mean 'pos'?"),
        ("tag[i] where lowr[i-1] == lower[i]", 1, 14, "unknown feature 'lowr'; did you mean 'lower'?"),
        ("tag[i] where pos[i]", 1, 14, "'pos' is not a matter of yes or no"),
        ("tag[i-1] tga[i]", 1, 10, "unknown variable 'tga'; did you mean 'tag'?"),
        ("tag[i] ~ word[i], cluster(4)[i]", 1, 19, "'cluster' needs clusters; pass clusters="),
        ("tag[i] where gazetteer[i]", 1, 14, "'gazetteer' needs lists; pass gazetteers="),
        (
            "x: tag[i]\ns: tag[i] tag[j] where word[i] == word[j] all pairs at most 5 pairs",
            2,
            1,
            "template 's' joins 6 pairs of positions or more, and its limit is 5; limit the distance in its condition, "
            "as in j - i <= 50; or leave out 'all pairs' to join each position to the next one only; "
            "or allow more, as in: at most 6 pairs",
        ),
        ("tag[i] tag[j] where word[i] == word[j] at most 2 pairs", 1, 1, "joins 3 pairs of positions or more"),
        ("tag[i] tag[j] where word[i] != word[j] at most 0 pairs", 1, 1, "max_pairs=0"),
    ],
)
def test_errors_at_fitting_point_at_the_text(text, line, column, message):
    corpus = Sequences.from_lists([["a", "a", "a", "a"]], columns={"pos": [["N"] * 4]})
    with pytest.raises(LanguageError) as caught:
        Grounding(parse_model(text)).fit_ground(corpus, TAG)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert message in caught.value.message


@pytest.mark.parametrize("options", ["", "all pairs"])
def test_pairs_that_cannot_be_sorted_are_limited(options):
    corpus = Sequences.from_lists([["a"] * 30])
    model = parse_model(f"tag[i] tag[j] where word[i] != word[j] {options} at most 1 pairs")
    with pytest.raises(LanguageError, match=r"would have to look at .* ask for something equal at i and j"):
        Grounding(model).fit_ground(corpus, TAG)


def test_all_pairs_that_survive_are_limited():
    corpus = Sequences.from_lists([list("abab")])
    model = parse_model("tag[i] tag[j] where word[i] != word[j] all pairs at most 3 pairs")
    with pytest.raises(LanguageError, match="joins 4 pairs of positions or more, and its limit is 3"):
        Grounding(model).fit_ground(corpus, TAG)


def test_errors_of_python_templates_name_the_template():
    corpus = Sequences.from_lists([["a"]])
    with pytest.raises(ValueError, match="template 'emission': unknown feature 'wrod'; did you mean 'word'"):
        Grounding(linear_chain(["wrod"])).fit(corpus, TAG)
    with pytest.raises(ValueError, match="template 'emission': unknown variable 'tag'; There are: chunk"):
        Grounding(linear_chain(["word"])).fit(corpus, CHUNK)
    with pytest.raises(ValueError, match="two domains are called 'tag'"):
        Grounding(linear_chain(["word"])).fit(corpus, TAG, TAG)
    with pytest.raises(ValueError, match="the model has no templates"):
        Grounding(())


def test_a_function_of_several_values_joins_nothing():
    model = parse_model("tag[i] tag[j] where letters[i] == letters[j]")
    with pytest.raises(ValueError, match="'letters' gives several values for one token"):
        Grounding(model, functions={"letters": list}).fit_ground(Sequences.from_lists([["ab", "b"]]), TAG)


def test_grounding_wants_fitting_tokens_and_known_blocks():
    grounding = Grounding(linear_chain(["word"]))
    corpus = Sequences.from_lists([["a"]])
    with pytest.raises(ValueError, match="not fitted; call fit or fit_ground"):
        grounding.ground(corpus)
    with pytest.raises(ValueError, match="there are no tokens; give at least one sentence"):
        grounding.fit(Sequences.from_lists([]), TAG)
    with pytest.raises(KeyError, match="no weights are called 'skip'; there are \\['emission', 'transition'\\]"):
        grounding.fit(corpus, TAG).feature_names("skip")


def test_python_conditions_may_be_read_from_text():
    where = parse_condition('pos[i] == "NN"')
    assert Template((Site("tag"),), where=where) == parse_model('tag[i] where pos[i] == "NN"')[0]


@pytest.mark.slow
def test_a_million_factors_ground_in_seconds():
    rng = np.random.default_rng(0)
    lengths = rng.integers(1, 40, 20_000)
    sentences = [[f"W{k}" for k in rng.zipf(1.3, n).clip(max=50_000).tolist()] for n in lengths]
    corpus = Sequences.from_lists(sentences, documents=[s // 20 for s in range(len(sentences))])
    model = skip_chain(["word", "lower[-1]", "suffix(3)"], edge_features=["word"])
    Grounding(model).fit_ground(Sequences.from_lists([["warm", "up"]]), TAG)
    start = time.perf_counter()
    graph, _ = Grounding(model).fit_ground(corpus, TAG)
    seconds = time.perf_counter() - start
    assert graph.n_factors > 1_000_000
    assert seconds < 8
