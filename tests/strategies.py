"""Random tables and runs for hypothesis."""

from hypothesis import strategies as st


@st.composite
def tables(draw, topics=3, nuggets=5, units=8, top=1, extra_units=4):
    """(judgments, run): dense enough to be interesting, scores distinct in 32 bits within a topic."""
    judgments, run = {}, {}
    grades = st.integers(-1 if top > 1 else 0, top)
    for topic in (f"t{number}" for number in range(draw(st.integers(1, topics)))):
        names = [f"d{number:02d}" for number in range(units)]
        for unit in draw(st.lists(st.sampled_from(names), min_size=1, unique=True)):
            chosen = draw(st.lists(st.integers(1, nuggets), min_size=1, max_size=nuggets, unique=True))
            for nugget in chosen:
                judgments[topic, f"n{nugget}", unit] = draw(grades)
        pool = [*names, *(f"x{number}" for number in range(extra_units))]
        retrieved = draw(st.lists(st.sampled_from(pool), unique=True))
        if retrieved:
            run[topic] = {unit: float(len(retrieved) - rank) for rank, unit in enumerate(retrieved)}
    if not run:
        topic = next(iter(judgments))[0]
        run[topic] = {"x0": 1.0}
    return judgments, run
