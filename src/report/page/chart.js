'use strict';
// A chart of two axes, drawn at the width that there is; the pointer or the arrow keys read its values.
class Chart {
  constructor(box, data) {
    this.box = box;
    this.data = data;
    this.at = null;
    this.card = add(box, 'div', {class: 'card', role: 'status'});
    this.card.hidden = true;
    this.render();
    new ResizeObserver(() => { if (box.clientWidth !== this.width) this.render(); }).observe(box);
  }

  render() {
    this.width = this.box.clientWidth;
    if (this.width === 0) return;
    if (this.svg) this.svg.remove();
    const narrow = this.width < 560;
    this.left = narrow ? 46 : 58;
    this.right = 18;
    this.top = 62;
    this.plot = narrow ? 190 : 250;
    this.svg = draw(this.box, 'svg', {class: 'chart', tabindex: 0, role: 'img', 'aria-label': this.data.title + '. Arrow keys read values.'});
    draw(this.svg, 'text', {class: 'title', x: 0, y: 16}, this.data.title);
    this.measure();
    this.drawBack(narrow);
    for (const [at, series] of this.data.series.entries()) this.drawSeries(series, this.shifts[at]);
    this.drawCrosses();
    this.drawRules();
    const height = this.drawLegend();
    this.svg.setAttribute('height', height);
    this.svg.setAttribute('viewBox', `0 0 ${this.width} ${height}`);
    this.listen();
  }

  measure() {
    const xs = [], ys = this.data.rules.map(rule => rule.y);
    for (const series of this.data.series) {
      for (const x of [...series.points[0], ...series.none]) xs.push(x);
      for (const y of series.points[1]) if (y !== null) ys.push(y);
    }
    for (const region of this.data.regions) xs.push(region.from, region.to);
    const least = list => list.reduce((a, b) => Math.min(a, b), Infinity), most = list => list.reduce((a, b) => Math.max(a, b), -Infinity);
    this.oneX = xs.length > 0 && least(xs) === most(xs);
    [this.xMin, this.xMax] = this.widen(xs.length ? least(xs) : 0, xs.length ? most(xs) : 1);
    let low = ys.length ? least(ys) : 0, high = ys.length ? most(ys) : 1;
    if (this.data.fromZero) low = Math.min(0, low);
    if (this.data.fromZero && high <= low) high = low + 1;
    [low, high] = this.widen(low, high);
    const room = (high - low) * 0.06;
    this.yMin = !this.data.fromZero || low < 0 ? low - room : low;
    this.yMax = high + room;
    this.shifts = this.data.series.map(() => 0);
    this.data.series.forEach((series, at) => this.data.series.slice(0, at).forEach((other, before) => {
      if (this.alike(series, other)) this.shifts[at] = Math.max(this.shifts[at], this.shifts[before] + 2.5);
    }));
  }

  // Lines that coincide in a third of their points are drawn beside each other.
  alike(one, other) {
    if (one.shape !== other.shape || one.points[0].length > 500) return false;
    const values = new Map(other.points[0].map((x, at) => [x, other.points[1][at]]));
    const same = one.points[0].filter((x, at) => values.has(x) && Math.abs(values.get(x) - one.points[1][at]) <= 1e-6 * Math.abs(one.points[1][at]));
    return one.points[0].length > 0 && same.length * 3 >= one.points[0].length;
  }

  widen(least, most) {
    if (most - least > 1e-12 * Math.max(Math.abs(least), Math.abs(most))) return [least, most];
    const half = most === 0 ? 0.5 : Math.abs(most) * 0.05;
    return [least - half, most + half];
  }

  x(value) { return this.left + (value - this.xMin) / (this.xMax - this.xMin) * (this.width - this.left - this.right); }
  y(value) {
    const inside = Math.min(this.yMax, Math.max(this.yMin, value));
    return this.top + this.plot - (inside - this.yMin) / (this.yMax - this.yMin) * this.plot;
  }

