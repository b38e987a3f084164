"""examples/transfer-learning: it reaches its figure inside its budget."""
from example import TrainingExample, main


class TransferLearning(TrainingExample):
    name, needs = "transfer-learning", {"fashion": True}

    def test_it_reaches_its_figure_inside_its_budget(self):
        self.check()


if __name__ == "__main__":
    main()
