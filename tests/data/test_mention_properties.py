import pytest

from walkstep.data.mention_properties import determiner, find_head, guess_gender, guess_number, mention_type


@pytest.mark.parametrize(
    ("text", "head"),
    [
        ("king", "king"),
        ("the old king", "king"),
        ("the king of Spain", "king"),
        ("the king , a tall man", "king"),
        ("the people who live here", "people"),
        ("an attorney connected with the firm", "attorney"),
        ("Lincoln 's Inn Hall", "Hall"),
        ("Lincoln 's", "Lincoln"),
        ("of course", "course"),
    ],
)
def test_heads_are_found_without_tags(text, head):
    words = text.split()
    assert words[find_head(words)] == head


@pytest.mark.parametrize(
    ("tagged", "head"),
    [
        ("the/DT old/JJ king/NN", "king"),
        ("the/DT king/NN of/IN Spain/NNP", "king"),
        ("Ada/NNP and/CC Otto/NNP", "Ada"),
        ("the/DT poor/JJ", "poor"),
        ("all/DT of/IN them/PRP", "all"),
        ("people/NNS waiting/VBG in/IN line/NN", "people"),
        ("quickly/RB done/VBN", "done"),
    ],
)
def test_heads_are_found_by_tags(tagged, head):
    words, tags = zip(*(token.split("/") for token in tagged.split()), strict=True)
    assert words[find_head(words, tags)] == head


def test_of_several_words_that_hang_outside_the_first_noun_is_the_head():
    assert find_head(["very", "old", "king"], ["RB", "JJ", "NN"], [-5, 7, 9]) == 2


def test_a_family_name_is_the_head_of_a_name_but_a_number_is_not():
    relations = ["nsubj", "flat", "punct", "flat"]
    assert find_head(["Ada", "Bell", "-", "Ross"], ["NNP", "NNP", "HYPH", "NNP"], [-1, 0, 3, 1], relations) == 3
    assert find_head(["Apollo", "11"], ["NNP", "CD"], [-1, 0], ["nsubj", "flat"]) == 0


def test_a_circle_of_dependencies_still_has_a_head():
    assert find_head(["a", "b"], None, [1, 0]) == 1


@pytest.mark.parametrize(
    ("words", "tags", "kind"),
    [
        (["he"], ["PRP"], "pronoun"),
        (["his"], ["PRP$"], "pronoun"),
        (["who"], ["WP"], "pronoun"),
        (["this"], ["DT"], "pronoun"),
        (["Spain"], ["NNP"], "proper"),
        (["roads"], ["NNS"], "common"),
        (["themselves"], None, "pronoun"),
        (["Spain"], None, "proper"),
        (["roads"], None, "common"),
    ],
)
def test_mention_types_follow_the_head(words, tags, kind):
    assert mention_type(words, 0, tags) == kind


def test_a_capital_tells_nothing_at_the_beginning_of_a_sentence():
    assert mention_type(["Roads"], 0, opens=True) == "common"


@pytest.mark.parametrize(
    ("text", "kind", "entity_type", "gender"),
    [
        ("he", "pronoun", "", "masculine"),
        ("Her", "pronoun", "", "feminine"),
        ("it", "pronoun", "", "neuter"),
        ("they", "pronoun", "", "unknown"),
        ("they", "pronoun", "ORG", "neuter"),
        ("Sir Harlow", "proper", "PER", "masculine"),
        ("Emma Harlow", "proper", "PER", "feminine"),
        ("George", "proper", "", "masculine"),
        ("Lady George", "proper", "", "feminine"),
        ("Victoria", "proper", "GPE", "neuter"),
        ("his mother", "common", "person", "feminine"),
        ("the King hotel", "common", "person", "unknown"),
        ("Lady Bay", "proper", "place", "neuter"),
    ],
)
def test_genders_are_told_by_pronouns_titles_and_nouns(text, kind, entity_type, gender):
    words = text.split()
    assert guess_gender(words, len(words) - 1, kind, entity_type) == gender


@pytest.mark.parametrize(
    ("text", "kind", "tag", "number"),
    [
        ("they", "pronoun", None, "plural"),
        ("I", "pronoun", None, "singular"),
        ("you", "pronoun", None, "unknown"),
        ("the sheep", "common", "NNS", "plural"),
        ("the news", "common", "NN", "singular"),
        ("two sheep", "common", None, "plural"),
        ("this class", "common", None, "singular"),
        ("old roads", "common", None, "plural"),
        ("the boss", "common", None, "singular"),
        ("people", "common", None, "plural"),
        ("Ada and Otto", "proper", None, "plural"),
        ("Jones", "proper", None, "singular"),
    ],
)
def test_numbers_are_told_by_pronouns_tags_determiners_and_endings(text, kind, tag, number):
    words = text.split()
    tags = None if tag is None else ["DT", tag]
    assert guess_number(words, len(words) - 1, kind, tags) == number


def test_and_inside_a_later_phrase_makes_no_plural():
    assert guess_number(["the", "bank", "of", "Ada", "and", "Otto"], 1, "common") == "singular"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("the", "none"), ("The king", "definite"), ("this", "demonstrative"), ("his", "none"), ("any king", "indefinite")],
)
def test_determiners_need_something_to_determine_unless_they_point(text, kind):
    assert determiner(text.split()) == kind