  drawBack(narrow) {
    const bottom = this.top + this.plot, end = this.width - this.right;
    for (const region of this.data.regions) {
      const from = this.x(region.from), wide = Math.max(0, this.x(region.to) - from);
      draw(this.svg, 'rect', {class: 'region' + (region.hatched ? ' hatched' : ''), x: from, y: this.top, width: wide, height: this.plot});
      for (let foot = from - this.plot + 14; region.hatched && foot < from + wide; foot += 14) {
        const start = Math.max(foot, from), end = Math.min(foot + this.plot, from + wide);
        draw(this.svg, 'line', {class: 'hatch', x1: start, x2: end, y1: bottom - (start - foot), y2: bottom - (end - foot)});
      }
      if (wide > region.label.length * 5.5 || region.hatched) draw(this.svg, 'text', {class: 'region', x: from + 4, y: this.top - 5}, region.label);
    }
    const rows = ticks(this.yMin, this.yMax, narrow ? 4 : 6), columns = ticks(this.xMin, this.xMax, narrow ? 4 : 9);
    for (const value of rows.values) {
      draw(this.svg, 'line', {class: 'grid', x1: this.left, x2: end, y1: this.y(value), y2: this.y(value)});
      draw(this.svg, 'text', {class: 'y', x: this.left - 7, y: this.y(value) + 4}, showTick(value, rows.step));
    }
    const near = (this.xMax - this.xMin) * (narrow ? 0.12 : 0.05), xs = this.oneX ? [(this.xMin + this.xMax) / 2] : columns.values;
    if (!this.oneX && (!xs.length || xs[0] - this.xMin > near)) xs.unshift(this.xMin);
    if (!this.oneX && this.xMax - xs[xs.length - 1] > near) xs.push(this.xMax);
    for (const value of xs) {
      draw(this.svg, 'line', {class: 'tick', x1: this.x(value), x2: this.x(value), y1: bottom, y2: bottom + 5});
      draw(this.svg, 'text', {class: 'x', x: this.x(value), y: bottom + 18}, showTick(value, columns.step));
    }
    draw(this.svg, 'line', {class: 'axis', x1: this.left, x2: end, y1: bottom, y2: bottom});
    draw(this.svg, 'text', {class: 'x', x: (this.left + end) / 2, y: bottom + 36}, this.data.x);
    draw(this.svg, 'text', {class: 'label', x: 0, y: 36}, this.data.y);
  }

  path(series, shift) {
    let path = '', start = 0, open = false, last = 0;
    series.points[0].forEach((value, at) => {
      if (series.points[1][at] === null) { open = false; return; }
      const x = this.x(value).toFixed(1), y = (this.y(series.points[1][at]) + shift).toFixed(1);
      if (!open) { path += `M${x} ${y}`; start = x; }
      else path += series.shape === 'line' ? `L${x} ${y}` : series.shape === 'steps-back' ? `V${y}H${x}` : `H${x}V${y}`;
      open = true;
      last = x;
    });
    return series.shape === 'area' && open ? `${path}V${this.y(Math.max(0, this.yMin))}H${start}Z` : path;
  }

  drawSeries(series, shift) {
    const path = this.path(series, shift);
    if (path === '') return;
    const shape = draw(this.svg, 'path', {class: (series.shape === 'area' ? 'area' : 'line') + ' s' + series.style, d: path});
    if (series.dashed) shape.setAttribute('stroke-dasharray', '6 4');
    if (!series.marked && series.points[0].length > 1) return;
    series.points[0].forEach((value, at) => {
      if (series.points[1][at] !== null) this.mark(this.x(value), this.y(series.points[1][at]) + shift, series.style);
    });
  }

  mark(x, y, style) {
    const look = {class: 'mark s' + style};
    if (style % 4 === 0) draw(this.svg, 'circle', {...look, cx: x, cy: y, r: 3.4});
    else if (style % 4 === 1) draw(this.svg, 'rect', {...look, x: x - 3.2, y: y - 3.2, width: 6.4, height: 6.4});
    else if (style % 4 === 2) draw(this.svg, 'polygon', {...look, points: `${x},${y - 4.6} ${x + 4.6},${y} ${x},${y + 4.6} ${x - 4.6},${y}`});
    else draw(this.svg, 'polygon', {...look, points: `${x},${y - 4.4} ${x + 4.4},${y + 3.6} ${x - 4.4},${y + 3.6}`});
  }

