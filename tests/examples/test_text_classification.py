"""examples/text-classification: it reaches its figure inside its budget."""
from example import TrainingExample, main


class TextClassification(TrainingExample):
    name = "text-classification"

    def test_it_reaches_its_figure_inside_its_budget(self):
        self.check()


if __name__ == "__main__":
    main()
