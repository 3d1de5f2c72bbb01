"""Does another formula of small parts agree better with people than the judges lexical and hybrid do?

    python benchmarks/embedded_judge.py DATA

DATA is a folder with the files of CONE-RAG's ``resources`` (human labels, nuggets, responses) and, beside
them, ``alias_map.tsv``. Needs the extra embedded; no torch, no language model, no network.

The human labels of TREC iKAT 2024 are split by topic (the number before ``_`` of a turn): 0, 1, 6, 7 are
the training part, 8, 13, 14 the test part. The candidates below were written down before any was measured.
The one with the greatest kappa in the training part, each of its topics judged by a candidate that was
fitted on the others, is fitted on the whole training part and measured on the test part, once. A threshold
is always that at which as many training pairs are a yes as people say. The idf is of all nuggets, without
labels. The default thresholds of lexical and hybrid, and hybrid's formula, were chosen on labels of both
parts: their figures are in-sample.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nuggeteval.data import NuggetBank
from nuggeteval.formats.answers import read_answers
from nuggeteval.formats.labels import read_aliases, read_labels
from nuggeteval.formats.nuggets import read_bank
from nuggeteval.judges.hybrid import THRESHOLD, HybridJudge
from nuggeteval.judges.lexical import THRESHOLDS, LexicalJudge
from nuggeteval.models.encoders import TokenEncoder
from nuggeteval.stats.agreement import agreement
from nuggeteval.text import sentences, words

TRAIN = ("0", "1", "6", "7")
TEST = ("8", "13", "14")

LABELS = "human_resources/human-study-matching-labels.txt"
BANK = "human_resources/gold_nuggets_human.json"
RESPONSES = "participant_resources/automatic_responses.json"
ALIASES = "alias_map.tsv"

Array = npt.NDArray[np.float64]
Truth = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Features:
    """What a candidate may use of a pair.

    Attributes:
        recall, by_sentence, similar, lower, window: the terms of hybrid; by_sentence alone is lexical.
        grams: share of the distinct character 4-grams of the nugget's words that the response has.
        soft: mean best cosine of the nugget's word pieces to those of the response, weighted by idf.
        local: the greatest by_sentence of any three sentences in a row of the response, each three as a response.
    """

    recall: float
    by_sentence: float
    similar: float
    lower: float
    window: float
    grams: float
    soft: float
    local: float


NAMES = tuple(field.name for field in fields(Features))
HYBRID = ("recall", "by_sentence", "similar", "lower", "window")


@dataclass(frozen=True)
class Candidate:
    """A formula: the mean of some features, or a logistic regression on them."""

    name: str
    features: tuple[str, ...]
    trained: bool = False


CANDIDATES = (
    Candidate("lexical", ("by_sentence",)),
    Candidate("lexical + grams", ("by_sentence", "grams")),
    Candidate("soft", ("soft",)),
    Candidate("lexical + soft", ("by_sentence", "soft")),
    Candidate("local", ("local",)),
    Candidate("hybrid", HYBRID),
    Candidate("hybrid + grams", (*HYBRID, "grams")),
    Candidate("hybrid + local", (*HYBRID, "local")),
    Candidate("all eight", NAMES),
    Candidate("regression on two", ("by_sentence", "soft"), trained=True),
    Candidate("regression on three", ("by_sentence", "similar", "window"), trained=True),
    Candidate("regression on eight", NAMES, trained=True),
)


@dataclass(frozen=True)
class Fitted:
    """Yes where intercept + weights . features is at least the threshold."""

    weights: Array
    intercept: float
    threshold: float

    def verdicts(self, table: Array) -> Truth:
        """1 for yes, 0 for no."""
        return (table @ self.weights + self.intercept >= self.threshold).astype(np.int64)


@dataclass(frozen=True)
class Pairs:
    """All labelled pairs: topics (n,), features (n, 8), labels (n,) and verdicts of the judges (n,) each."""

    topics: npt.NDArray[np.str_]
    table: Array
    truth: Truth
    defaults: Mapping[str, Truth]

    def part(self, topics: Sequence[str]) -> Pairs:
        """The pairs of some topics."""
        rows = np.isin(self.topics, topics)
        defaults = {name: verdicts[rows] for name, verdicts in self.defaults.items()}
        return Pairs(self.topics[rows], self.table[rows], self.truth[rows], defaults)


class Reader:
    """Features of pairs of texts, with the idf of a bank."""

    def __init__(self, bank: NuggetBank) -> None:
        texts = bank.texts()
        self._encoder = TokenEncoder.load()
        self.lexical, self.hybrid = (
            LexicalJudge.of("responses", texts),
            HybridJudge.of("responses", texts, None, self._encoder),
        )
        self._counts = Counter(piece for text in texts for piece in set(self._encoder.pieces(text)))
        self._number = len(texts)

    def features(self, response: str, nugget: str) -> Features:
        """The features of a pair."""
        terms = self.hybrid.terms(response, nugget)
        mine, theirs = _grams(nugget), _grams(response)
        return Features(
            **asdict(terms),
            grams=len(mine & theirs) / len(mine) if mine else 0.0,
            soft=self._soft(response, nugget),
            local=max(self.lexical.score(run, nugget) for run in _windows(response)),
        )

    def _soft(self, response: str, nugget: str) -> float:
        [mine, *theirs] = self._encoder.encode([nugget, response, *sentences(response)])
        if not mine.tokens:
            return 0.0
        best = (mine.vectors @ np.concatenate([each.vectors for each in theirs]).T).max(axis=1)
        weights = [math.log((self._number + 1) / (self._counts[piece] + 1)) + 1e-6 for piece in mine.tokens]
        return float(np.average(best.astype(np.float64), weights=weights))


def _grams(text: str) -> set[str]:
    joined = f" {' '.join(words(text))} "
    return {joined[at : at + 4] for at in range(len(joined) - 3)}


def _windows(text: str) -> list[str]:
    parts = sentences(text) or [text]
    return [" ".join(parts[at : at + 3]) for at in range(max(1, len(parts) - 2))]


def read_pairs(folder: Path) -> Pairs:
    """All labelled pairs, in the order of the label file."""
    labels = read_labels(str(folder / LABELS), read_aliases(str(folder / ALIASES)))
    bank = read_bank(str(folder / BANK)).without_blank()
    nuggets = {(topic, nugget.id): nugget.text for topic, found in bank.nuggets.items() for nugget in found}
    responses = {(answer.run, answer.topic): answer.text for answer in read_answers(str(folder / RESPONSES))}
    reader = Reader(bank)
    # Pair after pair of one response, so that it is read once.
    texts = {key: (responses[key[:2]], nuggets[key[1:]]) for key in sorted(labels)}
    found = {key: reader.features(*pair) for key, pair in texts.items()}
    table = np.array([astuple(found[key]) for key in labels])
    lexical, hybrid = table[:, NAMES.index("by_sentence")], table[:, :5].mean(axis=1)
    return Pairs(
        topics=np.array([topic.split("_")[0] for _, topic, _ in labels]),
        table=table,
        truth=np.array(list(labels.values()), dtype=np.int64),
        defaults={
            "lexical": (lexical.round(6) >= THRESHOLDS["responses"]).astype(np.int64),
            "hybrid": (hybrid.round(6) >= THRESHOLD).astype(np.int64),
        },
    )


def fit(candidate: Candidate, pairs: Pairs) -> Fitted:
    """Weights for all eight features (0 for those that it does not use) and a threshold."""
    columns = [NAMES.index(name) for name in candidate.features]
    weights, intercept = np.zeros(len(NAMES)), 0.0
    if candidate.trained:
        weights[columns], intercept = _regression(pairs.table[:, columns], pairs.truth)
    else:
        weights[columns] = 1 / len(columns)
    scores = np.sort(pairs.table @ weights + intercept)
    at = len(scores) - int(pairs.truth.sum())
    return Fitted(weights, intercept, float(scores[at - 1] + scores[at]) / 2)


def _regression(table: Array, truth: Truth) -> tuple[Array, float]:
    """Logistic regression on standardised features, half the squared weights added to the loss; for raw features."""
    from scipy.optimize import minimize

    mean, spread = table.mean(axis=0), table.std(axis=0)
    standard, signs = (table - mean) / spread, 2 * truth - 1

    def loss(parameters: Array) -> float:
        margins = signs * (standard @ parameters[1:] + parameters[0])
        return float(np.logaddexp(0, -margins).sum() + (parameters[1:] ** 2).sum() / 2)

    found = minimize(loss, np.zeros(table.shape[1] + 1), method="L-BFGS-B").x
    weights = found[1:] / spread
    return weights, float(found[0] - weights @ mean)


def left_out_kappa(candidate: Candidate, pairs: Pairs) -> float:
    """Kappa where each topic is judged by the candidate as fitted on the others; all topics pooled."""
    verdicts = np.zeros_like(pairs.truth)
    topics = sorted(set(pairs.topics))
    for topic in topics:
        rest = fit(candidate, pairs.part([other for other in topics if other != topic]))
        rows = pairs.topics == topic
        verdicts[rows] = rest.verdicts(pairs.table[rows])
    return _kappa(verdicts, pairs.truth)


def _kappa(verdicts: Truth, truth: Truth) -> float:
    return agreement(verdicts.tolist(), truth.tolist()).kappa or 0.0


def choose(pairs: Pairs) -> Candidate:
    """Print all candidates; the best one, the first of equals."""
    kappas = {candidate: left_out_kappa(candidate, pairs) for candidate in CANDIDATES}
    best = max(kappas, key=lambda candidate: round(kappas[candidate], 9))
    print(f"{'candidate':<24} {'kappa, topic left out':>22}")
    for candidate, kappa in kappas.items():
        print(f"{candidate.name:<24} {kappa:>22.4f}{'  chosen' if candidate is best else ''}")
    return best


def show_formula(candidate: Candidate, fitted: Fitted) -> None:
    """Print the chosen formula with its numbers."""
    terms = [f"{fitted.weights[NAMES.index(name)]:+.4f} {name}" for name in candidate.features]
    constant = f" {fitted.intercept:+.4f}" if candidate.trained else ""
    print(f"\n{candidate.name}: yes where {' '.join(terms)}{constant} >= {fitted.threshold:.4f}")


def show_part(title: str, pairs: Pairs, fitted: Fitted) -> None:
    """Print how the judges and the chosen candidate agree with people."""
    print(f"\n{title}: n {len(pairs.truth)}, yes {pairs.truth.sum()}")
    print(f"  {'judge':<24} {'yes':>5} {'accuracy':>9} {'kappa':>8}")
    chosen = fitted.verdicts(pairs.table)
    for name, verdicts in {**pairs.defaults, "chosen": chosen}.items():
        accuracy = (verdicts == pairs.truth).mean()
        print(f"  {name:<24} {verdicts.sum():>5} {accuracy:>9.4f} {_kappa(verdicts, pairs.truth):>8.4f}")
    for name, verdicts in pairs.defaults.items():
        differ = verdicts != chosen
        print(
            f"  chosen and {name} differ on {differ.sum()}: chosen is right on {(chosen == pairs.truth)[differ].sum()}"
        )


def main() -> None:
    """Read, choose in the training part, measure on the test part."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", metavar="DATA", type=Path)
    pairs = read_pairs(parser.parse_args().data)
    train, test = pairs.part(TRAIN), pairs.part(TEST)
    best = choose(train)
    fitted = fit(best, train)
    show_formula(best, fitted)
    show_part("training part (all in-sample)", train, fitted)
    show_part("test part (lexical and hybrid in-sample, chosen not)", test, fitted)


if __name__ == "__main__":
    main()
