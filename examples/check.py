#!/usr/bin/env python3
"""Checks what a run log says: it exits 1 where a figure is missed.

    python3 check.py run.jsonl test_accuracy ">=" 0.9 [plan.json]

Also held: RAM stayed inside the budget; for a training on this machine the budget is less than the step takes without a plan. plan.json is what
`pantoum plan --format json` printed of another step to compare with.
"""
import json
import sys

log, name, sign, limit, *other = sys.argv[1:]
with open(log, encoding="utf-8") as file:
    events = {event["event"]: event for event in map(json.loads, file)}
end, device = events["end"], events.get("device")
value, limit = end[name], float(limit)
good = value >= limit if sign == ">=" else value <= limit
print(f"{name} {value:.4f}, {sign} {limit} asked for: {'good' if good else 'MISSED'}")
if device:
    peak, budget = device["ram_bytes"], device["ram_total_bytes"]
    inside = peak <= budget and device["equal_bits"]
    print(f"RAM {peak / 1024:.1f} KiB with the stack, of {budget / 1024:.1f} KiB on {device['board']}: {'good' if inside else 'MISSED'}")
else:
    peak, budget, unplanned = (end[key] for key in ("arena_bytes", "budget_bytes", "unplanned_peak_bytes"))
    if other:
        with open(other[0], encoding="utf-8") as file:
            unplanned = json.load(file)["unplanned_peak_bytes"]
    inside = peak <= budget < unplanned
    print(f"RAM {peak / 1024:.1f} KiB, in a budget of {budget / 1024:.1f} KiB; without a plan {unplanned / 1024:.1f} KiB: {'good' if inside else 'MISSED'}")
sys.exit(0 if good and inside else 1)
