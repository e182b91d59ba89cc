"""The reproduction of ConVote: its tables and scores on made-up debates, and a quick run of the real ones."""

import numpy as np
import pytest

from walkstep.data.catalogue import find
from walkstep.data.readers.convote import Debates, Reference, Speech
from walkstep.reproduce.erma_table1_convote import PAPER, accuracy, debate_tables, fit_scores, run


def made_up_debates(n_debates: int = 12, n_speakers: int = 6) -> Debates:
    """Yeas say good, nays say bad; everybody thanks one who votes alike and doubts one who does not."""
    rng = np.random.default_rng(0)
    speeches, references = [], []
    for d in range(n_debates):
        votes = ["Y" if i % 2 else "N" for i in range(n_speakers)]
        for i, vote in enumerate(votes):
            words = "good motion" if vote == "Y" else "bad motion"
            filler = " ".join(rng.choice(["the", "of", "we", "bill"], 3))
            stages = (1, 2, 3) if i else (1,)
            text = words if 3 in stages else None
            name = f"{d:03d}", f"4000{i:02d}"
            speeches.append(Speech("_".join(name), *name, vote, d, i, False, stages, text, f"{words} {filler}"))
            for j in (i - 1, i - 2):
                left = ("thank",) if votes[j] == vote else ("doubt",)
                target = f"4000{j % n_speakers:02d}"
                references.append(Reference(len(speeches) - 1, name[0], name[1], target, stages, left, ("sir",)))
        references.append(Reference(len(speeches) - 1, f"{d:03d}", "400001", "499999", (), (), ()))
    return Debates((), tuple(speeches), tuple(references))


def test_a_row_for_each_representative_and_a_link_for_each_reference_to_one_who_speaks():
    tables = debate_tables(made_up_debates(2))
    assert tables.items.height == 12
    assert tables.links.height == len(tables.contexts) == 24  # nobody speaks as 499999
    assert tables.items["n_speeches"].to_list()[:2] == [0, 1]  # the first is not in stage three
    assert tables.contexts[1] == "before:thank after:sir"
    assert set(tables.links["target"]) <= set(tables.items["id"])
    assert "party" not in tables.items.columns


def test_scores_of_training_debates_come_from_other_debates():
    train = debate_tables(made_up_debates())
    scored, scorer = fit_scores(train)
    votes = (scored.items["vote"] == "Y").to_numpy()
    assert ((scored.items["words"].to_numpy() > 0) == votes).all()
    again = scorer(train)
    # A regression that has seen a debate is surer of it.
    assert np.abs(again.items["words"].to_numpy()).mean() > np.abs(scored.items["words"].to_numpy()).mean()
    agrees = np.array(["thank" in context for context in train.contexts])
    assert ((scored.links["words around"].to_numpy() > scored.links["words around"].mean()) == agrees).all()


def test_accuracy_is_a_share_of_speeches():
    assert accuracy(np.array([3.0, 4.0])) == 0.75


@pytest.mark.real_data
@pytest.mark.slow
def test_a_quick_run_fills_the_table():
    try:
        find("convote")
    except (ValueError, OSError) as error:
        pytest.skip(str(error))
    result = run(0, quick=True)
    names = {row["row"] for row in result["rows"]}
    assert all(f"{training}, {inference}, development" in names for training, inference in PAPER)
    assert 50.0 < result["bars"][0]["ours"] <= 100.0
