"""Why a plan costs what it costs: the parts add up to the whole, whatever the pager."""
import json
import pathlib
import unittest

from house import House, m4_costgraph

KEYS = {"name", "device", "objective", "energy_source", "time_source", "binds", "peak", "time", "energy", "recomputed", "paged", "streamed", "slices", "transfers", "next_bytes", "unplanned"}


class Explain(House):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.graph, cls.peak = m4_costgraph(cls.folder)

    def plan(self, name, percent, *more, **pager):
        """A plan at so many percent of the unplanned peak, with a pager of another kind."""
        graph = json.loads(pathlib.Path(self.graph).read_text())
        graph["device"]["pager"].update({key: value for key, value in pager.items() if key != "idle_w"})
        graph["device"]["idle_w"] = pager.get("idle_w", 0.0)
        bare, out = self.path(f"{name}.json"), self.path(f"{name}.plan.json")
        pathlib.Path(bare).write_text(json.dumps(graph))
        self.succeed("plan", "--costgraph", bare, "--ram", f"{self.peak * percent // 100}B", "--effort", 2, "-o", out, *more)
        return out

    def explain(self, plan, *more):
        return json.loads(self.succeed("explain", plan, "--effort", 1, "--format", "json", *more).stdout)

    def check_sums(self, path):
        why, plan = self.explain(path), json.loads(pathlib.Path(path).read_text())
        self.assertEqual(set(why), KEYS)
        time, energy, transfers = why["time"], why["energy"], why["transfers"]
        near = time["makespan_s"] * 1e-9
        self.assertAlmostEqual(time["stall_s"], time["makespan_s"] - time["compute_s"], delta=near)
        self.assertAlmostEqual(time["stall_s"], sum(one["stall_s"] for one in transfers), delta=near)
        self.assertAlmostEqual(time["makespan_s"], plan["predicted"]["time_s"], delta=near)
        self.assertAlmostEqual(energy["total_j"], sum(energy[part] for part in ("first_j", "again_j", "paging_j", "idle_j")), delta=energy["total_j"] * 1e-9)
        self.assertAlmostEqual(energy["total_j"], plan["predicted"]["energy_j"], delta=energy["total_j"] * 1e-9)
        self.assertAlmostEqual(energy["again_j"], sum(one["energy_j"] for one in why["recomputed"]), delta=energy["total_j"] * 1e-9)
        self.assertAlmostEqual(energy["paging_j"], sum(one["energy_j"] for one in why["paged"]), delta=energy["total_j"] * 1e-9)
        self.assertEqual(why["peak"]["bytes"], sum(one["bytes"] for one in why["peak"]["holds"]))
        self.assertEqual(why["peak"]["bytes"], plan["predicted"]["peak_bytes"])
        for kind in ("page_in", "page_out"):
            self.assertEqual(sum(one["direction"] == kind[5:] for one in transfers), sum(step["do"] == kind for step in plan["instructions"]))
        for one in transfers:
            self.assertLessEqual(one["issue_s"], one["begin_s"])
            self.assertAlmostEqual(one["hidden_s"], sum(part["seconds"] for part in one["computes"]), delta=near)
            self.assertLessEqual(one["hidden_s"], one["end_s"] - one["begin_s"] + near)
        values = [one["energy_j"] for one in why["next_bytes"]]
        self.assertEqual(sorted(values, reverse=True), values)
        self.assertLessEqual(values[0], energy["total_j"])
        return why

    def test_the_parts_add_up(self):
        why = self.check_sums(self.plan("async", 60))
        self.assertEqual([one["what"] for one in why["binds"]], ["ram"])
        self.assertEqual([one["more"] for one in why["next_bytes"]], [0.0, 0.01, 0.05, 0.1])
        self.assertGreater(len(why["transfers"]) + len(why["recomputed"]), 0)

    def test_the_parts_add_up_without_recomputing_two_ways_at_once_and_idle(self):
        self.assertGreater(self.check_sums(self.plan("duplex", 50, "--no-remat", duplex="full", idle_w=0.01))["energy"]["idle_j"], 0)

    def test_a_pager_that_blocks_hides_nothing(self):
        why = self.check_sums(self.plan("sync", 50, "--no-remat", mode="sync"))
        self.assertGreater(why["time"]["stall_s"], 0)
        self.assertEqual(sum(one["hidden_s"] for one in why["transfers"]), 0)

    def test_a_slow_pager_is_waited_for(self):
        link = {"latency_s": 0.001, "bytes_per_s": 1e5, "w": 0.001}
        why = self.check_sums(self.plan("slow", 50, "--no-remat", **{"in": link, "out": link}))
        self.assertGreater(why["time"]["stall_s"], 0)
        self.assertGreater(sum(one["hidden_s"] for one in why["transfers"]), 0)

    def test_nothing_binds_where_everything_fits(self):
        plan = self.plan("all", 110)
        why = self.check_sums(plan)
        self.assertEqual((why["binds"], why["transfers"], why["recomputed"]), ([], [], []))
        self.assertIn("binds      nothing", self.succeed("explain", plan).stdout)

    def test_a_deadline_that_costs_energy_binds(self):
        link = {"latency_s": 0.0, "bytes_per_s": 2e5, "w": 0.0001}  # slow, but cheap
        pager = {"in": link, "out": link}
        fast, late = self.plan("fast", 60, "--objective", "time", **pager), self.plan("late", 60, **pager)
        times = [self.explain(plan)["time"]["makespan_s"] for plan in (fast, late)]
        self.assertLess(times[0], times[1])
        why = self.explain(self.plan("soon", 60, "--deadline", f"{0.9 * times[0] + 0.1 * times[1]}s", "--warm-start", fast, **pager))
        self.assertIn("deadline", [one["what"] for one in why["binds"]])

    def test_text_names_every_part(self):
        text = self.succeed("explain", self.plan("text", 50, "--no-remat")).stdout
        for word in ("binds", "at peak", "time", "energy", "paged", "waits", "next bytes", "+10%"):
            self.assertIn(word, text)

    def test_refusals(self):
        self.refuse(3, "E0201", "explain", self.path("none.plan.json"))
        self.refuse(3, "E0230", "explain", self.graph)
        broken = json.loads(pathlib.Path(self.plan("broken", 60)).read_text())
        del broken["instructions"][0]
        pathlib.Path(self.path("broken.plan.json")).write_text(json.dumps(broken))
        self.refuse(8, "E0801", "explain", self.path("broken.plan.json"))


if __name__ == "__main__":
    unittest.main()
