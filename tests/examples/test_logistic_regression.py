"""examples/logistic-regression: a model file of NNTrainer reaches its figure inside its budget."""
from example import Example, main


class LogisticRegression(Example):
    name = "logistic-regression"

    def test_it_reaches_its_figure_inside_its_budget(self):
        said, events = self.run_example()
        self.assertRegex(said, r"(?m)^RAM 3\.0 KiB, in a budget of 3\.0 KiB; without a plan [\d.]+ KiB: good$")
        self.check_figure(events[-1], self.readme())
        self.check_files("trained.safetensors", "plan.json")


if __name__ == "__main__":
    main()
