"""examples/handmoji: a head on a frozen backbone of another file learns two symbols from ten drawings."""
from example import TrainingExample, main


class HandMoji(TrainingExample):
    name = "handmoji"

    def test_it_reaches_its_figure_inside_its_budget(self):
        self.check()
        accuracy = self.score()["accuracy"]
        self.assertGreaterEqual(accuracy, 0.95)
        self.check_said([f"{accuracy:.3f}"])


if __name__ == "__main__":
    main()
