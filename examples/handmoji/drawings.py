"""Hand-drawn symbols: nobody drew them. A symbol is a few strokes; every drawing of it has other angles, sizes, places and trembles. Needs NumPy."""
import numpy as np

SIDE = 24


def symbol(draw):
    """The strokes of a new symbol: polygonal lines of 2 to 4 points in the unit square."""
    return [draw.uniform(0.1, 0.9, (draw.integers(2, 5), 2)) for _ in range(draw.integers(2, 4))]


def drawing(strokes, draw):
    """[SIDE, SIDE] from 0 to 1: one drawing of the symbol."""
    angle, (wide, high) = draw.normal(0, 0.15), draw.uniform(0.75, 1.1, 2)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) * [wide, high]
    shift, thick = draw.uniform(-0.07, 0.07, 2), draw.uniform(0.03, 0.05)
    rows = (np.arange(SIDE) + 0.5) / SIDE
    at = np.stack(np.meshgrid(rows, rows), -1)[:, :, None]
    picture = np.zeros((SIDE, SIDE))
    for stroke in strokes:
        points = (stroke + draw.normal(0, 0.025, stroke.shape) - 0.5) @ turn.T + 0.5 + shift
        begin, way = points[:-1], np.diff(points, axis=0)
        along = np.clip(((at - begin) * way).sum(-1) / np.maximum((way ** 2).sum(-1), 1e-9), 0, 1)
        distance = np.sqrt(((at - begin - along[..., None] * way) ** 2).sum(-1)).min(-1)
        picture = np.maximum(picture, np.exp(-(distance / thick) ** 2))
    return np.clip(picture + draw.normal(0, 0.05, picture.shape), 0, 1)


def drawings(symbols, each, draw):
    """[len(symbols) * each, SIDE, SIDE], one symbol behind the other, and the numbers of the symbols."""
    pictures = np.stack([drawing(strokes, draw) for strokes in symbols for _ in range(each)])
    return pictures.astype("<f4"), np.repeat(np.arange(len(symbols)), each)
