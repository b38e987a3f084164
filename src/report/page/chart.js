'use strict';
// Reads values of a chart that stands in the page, in a wide and in a narrow picture: the pointer or the arrow keys move a line
// over the picture, and a card says what each series has there.
class ChartReader {
  // `tells`: gives further lines about an x; null: none.
  constructor(box, data, tells) {
    this.box = box;
    this.data = data;
    this.tells = tells;
    this.at = null;  // of the longest series' points: the one that the keys have reached
    this.longest = data.series.reduce((a, b) => b.points[0].length > a.length ? b.points[0] : a, []);
    this.card = add(box, 'div', {class: 'card', role: 'status'});
    this.card.hidden = true;
    for (const svg of box.querySelectorAll('svg')) this.listen(svg);
  }

  listen(svg) {
    const [left, right, top, bottom, first, last] = svg.dataset.frame.split(' ').map(Number);
    const line = draw(svg, 'line', {class: 'cross', y1: top, y2: bottom, visibility: 'hidden'});
    const scale = () => svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
    const read = value => {
      const x = Math.min(last, Math.max(first, value)), place = left + (x - first) / (last - first) * (right - left);
      for (const end of ['x1', 'x2']) line.setAttribute(end, place);
      line.setAttribute('visibility', 'visible');
      showCard(this.box, this.card, place * scale(), top * scale(), this.valuesAt(x));
    };
    const leave = () => {
      this.card.hidden = true;
      line.setAttribute('visibility', 'hidden');
      this.at = null;
    };
    svg.setAttribute('tabindex', 0);
    svg.setAttribute('aria-label', svg.getAttribute('aria-label') + '. Arrow keys read values.');
    // A finger that taps does not move; what it has found stays until the next tap elsewhere.
    for (const kind of ['pointerdown', 'pointermove'])
      svg.addEventListener(kind, event => {
        const inside = (event.clientX - svg.getBoundingClientRect().left) / scale();
        read(first + (inside - left) / (right - left) * (last - first));
      });
    svg.addEventListener('pointerleave', event => { if (event.pointerType !== 'touch') leave(); });
    svg.addEventListener('blur', leave);
    svg.addEventListener('keydown', event => {
      const move = {ArrowRight: 1, ArrowLeft: -1}[event.key], count = this.longest.length;
      if (event.key === 'Escape') leave();
      if (!move || count === 0) return;
      event.preventDefault();
      this.at = Math.min(count - 1, Math.max(0, (this.at ?? (move > 0 ? -1 : count)) + move));
      read(this.longest[this.at]);
    });
  }

  valuesAt(x) {
    const lines = [`${this.data.x}: ${showValue(x)}`];
    for (const series of this.data.series) {
      const value = this.valueOf(series, x);
      if (value !== undefined) lines.push(`${series.label}: ${showValue(value)}`);
    }
    return this.tells ? [...lines, ...this.tells(x)] : lines;
  }

  // The value of the last point at x or before it; of a line the nearest point's, of a bound the next one's.
  valueOf(series, x) {
    const xs = series.points[0];
    let low = 0, high = xs.length;
    while (low < high) { const middle = (low + high) >> 1; if (xs[middle] <= x) low = middle + 1; else high = middle; }
    let at = low - 1;
    if (series.shape === 'steps-back' && (at < 0 || xs[at] < x)) at += 1;
    if (series.shape === 'line' && at + 1 < xs.length && (at < 0 || xs[at + 1] - x < x - xs[at])) at += 1;
    return series.points[1][at];
  }
}
