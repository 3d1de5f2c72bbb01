"""The tables that flow through the house: frozen, checked once at the border, no input or output.

``NuggetQrels`` (topic, nugget, unit, grade) and ``Run`` (topic, unit, score) go in, ``Scores``
(run, topic, measure, value) come out; ``Answer`` and ``Judgment`` are where the first two come from.
Ids are numbered once; everything after that is arrays.
"""

from nuggeteval.data.answers import Answer, Judgment, Sentence, Unit, unit_of_run
from nuggeteval.data.documents import Document
from nuggeteval.data.nuggets import VIEWS, Nugget, NuggetBank, NuggetQrels, Scale
from nuggeteval.data.run import ORDERS, Run
from nuggeteval.data.scores import Leaderboard, ScoreRow, Scores, join_scores

__all__ = [
    "ORDERS",
    "VIEWS",
    "Answer",
    "Document",
    "Judgment",
    "Leaderboard",
    "Nugget",
    "NuggetBank",
    "NuggetQrels",
    "Run",
    "Scale",
    "ScoreRow",
    "Scores",
    "Sentence",
    "Unit",
    "join_scores",
    "unit_of_run",
]