  // Where it is known that there is nothing: just above the axis, a row for each series.
  drawCrosses() {
    let y = this.top + this.plot - 9;
    for (const series of this.data.series) {
      for (const value of series.none) {
        const x = this.x(value), look = {class: 'cross-mark s' + series.style};
        draw(this.svg, 'polyline', {...look, points: `${x - 3.5},${y - 3.5} ${x + 3.5},${y + 3.5}`});
        draw(this.svg, 'polyline', {...look, points: `${x - 3.5},${y + 3.5} ${x + 3.5},${y - 3.5}`});
      }
      if (series.none.length) y -= 11;
    }
  }

  drawRules() {
    for (const rule of this.data.rules) {
      const y = this.y(rule.y), end = this.width - this.right;
      draw(this.svg, 'line', {class: 'rule s' + rule.style, x1: this.left, x2: end, y1: y, y2: y});
      draw(this.svg, 'text', {class: 'rule', x: end - 4, y: y - 5}, rule.label);
    }
  }

  drawLegend() {
    let x = 0, y = this.top + this.plot + 58;
    for (const series of this.data.series) {
      const text = draw(this.svg, 'text', {class: 'legend', x: 0, y: 0}, series.label);
      const wide = 34 + text.getComputedTextLength() + 20;
      if (x + wide > this.width && x > 0) { x = 0; y += 20; }
      text.setAttribute('x', x + 34);
      text.setAttribute('y', y);
      if (series.shape === 'area') draw(this.svg, 'rect', {class: 'area s' + series.style, x, y: y - 9, width: 26, height: 10});
      else if (series.points[0].length !== 1) draw(this.svg, 'line', {class: 'line s' + series.style, x1: x, x2: x + 26, y1: y - 4, y2: y - 4, ...(series.dashed ? {'stroke-dasharray': '6 4'} : {})});
      if (series.marked) this.mark(x + 13, y - 4, series.style);
      x += wide;
    }
    return y + 14;
  }

  listen() {
    this.cross = draw(this.svg, 'line', {class: 'cross', y1: this.top, y2: this.top + this.plot, visibility: 'hidden'});
    const longest = this.data.series.reduce((a, b) => b.points[0].length > a.points[0].length ? b : a, {points: [[], []]});
    this.svg.addEventListener('pointermove', event => this.read(this.xMin + (event.offsetX - this.left) / (this.width - this.left - this.right) * (this.xMax - this.xMin)));
    this.svg.addEventListener('pointerleave', () => this.leave());
    this.svg.addEventListener('blur', () => this.leave());
    this.svg.addEventListener('keydown', event => {
      const move = {ArrowRight: 1, ArrowLeft: -1}[event.key];
      if (event.key === 'Escape') this.leave();
      if (!move || longest.points[0].length === 0) return;
      event.preventDefault();
      this.at = Math.min(longest.points[0].length - 1, Math.max(0, (this.at === null ? (move > 0 ? -1 : longest.points[0].length) : this.at) + move));
      this.read(longest.points[0][this.at]);
    });
  }

  leave() {
    this.card.hidden = true;
    this.cross.setAttribute('visibility', 'hidden');
    this.at = null;
  }

  // The last point at x or before it; of a line or of a bound the nearest, the next.
  valueAt(series, x) {
    const xs = series.points[0];
    let low = 0, high = xs.length;
    while (low < high) { const middle = (low + high) >> 1; if (xs[middle] <= x) low = middle + 1; else high = middle; }
    let at = low - 1;
    if (series.shape === 'steps-back' && (at < 0 || xs[at] < x)) at += 1;
    if (series.shape === 'line' && at + 1 < xs.length && (at < 0 || xs[at + 1] - x < x - xs[at])) at += 1;
    return at < 0 || at >= xs.length ? undefined : series.points[1][at];
  }

  read(x) {
    const inside = Math.min(this.xMax, Math.max(this.xMin, x));
    const lines = [`${this.data.x}: ${showValue(inside)}`];
    for (const series of this.data.series) {
      const value = this.valueAt(series, inside);
      if (value !== undefined) lines.push(`${series.label}: ${showValue(value)}`);
    }
    this.cross.setAttribute('x1', this.x(inside));
    this.cross.setAttribute('x2', this.x(inside));
    this.cross.setAttribute('visibility', 'visible');
    showCard(this.box, this.card, this.x(inside), this.top, lines);
  }
}
