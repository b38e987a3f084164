"""Line charts as SVG, linear or logarithmic. Standard library only."""
import html
import math

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM, LINE = 560, 300, 70, 20, 34, 42, 16
COLOURS = ("#2266aa", "#dd8800", "#229955", "#bb2222", "#7744aa", "#886644", "#cc4499", "#777777", "#88aa00", "#0099aa")


def ticks(low, high):
    """Four to eight round numbers between the two."""
    rough = (high - low) / 6
    power = 10 ** math.floor(math.log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if rough <= factor * power * 1.0001)
    return [step * at for at in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def span(values):
    low, high = min(values), max(values)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def scaled(points, log):
    """`log` names the logarithmic axes ("x", "y", "xy"); points at or below 0 there are left out."""
    x_log, y_log = "x" in log, "y" in log
    return [(math.log10(x) if x_log else x, math.log10(y) if y_log else y) for x, y in points if (x > 0 or not x_log) and (y > 0 or not y_log)]


def chart(title, x_label, y_label, series, log=""):
    """series: [(label, [(x, y)], dashed)]. Returns (body, height)."""
    series = [(label, scaled(points, log), dashed) for label, points, dashed in series]
    points = [point for _, line, _ in series for point in line]
    body = [f"<text x='{LEFT}' y='18' class='title'>{html.escape(title)}</text>"]
    if not points:
        return "\n".join([*body, f"<text x='{LEFT}' y='60'>no plan</text>"]), HEIGHT
    (x_low, x_high), (y_low, y_high) = span([x for x, _ in points]), span([y for _, y in points])
    y_low, y_high = y_low - 0.04 * (y_high - y_low), y_high + 0.04 * (y_high - y_low)
    at_x = lambda x: LEFT + (x - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT)
    at_y = lambda y: HEIGHT - BOTTOM - (y - y_low) / (y_high - y_low) * (HEIGHT - TOP - BOTTOM)
    for tick in ticks(y_low, y_high):
        body.append(f"<line x1='{LEFT}' x2='{WIDTH - RIGHT}' y1='{at_y(tick):.1f}' y2='{at_y(tick):.1f}' class='grid'/>"
                    f"<text x='{LEFT - 6}' y='{at_y(tick) + 4:.1f}' class='y'>{10 ** tick if 'y' in log else tick:.3g}</text>")
    for tick in ticks(x_low, x_high):
        body.append(f"<text x='{at_x(tick):.1f}' y='{HEIGHT - BOTTOM + 16}' class='x'>{10 ** tick if 'x' in log else tick:.3g}</text>")
    body.append(f"<text x='{(LEFT + WIDTH) / 2}' y='{HEIGHT - 8}' class='x'>{html.escape(x_label)}</text>")
    body.append(f"<text x='14' y='{HEIGHT / 2}' class='x' transform='rotate(-90 14 {HEIGHT / 2})'>{html.escape(y_label)}</text>")
    labels = list(dict.fromkeys(label for label, _, _ in series))
    for label, line, dashed in series:
        colour = COLOURS[labels.index(label) % len(COLOURS)]
        path = "".join(f"{'L' if at else 'M'}{at_x(x):.1f} {at_y(y):.1f}" for at, (x, y) in enumerate(line))
        dashes = " stroke-dasharray='5 4'" if dashed else ""
        width = 4 if label == labels[0] and not dashed else 1.5  # below the others, and seen where they coincide
        body.append(f"<path d='{path}' fill='none' stroke='{colour}' stroke-width='{width}'{dashes}/>" if path else "")
        body += [f"<circle cx='{at_x(x):.1f}' cy='{at_y(y):.1f}' r='2' fill='{colour}'/>" for x, y in line if not dashed]
    for at, label in enumerate(labels):
        body.append(f"<text x='{LEFT}' y='{HEIGHT + LINE * (at + 0.7):.0f}' style='fill:{COLOURS[at % len(COLOURS)]}'>{html.escape(label)}</text>")
    return "\n".join(body), HEIGHT + LINE * (len(labels) + 1)


def page(rows):
    """Charts in rows and columns as one document."""
    body, top, wide = [], 0, max(len(row) for row in rows)
    for row in rows:
        for column, (drawn, _) in enumerate(row):
            body.append(f"<g transform='translate({column * WIDTH} {top})'>{drawn}</g>")
        top += max(height for _, height in row)
    style = ("text{font:12px system-ui,sans-serif;fill:#444}.title{font-weight:600;font-size:13px}.y{text-anchor:end}.x{text-anchor:middle}"
             ".grid{stroke:#ddd}")
    return (f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {wide * WIDTH} {top}' width='{wide * WIDTH}' height='{top}'>\n"
            f"<style>{style}</style>\n<rect width='100%' height='100%' fill='#fff'/>\n" + "\n".join(body) + "\n</svg>\n")
