"""Rows `layered`: random layered graphs without storage, for time, at shares of the given order's peak (MOCCASIN's questions).

A row holds where a valid plan comes in the limit, or a refusal whose file proves that there is none. Its figure is the plan's extra
time over the unplanned step. One more row counts the proved gaps below 1%.
"""
from planner_ask import LATE, Question, told

SIZES = (100, 250, 500, 1000)
SEEDS, SEEDS_LONG = (1, 2), (1, 2, 3, 4, 5)
SHARES = (0.9, 0.8)
LIMIT, LIMIT_LARGE = 60, 180  # s; from 1,000 ops
CLOSE = 0.01
GAPS = "layered: gaps below 1%"


def questions(asker, long):
    for size in SIZES:
        for seed in SEEDS_LONG if long else SEEDS:
            for share in SHARES:
                for order in ("given", "any") if long else ("given",):
                    limit = asker.limit(LIMIT_LARGE if size >= 1000 else LIMIT)
                    yield Question(f"layered {size} seed {seed} at {share:g}, {order} order", limit + LATE, _asking(asker, size, seed, share, order, limit))


def _asking(asker, size, seed, share, order, limit):
    def ask(table, raw):
        name = f"layered {size} seed {seed} at {share:g}, {order} order"
        graph = asker.graph(f"layered {size}", "bare", seed)
        ram = int(share * asker.peak(graph, "--no-reorder"))
        answer = asker.plan(graph, ram, limit, *(["--no-reorder"] if order == "given" else []), objective="time")
        raw[name] = {"ram_bytes": ram, **answer}
        late = answer["seconds"] > limit + LATE
        held = ("value" in answer or answer.get("refuted", False)) and not late
        table.add(name, answer.get("extra", 0.0), "", f"a plan, or a proof, in {limit} s", held, ("late; " if late else "") + told(answer))
    return ask


def summarise(table, raw):
    asked = [each for name, each in raw.items() if name.startswith("layered ")]
    planned = [each for each in asked if "gap" in each]
    if not asked:
        return
    close = sum(each["gap"] < CLOSE for each in planned) + sum(each.get("refuted", False) for each in asked)
    worst = f"worst gap {max(each['gap'] for each in planned):.2g}" if planned else "no plan"
    table.add(GAPS, close, "rows", f">= {(len(asked) + 1) // 2} of {len(asked)}", 2 * close >= len(asked), f"{worst}; {len(planned)} plans")
