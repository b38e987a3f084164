"""examples/multi-input: a model file of NNTrainer with two inputs reaches its figure inside its budget."""
from example import Example, main


class MultiInput(Example):
    name = "multi-input"

    def test_it_reaches_its_figure_inside_its_budget(self):
        said, events = self.run_example()
        self.assertRegex(said, r"(?m)^RAM [\d.]+ KiB, in a budget of 148\.0 KiB; without a plan [\d.]+ KiB: good$")
        self.check_figure(events[-1], self.readme())
        self.check_files("trained.safetensors", "plan.json")


if __name__ == "__main__":
    main()
