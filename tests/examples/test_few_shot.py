"""examples/few-shot: symbols that no network has seen are told by the features of a frozen one."""
from example import Example, main

LEAST = {"simple_shot_1": 0.9, "simple_shot_5": 0.95, "knn": 0.95}


class FewShot(Example):
    name = "few-shot"

    def test_it_tells_new_symbols(self):
        self.run_script()
        score = self.score()
        for name, least in LEAST.items():
            self.assertGreaterEqual(score[name], least, name)
        self.check_said([f"{score[name]:.3f}" for name in LEAST])


if __name__ == "__main__":
    main()
