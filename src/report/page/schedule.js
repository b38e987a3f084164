'use strict';
// Lifetimes of tensors on a canvas: a row is a tensor, a bar a time in RAM. Zoom and pan with wheel, pinch, buttons and keys;
// a card says of each bar what, how much and why. Ten thousand ops are some rectangles, not some elements.
const HOW = {start: 0, computed: 1, again: 2, read: 3, stored: 4, dropped: 5};
const GROUPS = ['from the start', 'forward', 'backward', 'update'];
const KINDS = ['parameter', 'optimizer state', 'input', 'activation', 'gradient'];
const SMALL = 0.001;  // of the peak
const OVER = 5;  // of why an engine computes nothing: no op of it follows

class Schedule {
  constructor(box, data) {
    this.data = data;
    this.end = data.time_s / data.tick_s || 1;
    this.bars = this.barsOf(data.bars);
    this.buildTools(box);
    this.sheet = add(box, 'div', {class: 'sheet', tabindex: 0, role: 'application', 'aria-roledescription': 'schedule',
      'aria-label': 'Schedule of the step. Arrow keys go from bar to bar, plus and minus zoom, 0 shows all.'});
    this.canvas = add(this.sheet, 'canvas');
    this.card = add(this.sheet, 'div', {class: 'card', role: 'status'});
    this.card.hidden = true;
    this.chooseRows();
    this.listen();
    new ResizeObserver(() => { if (this.sheet.clientWidth !== this.width) { this.resize(); this.draw(); } }).observe(this.sheet);
    new MutationObserver(() => this.draw()).observe(document.documentElement, {attributes: true, attributeFilter: ['data-theme']});
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.draw());
    this.resize();
    this.fit();
  }

  // Bars by tensor, each list in time.
  barsOf(columns) {
    const lists = new Map();
    columns.tensor.forEach((tensor, at) => {
      if (!lists.has(tensor)) lists.set(tensor, []);
      lists.get(tensor).push(at);
    });
    return lists;
  }

  buildTools(box) {
    const tools = add(box, 'div', {class: 'tools', role: 'group', 'aria-label': 'The view of the schedule'});
    const button = (text, name, act) => add(tools, 'button', {type: 'button', 'aria-label': name}, text).addEventListener('click', act);
    button('+', 'Zoom in', () => this.zoom(1.6));
    button('\u2212', 'Zoom out', () => this.zoom(1 / 1.6));
    button('\u2190', 'Earlier', () => this.pan(-0.25, 0));
    button('\u2192', 'Later', () => this.pan(0.25, 0));
    button('Fit', 'Show the whole step', () => this.fit());
    add(tools, 'span', {class: 'soft'}, 'Click, then wheel or pinch zooms; drag pans.');
    this.small = this.smallTensors();
    if (this.small.size === 0 || this.small.size === this.bars.size) { this.small = new Set(); return; }
    const label = add(tools, 'label');
    this.all = add(label, 'input', {type: 'checkbox'});
    label.append(`${this.small.size} small tensors, too`);
    this.all.addEventListener('change', () => { this.chooseRows(); this.fit(); });
  }

  smallTensors() {
    const least = this.data.peak_bytes * SMALL;
    return new Set([...this.bars.keys()].filter(tensor => this.data.tensors.bytes[tensor] < least));
  }

  group(tensor) {
    const bar = this.bars.get(tensor)[0], by = this.data.bars.by[bar];
    return by < 0 ? 0 : 1 + this.data.ops.phase[by];
  }

  chooseRows() {
    const begin = tensor => this.data.bars.begin[this.bars.get(tensor)[0]];
    const shown = [...this.bars.keys()].filter(tensor => (this.all && this.all.checked) || !this.small.has(tensor));
    const groups = new Map(shown.map(tensor => [tensor, this.group(tensor)]));
    this.rows = shown.sort((a, b) => groups.get(a) - groups.get(b) || begin(a) - begin(b) || a - b);
    this.groups = [];  // {name, row}
    this.rows.forEach((tensor, row) => {
      const name = GROUPS[groups.get(tensor)];
      if (!this.groups.length || this.groups[this.groups.length - 1].name !== name) this.groups.push({name, row});
    });
    this.chosen = null;
  }

  resize() {
    this.width = this.sheet.clientWidth;
    const narrow = this.width < 560;
    this.gutter = narrow ? 84 : Math.min(230, this.width * 0.24);
    this.engines = this.data.engines ? this.data.engines.names : ['compute'];
    this.slices = this.data.computes.slices.some(each => each);
    this.lanes = this.engines.length + (this.slices || this.data.transfers.tensor.length ? 2 : 0);
    this.top = 24 + this.lanes * 14 + 6;
    this.height = this.top + Math.max(120, Math.min(narrow ? 330 : 430, this.rows.length * 14)) + 4;
    const scale = window.devicePixelRatio || 1;
    this.canvas.width = this.width * scale;
    this.canvas.height = this.height * scale;
    this.canvas.style.height = this.height + 'px';
    this.pen = this.canvas.getContext('2d');
    this.pen.setTransform(scale, 0, 0, scale, 0, 0);
  }

  fit() {
    this.from = 0;
    this.until = this.end;
    this.row = 0;
    this.resize();
    this.least = Math.min(16, (this.height - this.top - 4) / Math.max(1, this.rows.length));
    this.rowHeight = this.least;
    this.draw();
  }

  x(tick) { return this.gutter + (tick - this.from) / (this.until - this.from) * (this.width - this.gutter); }
  y(row) { return this.top + (row - this.row) * this.rowHeight; }
  tickAt(x) { return this.from + (x - this.gutter) / (this.width - this.gutter) * (this.until - this.from); }

  // Around a point of the canvas: its time and its row stay where they are.
  zoom(factor, x = this.gutter + (this.width - this.gutter) / 2, y = this.top + (this.height - this.top) / 2, rows = true) {
    const tick = this.tickAt(Math.max(this.gutter, x)), row = this.row + (y - this.top) / this.rowHeight;
    const span = Math.min(this.end, Math.max(this.end / 1e5, (this.until - this.from) / factor)), share = (tick - this.from) / (this.until - this.from);
    this.from = tick - share * span;
    this.until = this.from + span;
    if (rows) this.rowHeight = Math.min(22, Math.max(this.least, this.rowHeight * factor));
    this.row = row - (y - this.top) / this.rowHeight;
    this.hold();
  }

  pan(shareOfTime, rows) {
    const span = this.until - this.from;
    this.from += shareOfTime * span;
    this.until = this.from + span;
    this.row += rows;
    this.hold();
  }

  // The view stays on the step.
  hold() {
    const span = this.until - this.from, shown = (this.height - this.top) / this.rowHeight;
    this.from = Math.min(Math.max(0, this.from), this.end - span);
    this.until = this.from + span;
    this.row = Math.min(Math.max(0, this.row), Math.max(0, this.rows.length - shown));
    this.draw();
  }

  colours() {
    const style = getComputedStyle(document.documentElement), of = name => style.getPropertyValue('--' + name).trim();
    this.ink = of('ink'); this.soft = of('soft'); this.line = of('line'); this.grid = of('grid'); this.paper = of('paper');
    this.fills = [of('s5'), of('s0'), this.pattern(of('s4'), of('paper'), 1), this.pattern(of('s2'), of('paper'), 0), of('s2'), of('s4')];
    this.plain = [of('s5'), of('s0'), of('s4'), of('s2'), of('s2'), of('s4')];
    this.wait = of('s1');
  }

  // Stripes: leaning for what is computed again, upright for what is read back.
  pattern(colour, paper, lean) {
    const tile = document.createElement('canvas'), size = 6;
    tile.width = tile.height = size;
    const pen = tile.getContext('2d');
    pen.fillStyle = colour;
    pen.fillRect(0, 0, size, size);
    pen.strokeStyle = paper;
    pen.globalAlpha = 0.6;
    pen.beginPath();
    for (const shift of [-size, 0, size]) { pen.moveTo(shift + (lean ? 0 : 3), size); pen.lineTo(shift + (lean ? size : 3), 0); }
    pen.stroke();
    return this.pen.createPattern(tile, 'repeat');
  }

  draw() {
    if (this.width === 0 || this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => { this.pending = false; this.drawNow(); });
  }

  drawNow() {
    this.colours();
    const pen = this.pen;
    pen.font = '11px ' + getComputedStyle(document.body).fontFamily;
    pen.textBaseline = 'middle';
    pen.fillStyle = this.paper;
    pen.fillRect(0, 0, this.width, this.height);
    this.drawAxis();
    pen.save();
    pen.beginPath();
    pen.rect(0, this.top, this.width, this.height - this.top);
    pen.clip();
    const first = Math.max(0, Math.floor(this.row)), last = Math.min(this.rows.length, Math.ceil(this.row + (this.height - this.top) / this.rowHeight));
    for (let row = first; row < last; ++row) this.drawRow(row);
    this.drawGroups();
    pen.restore();
    this.drawLanes();
    this.drawPeak();
    this.drawChosen();
  }

  drawAxis() {
    const pen = this.pen, seconds = this.data.tick_s, unit = [['h', 3600], ['min', 60], ['s', 1], ['ms', 1e-3], ['us', 1e-6], ['ns', 1e-9]]
      .find(([, size]) => (this.until - this.from) * seconds >= 2 * size) || ['ns', 1e-9];
    const scale = seconds / unit[1], found = ticks(this.from * scale, this.until * scale, this.width < 560 ? 3 : 8);
    pen.textAlign = 'center';
    for (const value of found.values) {
      const x = this.x(value / scale);
      if (x < this.gutter) continue;
      pen.fillStyle = this.grid;
      pen.fillRect(x, 20, 1, this.height - 20);
      pen.fillStyle = this.soft;
      if (x < this.width - 20) pen.fillText(showTick(value, found.step), Math.max(x, this.gutter + 8), 11);
    }
    pen.textAlign = 'left';
    pen.fillStyle = this.soft;
    pen.fillText('time, ' + unit[0], 8, 11);
  }

  drawRow(row) {
    const tensor = this.rows[row], y = this.y(row), tall = this.rowHeight, columns = this.data.bars, pen = this.pen;
    const gap = tall >= 5 ? 1.5 : tall >= 3 ? 0.5 : 0;
    for (const bar of this.bars.get(tensor)) {
      if (columns.end[bar] < this.from || columns.begin[bar] > this.until) continue;
      const left = Math.max(this.gutter, this.x(columns.begin[bar])), right = Math.min(this.width, this.x(columns.end[bar])), how = columns.how[bar];
      if (right < this.gutter) continue;
      const wide = Math.max(1, right - left);
      if (how >= HOW.stored) {
        if (tall < 1.5) continue;
        pen.fillStyle = this.plain[how];
        if (how === HOW.stored || wide < 8) pen.fillRect(left, y + tall / 2 - 0.75, wide, 1.5);
        else for (let x = left; x < right; x += 7) pen.fillRect(x, y + tall / 2 - 0.75, Math.min(3.5, right - x), 1.5);
        continue;
      }
      pen.globalAlpha = how === HOW.start ? 0.55 : 1;
      pen.fillStyle = tall >= 4 ? this.fills[how] : this.plain[how];
      pen.fillRect(left, y + gap, wide, tall < 1 ? tall : Math.max(1, tall - 2 * gap));  // thinner than a dot: as dense as the rows are
      pen.globalAlpha = 1;
    }
    if (tall >= 10) this.drawName(this.data.tensors.name[tensor], y + tall / 2);
  }

  drawName(name, y) {
    const letters = Math.floor((this.gutter - 16) / 5.6), shown = name.length > letters ? '\u2026' + name.slice(1 - letters) : name;
    this.pen.textAlign = 'right';
    this.pen.fillStyle = this.soft;
    this.pen.fillText(shown, this.gutter - 8, y, this.gutter - 12);
    this.pen.textAlign = 'left';
  }

  drawGroups() {
    const pen = this.pen;
    for (const [at, group] of this.groups.entries()) {
      const y = this.y(group.row), next = at + 1 < this.groups.length ? this.y(this.groups[at + 1].row) : this.y(this.rows.length);
      pen.fillStyle = this.line;
      pen.fillRect(0, y - 0.5, this.width, 1);
      if (this.rowHeight >= 10 || next - y < 14) continue;
      pen.fillStyle = this.ink;
      pen.fillText(group.name, 8, Math.min(Math.max(y + 9, this.top + 9), next - 6), this.gutter - 12);
    }
  }

  drawLanes() {
    const pen = this.pen, names = [...this.engines, ...(this.slices ? ['to storage', 'from storage'] : ['page out', 'page in'])], lanes = this.data.engines, computes = this.data.computes, transfers = this.data.transfers;
    pen.fillStyle = this.soft;
    for (let lane = 0; lane < this.lanes; ++lane) pen.fillText(names[lane], 8, 24 + lane * 14 + 6, this.gutter - 12);
    const slab = (lane, begin, end, fill, share = 1) => {
      if (end < this.from || begin > this.until) return;
      const left = Math.max(this.gutter, this.x(begin)), right = Math.min(this.width, this.x(end));
      if (right < this.gutter) return;
      pen.fillStyle = fill;
      pen.fillRect(left, 24 + lane * 14 + 11 * (1 - share), Math.max(0.6, right - left - (right - left > 3 ? 0.6 : 0)), 11 * share);
    };
    const compute = (lane, at) => {
      slab(lane, computes.begin[at], computes.end[at], computes.again[at] ? this.fills[HOW.again] : this.plain[HOW.computed]);
      if (computes.slices[at]) this.slabsOfSlices(slab, lane, at);
    };
    if (lanes) {
      lanes.takes.engine.forEach((engine, at) => compute(engine, lanes.takes.compute[at]));
      lanes.gaps.engine.forEach((engine, at) => { if (lanes.gaps.why[at] !== OVER) slab(engine, lanes.gaps.begin[at], lanes.gaps.end[at], this.wait); });
    } else computes.op.forEach((op, at) => compute(0, at));
    transfers.tensor.forEach((tensor, at) => {
      slab(this.engines.length + (transfers.out[at] ? 0 : 1), transfers.begin[at], transfers.end[at], this.plain[HOW.read]);
      if (transfers.stall[at] > 0) slab(0, transfers.end[at] - transfers.stall[at], transfers.end[at], this.wait);
    });
  }

  // An op in slices has the storage for as long as it runs: each lane is filled to the share of the time in which it moves slices.
  slabsOfSlices(slab, lane, at) {
    const computes = this.data.computes, begin = computes.begin[at], end = computes.end[at], time = Math.max(1, end - begin);
    slab(lane, begin, end, this.plain[HOW.read], 0.5);
    [computes.to_storage[at], computes.from_storage[at]].forEach((moving, way) => {
      if (moving > 0) slab(this.engines.length + way, begin, end, this.plain[HOW.read], Math.min(1, Math.max(0.1, moving / time)));
    });
  }

  drawPeak() {
    if (this.data.peak_s === null) return;
    const x = this.x(this.data.peak_s / this.data.tick_s);
    if (x < this.gutter || x > this.width) return;
    this.pen.fillStyle = this.wait;
    this.pen.fillRect(x - 0.5, 20, 1.5, this.height - 20);
    const right = x > this.width - 50, place = ['peak', x + (right ? -5 : 5), this.height - 8];
    this.pen.textAlign = right ? 'right' : 'left';
    this.pen.strokeStyle = this.paper;
    this.pen.lineWidth = 5;
    this.pen.lineJoin = 'round';
    this.pen.strokeText(...place);  // a rim, as bars may lie below
    this.pen.fillStyle = this.ink;
    this.pen.fillText(...place);
    this.pen.textAlign = 'left';
  }

  drawChosen() {
    if (this.chosen === null) return;
    const bar = this.chosen.bar, columns = this.data.bars, left = Math.max(this.gutter, this.x(columns.begin[bar])), right = Math.min(this.width, this.x(columns.end[bar]));
    this.pen.strokeStyle = this.ink;
    this.pen.lineWidth = 1.5;
    this.pen.strokeRect(left - 1, this.y(this.chosen.row) - 1, Math.max(3, right - left + 2), Math.max(3, this.rowHeight + 2));
  }

  // The bar under a point; in small rows and short times the nearest.
  find(x, y) {
    const middle = Math.floor(this.row + (y - this.top) / this.rowHeight), tick = this.tickAt(x), reach = 4 * (this.until - this.from) / this.width, columns = this.data.bars;
    if (y < this.top || x < 0) return null;
    const around = Math.ceil(2 / this.rowHeight);
    for (let away = 0; away <= around; ++away)
      for (const row of away ? [middle - away, middle + away] : [middle]) {
        if (row < 0 || row >= this.rows.length) continue;
        const inside = this.bars.get(this.rows[row]).filter(each => columns.begin[each] - reach <= tick && tick <= columns.end[each] + reach);
        const bar = inside.find(each => columns.how[each] < HOW.stored && columns.begin[each] <= tick && tick <= columns.end[each]) ?? inside[0];
        if (bar !== undefined) return {row, bar};
      }
    return null;
  }

  choose(found, x, y) {
    const same = this.chosen && found && this.chosen.bar === found.bar;
    this.chosen = found;
    if (!same) this.draw();
    if (!found) { this.card.hidden = true; return; }
    showCard(this.sheet, this.card, x, y, this.why(found));
  }

  chooseByKey(row, bar) {
    const columns = this.data.bars, shown = (this.height - this.top) / this.rowHeight;
    if (row < this.row) this.row = row;
    if (row >= this.row + shown) this.row = row - shown + 1;
    if (columns.end[bar] < this.from || columns.begin[bar] > this.until) this.pan((columns.begin[bar] - this.from) / (this.until - this.from) - 0.2, 0);
    this.choose({row, bar}, Math.min(this.width - 20, Math.max(this.gutter, this.x(columns.begin[bar]))), this.y(row) + this.rowHeight);
  }

  listen() {
    const touches = new Map();
    const place = event => { const box = this.canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    this.canvas.addEventListener('pointerdown', event => {
      touches.set(event.pointerId, place(event));
      this.canvas.setPointerCapture(event.pointerId);
      this.sheet.focus({preventScroll: true});
    });
    this.canvas.addEventListener('pointermove', event => this.move(event, place(event), touches));
    for (const end of ['pointerup', 'pointercancel']) this.canvas.addEventListener(end, event => touches.delete(event.pointerId));
    this.canvas.addEventListener('pointerleave', () => { if (document.activeElement !== this.sheet) this.choose(null); });
    this.canvas.addEventListener('wheel', event => {
      if (document.activeElement !== this.sheet && !event.ctrlKey && !event.metaKey) return;  // the page scrolls
      event.preventDefault();
      const [x, y] = place(event);
      if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.pan((event.deltaX || event.deltaY) / this.width, 0);
      else this.zoom(Math.exp(-event.deltaY * 0.0025), x, y);
    }, {passive: false});
    this.sheet.addEventListener('keydown', event => this.key(event));
    this.sheet.addEventListener('blur', () => this.choose(null));
  }

  move(event, [x, y], touches) {
    const before = touches.get(event.pointerId);
    if (!before) return this.choose(this.find(x, y), x, y);
    if (touches.size === 2) {
      const other = [...touches.entries()].find(([id]) => id !== event.pointerId)[1];
      const far = ([a, b]) => Math.hypot(a - other[0], b - other[1]);
      this.zoom(far([x, y]) / Math.max(1, far(before)), (x + other[0]) / 2, (y + other[1]) / 2);
    } else {
      this.card.hidden = true;
      this.pan((before[0] - x) / (this.width - this.gutter), (before[1] - y) / this.rowHeight);
    }
    touches.set(event.pointerId, [x, y]);
  }

  key(event) {
    const act = {'+': () => this.zoom(1.6), '=': () => this.zoom(1.6), '-': () => this.zoom(1 / 1.6), 0: () => this.fit(), Escape: () => this.choose(null),
      PageUp: () => this.pan(-0.5, 0), PageDown: () => this.pan(0.5, 0), Home: () => this.go(-Infinity, 0), End: () => this.go(Infinity, 0),
      ArrowRight: () => this.go(0, 1), ArrowLeft: () => this.go(0, -1), ArrowDown: () => this.go(1, 0), ArrowUp: () => this.go(-1, 0)}[event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey || this.rows.length === 0) return;
    event.preventDefault();
    act();
  }

  // To the next row, or to the next bar of the row.
  go(rows, bars) {
    if (!this.chosen) return this.chooseByKey(0, this.bars.get(this.rows[0])[0]);
    const row = Math.min(this.rows.length - 1, Math.max(0, this.chosen.row + rows)), list = this.bars.get(this.rows[row]);
    const at = rows ? 0 : Math.min(list.length - 1, Math.max(0, list.indexOf(this.chosen.bar) + bars));
    this.chooseByKey(row, list[at]);
  }

  when(tick) { return showSeconds(tick * this.data.tick_s); }

  why({row, bar}) {
    const tensor = this.rows[row], columns = this.data.bars, how = columns.how[bar], data = this.data, op = at => data.ops.name[at];
    const bytes = showBytes(data.tensors.bytes[tensor]), span = `${this.when(columns.begin[bar])} to ${this.when(columns.end[bar])}`;
    const lines = [data.tensors.name[tensor], `${bytes}, ${KINDS[data.tensors.kind[tensor]]}`];
    const by = columns.by[bar], first = columns.first[bar], last = columns.last[bar], peak = data.peak_s === null ? -1 : data.peak_s / data.tick_s;
    const across = columns.begin[bar] <= peak && peak <= columns.end[bar] ? ', the peak among them' : '';
    if (how === HOW.start) lines.push(`In RAM when the step begins, until ${this.when(columns.end[bar])}.`);
    if (how === HOW.computed) lines.push(`Computed by ${op(by)} and kept: ${span}.`);
    if (how === HOW.again) lines.push(`Computed again by ${op(by)}: ${span}.`, `Costs ${showSeconds(data.ops.seconds[by])} and ${showJoules(data.ops.energy_j[by])}` + (first >= 0 ? `, because ${op(first)} reads it.` : '.'));
    if (how === HOW.read) lines.push(`Read back from storage: ${span}.`, ...this.transferLines(tensor, columns.begin[bar], 0), ...(first >= 0 ? [`${op(first)} reads it next.`] : []));
    const free = `${bytes} are free meanwhile` + (across ? `; kept, they would make the peak ${showBytes(data.peak_bytes + data.tensors.bytes[tensor])}.` : '.');
    if (how === HOW.stored) lines.push(`In storage, not in RAM: ${span}${across}.`, free, ...this.transferLines(tensor, columns.begin[bar], 1));
    if (how === HOW.dropped) lines.push(`Dropped, not in RAM: ${span}${across}.`, free, ...this.againLines(tensor, bar));
    if (how < HOW.stored && last >= 0) lines.push(`Last read by ${op(last)}.`);
    return lines;
  }

  // How a dropped tensor comes back.
  againLines(tensor, bar) {
    const list = this.bars.get(tensor), next = list[list.indexOf(bar) + 1], by = next === undefined ? -1 : this.data.bars.by[next];
    if (by < 0) return [];
    return [`${this.data.ops.name[by]} computes it again, for ${showSeconds(this.data.ops.seconds[by])} and ${showJoules(this.data.ops.energy_j[by])}.`];
  }

  // Of the tensor's transfer that lies nearest: what it takes, and who waits.
  transferLines(tensor, tick, out) {
    const all = this.data.transfers;
    let best = -1;
    all.tensor.forEach((each, at) => {
      if (each === tensor && all.out[at] === out && (best < 0 || Math.abs(all.begin[at] - tick) < Math.abs(all.begin[best] - tick))) best = at;
    });
    if (best < 0) return [];
    const waits = all.stall[best] > 0 ? `${this.when(all.stall[best])} are waited for` : 'nothing waits for it';
    return [`The transfer takes ${this.when(all.end[best] - all.begin[best])}, ${this.when(all.hidden[best])} beside computing; ${waits}.`];
  }
}
