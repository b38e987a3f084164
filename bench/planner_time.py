"""Rows `time`: how soon the planner answers on two idle cores, and what it takes of them.

A reference question of up to 300 ops has a plan at 0.1 s, and one at 1 s that is within a thousandth of the best known (the table's or, in
the long form, that of 20 s). An answer is there soon after its proof. `--threads 1` takes one core. Large steps come to a proved gap in their limits.
"""
import resource
import statistics
import time

import planner_reference
from planner_ask import LATE, Question, told

FIRST_LIMITS, LIMIT_LONG = (0.1, 1), 20  # s
STRIDE = 3  # of the reference questions, each third in the short form
NEAR, MOST_OPS = 1e-3, 300
PROOFS, PROOF_TIMES, PROOF_LIMIT = 6, 5, 10
SOON = 0.05  # s: what writing may take, and starting and reading
CORES, CORES_LIMIT = 1.1, 8
HUGE = [("transformer 100", 0.5, 1e-3, 15), ("transformer 357", 0.5, 1e-3, 60)]
HUGE_LONG = [("transformer 72", 1e-3, 60), ("resnet 140", 1e-3, 60), ("chain 1000", 1e-3, 60), ("transformer 357", 2e-3, 180)]
WRITING = 5  # s of the question that are not the planner's: making and checking


def questions(asker, long):
    small = planner_reference.rows_of(asker, "small")
    limits = (*FIRST_LIMITS, LIMIT_LONG) if long else FIRST_LIMITS
    for kind, row in first_asked(asker, small, long):
        yield Question(_name("time first plan", kind, row), sum(limits) + LATE, _first(asker, kind, row, limits))
    for row in small[:PROOFS]:
        yield Question(_name("time answer after the proof", "small", row), PROOF_TIMES * PROOF_LIMIT / 5, _after_proof(asker, row))
    yield Question("time one thread", CORES_LIMIT + LATE, _one_thread(asker))
    large = HUGE + [(words, share, gap, limit) for words, gap, limit in HUGE_LONG if long for share in (0.5, 0.3)]
    for words, share, gap, limit in large:
        yield Question(f"time {words} at {share:g} in {limit} s", limit + WRITING, _huge(asker, words, share, gap, limit))


def first_asked(asker, small, long):
    sweep = [row for row in planner_reference.rows_of(asker, "sweep") if int(row["ops"]) <= MOST_OPS]
    yield from (("small", row) for row in (small if long else small[::STRIDE]))
    yield from (("sweep", row) for row in (sweep if long else sweep[::2 * STRIDE]))


def _name(what, kind, row):
    return planner_reference.label(kind, row).replace(f"reference {kind}", what)


def options_of(row):
    return (["--deadline", row["deadline_s"] + "s"] if row.get("deadline_s") else []) + (["--no-paging"] if row.get("paging") == "no" else [])


def _first(asker, kind, row, limits):
    def ask(table, raw):
        name = _name("time first plan", kind, row)
        graph = planner_reference.graph_of(asker, row)
        answers = [asker.plan(graph, row["ram_bytes"], asker.limit(limit), *options_of(row)) for limit in limits]
        raw[name] = {"limits_s": limits, "answers": answers}
        soonest, second, *last = (each.get("value") for each in answers)
        if second is None:
            return table.add(name, 1.0, "", f"<= {NEAR}", False, told(answers[1]))
        best = min(float(row["best_known_energy_j"]), *filter(None, [second, *last]))
        faults = [] if soonest is not None else [f"no plan at {FIRST_LIMITS[0]} s"]
        faults += [f"late at {limit} s" for limit, each in zip(FIRST_LIMITS, answers) if each["seconds"] > limit + 2 * SOON]
        note = f"{soonest / best - 1:.2g} over the best after {answers[0]['seconds']:.3f} s" if soonest is not None else told(answers[0])
        table.add(name, second / best - 1, "", f"<= {NEAR}, and a plan at {FIRST_LIMITS[0]} s", not faults and second <= best * (1 + NEAR),
                  "; ".join([*faults, note, "at 1 s: " + told(answers[1])]))
    return ask


def _after_proof(asker, row):
    """From the solver's own seconds to the process's end, less what starting and reading take."""
    def ask(table, raw):
        name = _name("time answer after the proof", "small", row)
        answers = [asker.plan(row["costgraph"], row["ram_bytes"], PROOF_LIMIT, *options_of(row)) for _ in range(PROOF_TIMES)]
        proved = [each["seconds"] - each["solver_s"] for each in answers if each.get("status") == "optimal"]
        starts = []
        for _ in range(PROOF_TIMES):
            begin = time.monotonic()
            said = asker.unplanned(row["costgraph"])
            starts.append(time.monotonic() - begin - said["seconds"])
        start = statistics.median(starts)
        raw[name] = {"answers": answers, "start_s": starts}
        if not proved:
            return table.add(name, 0.0, "s", "no proof", True, f"not proved to the default gap in {PROOF_LIMIT} s: nothing to hold; {told(answers[0])}")
        after = max(0.0, statistics.median(proved) - start)
        table.add(name, after, "s", f"<= {SOON}", after <= SOON, f"median of {len(proved)}, starting and reading {start * 1e3:.0f} ms apart; {told(answers[0])}")
    return ask


def _one_thread(asker):
    def ask(table, raw):
        graph = asker.graph("transformer 12")
        ram = int(0.5 * asker.peak(graph))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        answer = asker.plan(graph, ram, asker.limit(CORES_LIMIT), "--threads", "1", "--gap", "0%")
        wall = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cores = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / wall
        raw["time one thread"] = {"cores": cores, "answer": answer}
        table.add("time one thread", cores, "cores", f"<= {CORES}", cores <= CORES and "value" in answer, "--threads 1, its answer's check included; " + told(answer))
    return ask


def _huge(asker, words, share, gap, limit):
    def ask(table, raw):
        name = f"time {words} at {share:g} in {limit} s"
        graph = asker.graph(words)
        answer = asker.plan(graph, int(share * asker.peak(graph)), asker.limit(limit), "--gap", f"{gap:.6%}")
        raw[name] = answer
        late = answer["seconds"] > limit + LATE
        held = answer.get("gap", 1.0) <= gap and not late
        table.add(name, answer.get("gap", 1.0), "", f"gap <= {gap}", held, ("late; " if late else "") + told(answer))
    return ask
