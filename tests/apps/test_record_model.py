"""Descriptions of tables, written down and read again."""

import json

import polars as pl

from walkstep.apps.record_model import RecordModel
from walkstep.model.partition_templates import Affinity, Aggregate, Size, Spread

TEMPLATES = [
    Affinity((("jaccard(title)", "exact(year)"),), comparators=("jaccard(title)",)),
    Aggregate("jaccard(title)", "min"),
    Size("mention"),
    Spread("year"),
]


def test_templates_come_back_from_a_description_as_they_were():
    frame = pl.DataFrame({"title": ["walks over graphs", "graphs", "walks"], "year": [1990, 1991, 1990]})
    model = RecordModel.choose(frame, templates=TEMPLATES)
    again = RecordModel.from_dict(json.loads(json.dumps(model.to_dict())))
    assert list(again.templates) == TEMPLATES
