"""Ops on fewer threads, where further threads draw watts: what a plan takes, and which bits depend on it."""
import json
import unittest

from house import MODEL, House, make_data, tensors

DEVICE = """
name = "cores"
host = true
ram = "64MiB"
[compute]
flops_per_s = 1e9
bytes_per_s = 1e9
active_w = 2.0
core_w = {core}
"""
STEP = ("--batch", "4", "--ram", "8MiB", "--effort", "20", "--threads", "2")


class ThreadCounts(House):
    def device(self, core):
        path = self.path(f"cores-{core}.toml")
        with open(path, "w") as file:
            file.write(DEVICE.format(core=core))
        return path

    def plan(self, core, *more):
        """The numbers of threads that its ops take ("": all), and the plan's name."""
        path = self.path(f"{core}-{len(more)}-{more[-1]}.json")
        self.succeed("plan", MODEL, *STEP, "--device", self.device(core), "-o", path, *more)
        self.succeed("verify", path)
        with open(path) as file:
            plan = json.load(file)
        ops = {op["id"]: op for op in plan["graph"]["ops"]}
        return {ops[each["op"]]["choices"][each["choice"]]["algorithm"].partition("@")[2] for each in plan["instructions"] if each["do"] == "compute"}, path

    def test_watts_of_threads_decide(self):
        portable = ("--kernels", "portable", "--objective")
        self.assertEqual(self.plan(9.0, *portable, "energy")[0], {"1t"})
        self.assertEqual(self.plan(0.0, *portable, "energy")[0], {""})
        self.assertEqual(self.plan(9.0, *portable, "power")[0], {"1t"})
        self.assertIn("", self.plan(9.0, *portable, "time")[0])

    def test_portable_bits_do_not_depend_on_threads(self):
        data = make_data(self.path("data"), 16)
        trained = []
        for core in (0.0, 9.0):
            weights = self.path(f"{core}.safetensors")
            plan = self.plan(core, "--kernels", "portable", "--objective", "energy")[1]
            self.succeed("train", MODEL, *STEP, "--data", data, "--device", self.device(core), "--kernels", "portable", "--plan", plan, "-o", weights)
            trained.append(tensors(weights))
        self.assertTrue(trained[0])
        self.assertEqual(*trained)

    def test_a_back_end_on_fewer_threads_is_another_class(self):
        """Whose ops stay on all threads without --allow-numerics-change, and train with it."""
        data = make_data(self.path("data"), 16)
        kept, _ = self.plan(9.0, "--kernels", "auto", "--objective", "energy")
        changed, plan = self.plan(9.0, "--kernels", "auto", "--allow-numerics-change", "--objective", "energy")
        self.assertEqual(changed, {"1t"})
        self.assertTrue(kept in ({"", "1t"}, {"1t"}), kept)  # the second where there is no back end
        self.succeed("train", MODEL, *STEP, "--data", data, "--device", self.device(9.0), "--plan", plan, "-o", self.path("changed.safetensors"))


if __name__ == "__main__":
    unittest.main()
