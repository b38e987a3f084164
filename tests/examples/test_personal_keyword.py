"""examples/personal-keyword: a head on a frozen backbone of an .ini file learns two words from sixteen sounds."""
from example import TrainingExample, main


class PersonalKeyword(TrainingExample):
    name = "personal-keyword"

    def test_it_reaches_its_figure_inside_its_budget(self):
        self.check()


if __name__ == "__main__":
    main()
