"""examples/product-ratings: a model file of NNTrainer reaches its figure inside its budget."""
import os

from example import TrainingExample, main


class ProductRatings(TrainingExample):
    name = "product-ratings"

    def test_it_reaches_its_figure_inside_its_budget(self):
        self.check()
        parameters = 200 * 12 + 150 * 12 + 24 * 64 + 64 + 64 * 32 + 32 + 32 + 1
        self.assertEqual(os.path.getsize(self.path("my run", "trained.bin")), 3 * 4 * parameters + len("adam") + 8)  # weights and two moments; epoch, iteration


if __name__ == "__main__":
    main()
