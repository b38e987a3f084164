"""Every board that a firmware can be emitted for: start, stack, memory guard, storage, budget, counting."""
import os
import shutil
import subprocess
import tempfile
import unittest

import workshop

ABSENT = workshop.missing_tools()
GUARD_HIT, BUS, USAGE, HARD, STACK = 70, 71, 72, 73, 74
WRITE, READ, EXECUTE, OVERFLOW, UNDEFINED = 1, 2, 3, 4, 5
SURVIVE, BEYOND, NO_STORAGE, FAILING = 1, 2, 3, 4
BLOCKS = 512  # the fewest that QEMU's card can tell


def setUpModule():
    if ABSENT:
        raise unittest.SkipTest(f"not on this machine: {ABSENT}")
    OnEveryBoard.folder = tempfile.mkdtemp()
    unittest.addModuleCleanup(shutil.rmtree, OnEveryBoard.folder)
    OnEveryBoard.shop = workshop.Workshop(OnEveryBoard.folder)
    OnEveryBoard.boards = workshop.read_boards()


class OnEveryBoard(unittest.TestCase):
    folder, shop, boards = None, None, []

    def board(self, name):
        return next(board for board in self.boards if board.name == name)

    def disk(self, name, count=BLOCKS):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as file:
            file.truncate(count * 512)
        return path


class Start(OnEveryBoard):
    def test_console_exit_code_data_and_fpu(self):
        for board in self.boards:
            with self.subTest(board.name):
                self.assertEqual(self.shop.run(board, self.shop.link(board, "answer.c")), (42, "hello board\n"))

    def test_stack_mark_grows_with_the_depth(self):
        for board in self.boards:
            with self.subTest(board.name):
                self.assertEqual(self.shop.run(board, self.shop.link(board, "stack.c"))[0], 0)


