"""What predicted step times are worth beside measured ones: pairs (predicted, measured) of several plans."""
from statistics import median

WITHIN = .1


def good(pairs):
    """How many are within WITHIN."""
    return sum(abs(predicted / measured - 1) <= WITHIN for predicted, measured in pairs)


def at_one_pace(pairs):
    """A note: how many would be, were all predictions longer or shorter by one factor, and that factor: a machine takes other times in one minute than in another, and kernels
    are measured minutes before the steps."""
    if not pairs:
        return ""
    pace = median(measured / predicted for predicted, measured in pairs)
    return f"; {good([(pace * predicted, measured) for predicted, measured in pairs])} were they all {pace:.2f} times as long"


def kendall(pairs):
    """Tau-b's numerator over all pairs that differ in both: 1 where the orders agree."""
    agree = differ = 0
    for at, (a, b) in enumerate(pairs):
        for c, d in pairs[at + 1:]:
            sign = (a - c) * (b - d)
            agree, differ = agree + (sign > 0), differ + (sign < 0)
    return (agree - differ) / max(1, agree + differ)
