"""Tests that are not run under QEMU's user emulation, by their rooms: a name or a pattern, and the reason."""

SLOW = "takes minutes under emulation"
SEARCH = "plans random graphs by the thousand; the planner's code is the same on every processor"

LEFT_OUT = {
    "kernels": {
        "Winograd.GivesTheReferencesValues*": SLOW,
        "Update.EveryOptimizerFollowsDoubleToItsCoefficientsRounding": SLOW,
        "Parts.OfASumGiveTheBits*": SLOW,
    },
    "runtime": {},
    "host": {"PageCipher.ItsKeyIsInLockedMemoryThatIsInNoCoreFile": "it reads the flags of its mappings, and /proc/self/smaps is the emulator's"},
    "train": {},
    "check": {},
    "plan": {
        "EnginePlans.*": SEARCH,
        "EngineExhaustiveSearch.*": SEARCH,
        "ExhaustiveSearch.*": SEARCH,
        "WithoutARule.*": SEARCH,
        "Forged*": SEARCH,
        "Monotone.*": SEARCH,
        "AnyOrder.*": SEARCH,
        "PolicyOfPlan.*": SEARCH,
        "BranchAndBound.NeverBoundsAboveAPlanOfItsQuestion": SEARCH,
        "OtherProgram.*": SEARCH,
        "PlanSearch.FindsAPlanHoweverShortTheLimitWhereOneIsKnown": "its limits are of seconds",
        "MakePlan.*": "plans within limits of seconds, some by the thousand; the rows `plans ..` plan whole models",
    },
}

# `make aarch64-quick`: CI has less time.
QUICK_LEFT_OUT = {
    "kernels": {
        **LEFT_OUT["kernels"],
        "Update.BehindAProductToo": SLOW,
        "ProductEpilogues.*": SLOW,
        "ConvolutionEpilogues.*": SLOW,
        "Attention.GivesTheSameBitsInBlocksOfAnySizeOnAnyThreads": SLOW,
    },
    "runtime": {"Slices.HaveTheBitsOfTheWholeProduct": SLOW},
}