class Guard(OnEveryBoard):
    def act(self, board, act, target=0, ram_size=None):
        return self.shop.run(board, self.shop.link(board, "guard.c", ram_size, act=act, target=target))

    def test_the_budget_ends_at_its_last_byte(self):
        for board in self.boards:
            with self.subTest(board.name):
                for size in [board.ram_bytes, board.ram_bytes // 2 + 32, 4096 - 32]:
                    if size < board.ram_bytes and not board.guard:
                        continue
                    end = board.ram_origin + size
                    code, text = self.act(board, WRITE, end, size)
                    self.assertEqual(code, GUARD_HIT if board.guard else HARD, text)
                    told = f"MemManage, address 0x{end:08x}, cause" if board.guard else "HardFault"
                    self.assertIn("last byte\nfault: " + told, text)

    def test_budgets_of_every_shape(self):
        board = self.board("mps2-an385")
        for size in [3 << 20 | 0xFFE0, 1 << 20 | 32, 0x2AAAA0, 0x155540, 352 << 10, 4096 + 96]:
            with self.subTest(size):
                code, text = self.act(board, READ, board.ram_origin + size, size)
                self.assertEqual((code, text[:16]), (GUARD_HIT, "last byte\nfault:"))

    def test_other_accesses_that_nothing_good_makes(self):
        for board in self.boards:
            with self.subTest(board.name):
                hit = GUARD_HIT if board.guard else HARD
                self.assertEqual(self.act(board, WRITE, board.rom_origin)[0], hit)
                self.assertEqual(self.act(board, WRITE, board.ram_origin - 1)[0], hit)
                self.assertEqual(self.act(board, EXECUTE, board.ram_origin)[0], hit)
                self.assertEqual(self.act(board, UNDEFINED)[0], USAGE if board.guard else HARD)
                self.assertEqual(self.act(board, OVERFLOW)[0], STACK)

    def test_a_device_that_is_not_there(self):
        for board in [board for board in self.boards if board.machine.startswith("mps")]:
            with self.subTest(board.name):
                code, text = self.act(board, READ, 0x5F000000)
                self.assertEqual(code, BUS)
                self.assertIn("fault: BusFault, address 0x5f000000", text)


class Storage(OnEveryBoard):
    def act(self, board, act, *defines, count=BLOCKS, disk="storage.img"):
        elf = self.shop.link(board, "storage.c", None, defines, act=act, expected_blocks=count)
        card = ["-drive", f"if=sd,format=raw,file={disk}"] if disk and board.storage == "sd" else []
        return self.shop.run(board, elf, *card)

    def test_blocks_survive_a_restart(self):
        for board in self.boards:
            with self.subTest(board.name):
                self.disk("storage.img")
                self.assertEqual(self.act(board, SURVIVE), (0, "new\n"))
                self.assertEqual(self.act(board, SURVIVE), (0, "found\n"))
                self.assertEqual(self.act(board, BEYOND), (0, ""))
                self.assertEqual(os.path.getsize(os.path.join(self.folder, "storage.img")), BLOCKS * 512)

    def test_the_card_with_checksums_and_of_both_kinds(self):
        for board in [board for board in self.boards if board.storage == "sd"]:
            with self.subTest(board.name):
                for count in [BLOCKS, 8 << 20]:
                    self.disk("card.img", count)
                    for told in ["new\n", "found\n"]:
                        result = self.act(board, SURVIVE, "-DSD_CRC=1", count=count, disk="card.img")
                        self.assertEqual(result, (0, told))

    def test_no_storage_is_told(self):
        os.remove(self.disk("storage.img"))
        for board in self.boards:
            with self.subTest(board.name):
                self.assertEqual(self.act(board, NO_STORAGE, disk=None)[0], 0)

    def test_the_fifth_block_fails_when_told_to(self):
        for board in [board for board in self.boards if board.name in ("mps2-an386", "microbit", "lm3s6965evb")]:
            with self.subTest(board.name):
                self.disk("storage.img")
                self.assertEqual(self.act(board, FAILING, "-DBOARD_FAIL_AFTER_WRITES=5")[0], 0)


class Budget(OnEveryBoard):
    def test_what_does_not_fit_does_not_link(self):
        for board in self.boards:
            with self.subTest(board.name):
                fixed = workshop.STACK_BYTES
                good = self.shop.link(board, "arena.c", None, [f"-DARENA_BYTES={8192 - fixed}"], RAM_SIZE=8192)
                self.assertEqual(self.shop.run(board, good)[0], 0)
                bad = self.shop.link(board, "arena.c", None, [f"-DARENA_BYTES={8192 - fixed + 16}"], RAM_SIZE=8192)
                self.assertIn("region `RAM' overflowed by 16 bytes", bad)

    def test_parameters_that_the_guard_cannot_hold_do_not_link(self):
        board = self.board("mps2-an386")
        define = ["-DARENA_BYTES=16"]
        self.assertIn("RAM_SIZE must be a multiple of 32", self.shop.link(board, "arena.c", 8200, define))
        self.assertIn("RAM_ORIGIN must be aligned",
                      self.shop.link(board, "arena.c", 8192, define, RAM_ORIGIN=board.ram_origin + 4096))
        self.assertIn("STACK_SIZE must be", self.shop.link(board, "arena.c", 8192, define, STACK_SIZE=1028))


class Counts(OnEveryBoard):
    def count(self, board, elf, *more, options=""):
        with open(os.path.join(self.folder, "symbols"), "w", encoding="ascii") as file:
            subprocess.run(["arm-none-eabi-nm", "-nS", elf], stdout=file, check=True)
        code, _ = self.shop.run(board, elf, "-plugin", f"{self.plugin()},symbols=symbols,out=counts{options}", *more)
        self.assertEqual(code, 0)
        with open(os.path.join(self.folder, "counts"), encoding="ascii") as file:
            lines = [line.rsplit(" ", 1) for line in file if not line.startswith("#")]
        return {name: int(count) for name, count in lines}, [int(count) for _, count in lines]

    def plugin(self):
        path = os.path.join(self.folder, "count.so")
        source = os.path.join(workshop.ROOT, "src", "emit", "count", "count.c")
        if not os.path.exists(path):
            subprocess.run(["gcc", "-O2", *workshop.WARNINGS, "-shared", "-fPIC", "-fvisibility=hidden", source, "-o",
                            path], check=True)
        return path


class Counting(Counts):
    def test_instructions_are_counted_exactly(self):
        for board in self.boards:
            with self.subTest(board.name):
                elf = self.shop.link(board, "loop.c")
                for more in [], ["-icount", "shift=0"]:
                    counts, column = self.count(board, elf, *more)
                    self.assertEqual((counts["loop_once"], counts["loop_store"]), (20 * 3002, 402))
                    self.assertEqual(sum(column[:-1]), counts["total"])
                    self.assertEqual(column[:-1], sorted(column[:-1], reverse=True))
                    self.assertNotIn("(elsewhere)", counts)

    def test_stores_to_a_device_are_counted_once(self):
        board = self.board("lm3s6965evb")
        elf = self.shop.link(board, "loop.c", None, ["-DDEVICE=0x40007000"])
        for more in [], ["-icount", "shift=0"]:
            self.assertEqual(self.count(board, elf, *more)[0]["loop_store"], 2 * 402)


class Kernels(Counts):
    def turns(self, board, turns):
        """(whole turns, instructions of them all, {kernel: (instructions, calls)})"""
        with open(os.path.join(self.folder, "kernels"), "w", encoding="ascii") as file:
            file.write("kernel_a\nkernel_b\n")
        elf = self.shop.link(board, "turns.c", None, [f"-DTURNS={turns}"])
        self.count(board, elf, options=",kernels=kernels,caller=interpret,turn=turn")
        with open(os.path.join(self.folder, "counts"), encoding="ascii") as file:
            rows = [line.split() for line in file if line.startswith("#")]
        self.assertEqual([row[0] for row in rows], ["#turns", *["#kernel"] * (len(rows) - 1)])
        return int(rows[0][1]), int(rows[0][2]), {name: (int(count), int(calls)) for _, name, count, calls in rows[1:]}

    def test_a_kernel_has_what_it_calls_and_whole_turns_alone_count(self):
        for board in self.boards:
            with self.subTest(board.name):
                some, more = self.turns(board, 4), self.turns(board, 7)
                self.assertEqual((some[0], some[2]), (3, {"kernel_a": (3 * 8, 3), "kernel_b": (6 * 11, 6)}))
                self.assertEqual((more[0], more[2]), (6, {"kernel_a": (6 * 8, 6), "kernel_b": (12 * 11, 12)}))
                self.assertEqual(2 * some[1], more[1])
                self.assertGreater(some[1], 3 * (8 + 2 * 11))

    def test_one_entry_is_no_whole_turn(self):
        self.assertEqual(self.turns(self.boards[0], 1), (0, 0, {}))

    def test_a_function_that_is_not_there_is_told(self):
        board = self.boards[0]
        with self.assertRaises(AssertionError):
            self.count(board, self.shop.link(board, "turns.c"), options=",kernels=symbols,caller=interpret,turn=nothing")


class Here(OnEveryBoard):
    def project(self, *names):
        return [os.path.join(workshop.PROJECT, name) for name in names]

    def test_the_driver_of_cards_tells_every_failure(self):
        for checks in 0, 1:
            options = [f"-DSD_CRC={checks}", "-DSD_POLLS=5000u", "-fsanitize=address,undefined",
                       "-fno-sanitize-recover=all"]
            self.assertEqual(self.shop.run_here("sd_model.c", self.project("sd_spi.c", "sd_crc.c"), options), (0, ""))

    def test_linux_as_a_board(self):
        sources = self.project("posix.c", "fail_writes.c")
        place = {"PT_STORAGE": self.disk("here.img")}
        for act, told in (SURVIVE, "new\n"), (SURVIVE, "found\n"), (BEYOND, ""):
            self.assertEqual(self.shop.run_here("storage.c", sources, (), place, act=act, expected_blocks=BLOCKS),
                             (0, told))
        place = {"PT_STORAGE": self.disk("here.img")}
        self.assertEqual(self.shop.run_here("storage.c", sources, ["-DBOARD_FAIL_AFTER_WRITES=5"], place, act=FAILING,
                                            expected_blocks=BLOCKS)[0], 0)
        self.assertEqual(self.shop.run_here("storage.c", sources, (), {"PT_STORAGE": "/nowhere"}, act=NO_STORAGE,
                                            expected_blocks=BLOCKS)[0], 0)

    def test_a_disk_in_memory(self):
        sources = [os.path.join(workshop.PROGRAMS, "ram_board.c"), *self.project("ram_disk.c", "fail_writes.c")]
        for act, first in (SURVIVE, 1000), (BEYOND, 1000), (FAILING, 5):
            self.assertEqual(self.shop.run_here("storage.c", sources, [f"-DBOARD_FAIL_AFTER_WRITES={first}"], None,
                                                act=act, expected_blocks=128)[0], 0)


if __name__ == "__main__":
    unittest.main()
