"""examples/keyword-spotting: it reaches its figure on the board, in the board's RAM, with the bits of this machine."""
import re

from example import Example, main


class KeywordSpotting(Example):
    name, needs = "keyword-spotting", {"board": True}

    def test_it_reaches_its_figure_on_the_board(self):
        said, events = self.run_example()
        device, end = events[0], events[-1]
        self.assertEqual((device["event"], end["event"]), ("device", "end"))
        self.assertTrue(device["equal_bits"])
        self.assertLessEqual(device["ram_bytes"], device["ram_total_bytes"])
        self.assertEqual(device["ram_total_bytes"], 52 * 1024)
        self.assertEqual(device["ram_bytes"], device["arena_bytes"] + device["static_bytes"] + device["stack_bytes"])
        self.assertGreater(device["storage_written_bytes"], 0)
        self.check_unplanned(float(re.search(r"% of the unplanned (1\d\d\.\d) KiB\)", said).group(1)))
        losses = [event["loss"] for event in events if event["event"] == "step"]
        self.assertLess(losses[-1], 0.5 * losses[0])
        self.check_figure(end, self.readme())
        self.check_files("step.plan.json", "firmware/firmware.elf")


if __name__ == "__main__":
    main()
