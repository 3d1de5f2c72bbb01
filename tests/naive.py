"""Slow, obvious implementations to compare with: dictionaries, loops, exact rational arithmetic.

A run is {topic: {unit: score}}, judgments are {(topic, nugget, unit): grade}.
"""

import math
from fractions import Fraction

TIE = Fraction(1, 10**9)


def ranking(scores):
    """Units by score descending, ties by id descending."""
    return sorted(scores, key=lambda unit: (scores[unit], unit.encode()), reverse=True)


def carried(judgments, topic, unit, rel=1):
    return sorted(n for (t, n, u), grade in judgments.items() if t == topic and u == unit and grade >= rel)


def units_of(judgments, topic):
    return {u for (t, _, u) in judgments if t == topic}


def alpha_gains(judgments, topic, units, alpha, rel=1):
    """Exact undiscounted gain at each rank."""
    seen, gains = {}, []
    for unit in units:
        gain = Fraction(0)
        for nugget in carried(judgments, topic, unit, rel):
            gain += (1 - alpha) ** seen.get(nugget, 0)
            seen[nugget] = seen.get(nugget, 0) + 1
        gains.append(gain)
    return gains


def ideal(judgments, topic, alpha, rel=1):
    """The greedy ideal ranking; gains within 1e-9 are tied, ties go to the largest id."""
    left, seen, order = units_of(judgments, topic), {}, []
    nuggets = {unit: carried(judgments, topic, unit, rel) for unit in left}
    while left:
        gains = {u: sum((1 - alpha) ** seen.get(n, 0) for n in nuggets[u]) for u in left}
        best = max(gains.values())
        pick = max((u for u in left if gains[u] >= best - TIE), key=str.encode)
        order.append(pick)
        left.remove(pick)
        for nugget in nuggets[pick]:
            seen[nugget] = seen.get(nugget, 0) + 1
    return order


def discounted(gains, cutoff):
    return math.fsum(float(gain) / math.log2(rank + 1) for rank, gain in enumerate(gains[:cutoff], start=1))


def alpha_ndcg(judgments, run, topic, alpha, cutoff=None, rel=1):
    best = discounted(alpha_gains(judgments, topic, ideal(judgments, topic, alpha, rel), alpha, rel), cutoff)
    mine = discounted(alpha_gains(judgments, topic, ranking(run.get(topic, {})), alpha, rel), cutoff)
    return mine / best if best else 0.0


def coverage(judgments, run, topic, cutoff=None, rel=1, supported_only=False):
    named = {n for (t, n, _), grade in judgments.items() if t == topic and (grade >= rel or not supported_only)}
    shown = {n for unit in ranking(run.get(topic, {}))[:cutoff] for n in carried(judgments, topic, unit, rel)}
    return len(shown) / len(named) if named else 0.0


def nugget_recall(judgments, units, topic, rel=1):
    """Conversational Gold, eq. 4 (and 6): gold nuggets with a unit that carries them."""
    gold = {n for (t, n, _) in judgments if t == topic}
    covered = [n for n in gold if any(judgments.get((topic, n, unit), 0) >= rel for unit in units)]
    return len(covered) / len(gold)


def nugget_precision(judgments, units, topic, rel=1):
    """Conversational Gold, eq. 5: units that carry some gold nugget."""
    gold = {n for (t, n, _) in judgments if t == topic}
    hits = [unit for unit in units if any(judgments.get((topic, n, unit), 0) >= rel for n in gold)]
    return len(hits) / len(units) if units else 0.0
