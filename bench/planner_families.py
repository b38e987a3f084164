"""Every family of synthetic steps on every device at several budgets, against every planner of the literature.

A row is one question. Pantoum and each baseline get the same time limit, the baselines two at a time on a core each; every
plan is replayed by the independent checker, whose figure counts. A gap of 0 is asked for: a baseline may be at the optimum. A baseline that does not apply (a method for chains, a model
too large for it), or finds no plan in the time, says so and is counted apart.
"""
import concurrent.futures
import re
import subprocess

from planner_ask import LATE, Question

DEVICES = ("m0", "m4", "a72", "jet")
SHARES = (0.6, 0.4, 0.3)
UNETS = ("unet 20", "unet 40", "unet 60")
OTHERS = ("resnet 8", "resnet 24", "transformer 4", "transformer 12", "chain 50", "chain 200")
ROUNDING = 1 + 1e-9  # energies are sums in another order


def questions(asker, seconds):
    """Of the long form; `seconds`: of each planner."""
    for words in (*UNETS, *OTHERS):
        for device in DEVICES:
            for share in SHARES:
                yield Question(f"family {words} {device} at {share:g}", 7 * (seconds + LATE), _asking(asker, words, device, share, seconds))


def _asking(asker, words, device, share, seconds):
    def ask(table, raw):
        graph = asker.graph(words, device)
        row(table, asker, graph, f"family {words} {device} at {share:g}", int(share * asker.peak(graph)), seconds, raw)
    return ask


def baselines(pantoum):
    refused = subprocess.run([pantoum, "plan", "--planner", "?"], capture_output=True, text=True).stderr
    names = re.split(r", | or ", re.search(r"help: use (.*)", refused).group(1))
    return [name for name in names if not name.startswith("pantoum")]


def row(table, asker, graph, name, ram, seconds, raw):
    def ask(planner, threads):
        return asker.plan(graph, ram, seconds, "--gap", "0%", "--threads", str(threads), "--planner", planner)

    names = baselines(asker.pantoum)
    answers = {"pantoum": ask("pantoum", 2)}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answers.update(zip(names, pool.map(lambda planner: ask(planner, 1), names)))
    raw[name] = {"ram_bytes": ram, "answers": answers}
    own, others = answers["pantoum"], {each: answers[each] for each in names if "energy_j" in answers[each]}
    inapplicable = sum(answers[each].get("code") == "E0304" for each in names)
    apart = f"{len(others)} baselines plan, {inapplicable} do not apply, {len(names) - len(others) - inapplicable} find none"
    broken = [each for each in answers if answers[each].get("failed")]
    if broken:
        apart += "; broken: " + ", ".join(f"{each} ({answers[each]['why'][:80]})" for each in broken)
    if "energy_j" not in own:
        least = answers["pantoum"].get("code") == "E0301" and not others
        return table.add(f"{name}: energy over the best baseline", 1.0, "", "<= 1", least and not broken, f"{own['why']}; {apart}")
    best = min(others, key=lambda each: others[each]["energy_j"], default=None)
    ratio = own["energy_j"] / others[best]["energy_j"] if best else 1.0
    table.add(f"{name}: energy over the best baseline", ratio, "", "<= 1", ratio <= ROUNDING and not broken,
              f"best {best or 'none'}; {apart}; {own['ops']} ops, proved gap {own['gap']:.2g}")


def summarise(table, _raw):
    rows = [row for row in table.rows if row["name"].startswith("family ") and not row["skipped"]]
    if rows:
        table.add("families: worst energy over the best baseline", max(row["value"] for row in rows), "", "<= 1", all(row["ok"] for row in rows),
                  f"{sum(row['ok'] for row in rows)} of {len(rows)} rows never worse; mean {sum(row['value'] for row in rows) / len(rows):.4f}")
