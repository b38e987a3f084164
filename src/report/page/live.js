'use strict';
// What is in RAM at a moment of the step, the largest first: the sum is what the curve of RAM shows there.
const MOST_LIVE = 100;  // rows of the list; the rest is one row

class Moments {
  constructor(schedule) {
    this.data = schedule;
    this.end = Math.max(1, Math.round(schedule.time_s / schedule.tick_s));
  }

  tickAt(seconds) { return Math.min(this.end - 1, Math.max(0, Math.floor(seconds / this.data.tick_s + 0.5))); }

  at(seconds) {
    const tick = this.tickAt(seconds), {bars, tensors, computes, staging_bytes: staging} = this.data, inside = at => bars.begin[at] <= tick && tick < bars.end[at];
    const held = new Map(), stored = new Map();
    bars.tensor.forEach((tensor, at) => {
      if (tensors.bytes[tensor] > 0 && bars.how[at] !== HOW.dropped && inside(at)) (bars.how[at] < HOW.stored ? held : stored).set(tensor, bars.how[at]);
    });
    const rows = list => [...list].filter(([tensor]) => list === held || !held.has(tensor))
      .map(([tensor]) => ({name: tensors.name[tensor], kind: KINDS[tensors.kind[tensor]], bytes: tensors.bytes[tensor]}));
    const live = rows(held), away = rows(stored);
    const last = computes.begin.reduce((found, begin, at) => begin <= tick ? at : found, -1), runs = last >= 0 && tick < computes.end[last] ? this.data.ops.name[computes.op[last]] : '';
    if (last >= 0 && tick < computes.until[last] && computes.workspace[last] > 0) live.push({name: `for ${this.data.ops.name[computes.op[last]]}`, kind: 'workspace', bytes: computes.workspace[last]});
    if (staging > 0) live.push({name: 'between RAM and storage', kind: 'staging', bytes: staging});
    const sorted = list => list.sort((a, b) => b.bytes - a.bytes);
    return {tick, runs, live: sorted(live), away: sorted(away)};
  }
}

const sumOf = rows => rows.reduce((sum, row) => sum + row.bytes, 0);
const countOf = (rows, what) => `${rows.length} ${what}${rows.length === 1 ? '' : 's'}`;

// The list below the chart. It stays when the pointer leaves, so that it can be scrolled and read.
class LiveList {
  constructor(box, moments) {
    this.moments = moments;
    this.head = add(box, 'h3', {id: 'live-head'});
    this.note = add(box, 'p', {class: 'soft'});
    const scroll = add(box, 'div', {class: 'scroll lives', role: 'region', tabindex: 0, 'aria-labelledby': 'live-head'}), table = add(scroll, 'table');
    add(table, 'caption', {class: 'hidden'}, 'In RAM at this moment, the largest first');
    const heads = add(add(table, 'thead'), 'tr');
    for (const [name, kind] of [['tensor', ''], ['kind', ''], ['bytes', 'n']]) add(heads, 'th', {scope: 'col', class: kind}, name);
    this.body = add(table, 'tbody');
    this.away = add(box, 'p', {});
  }

  // Shows a moment; gives the lines that a card says of it.
  show(seconds) {
    const {tick, runs, live, away} = this.moments.at(seconds);
    const stored = away.length ? [`in storage: ${showBytes(sumOf(away))}, ${countOf(away, 'tensor')}`] : [];
    if (tick !== this.tick) this.fill(tick, runs, live, away);
    return [`in RAM: ${showBytes(sumOf(live))}, ${countOf(live, 'tensor')}`, ...stored];
  }

  fill(tick, runs, live, away) {
    this.tick = tick;
    this.head.textContent = `In RAM at ${showSeconds(tick * this.moments.data.tick_s)}: ${showBytes(sumOf(live))} in ${countOf(live, 'tensor')}`;
    this.note.textContent = (runs ? `While ${runs} runs. ` : 'While nothing runs. ') + 'Point at the chart or read it with the arrow keys: the list is of that moment.';
    this.body.replaceChildren();
    const row = (name, kind, bytes) => {
      const made = add(this.body, 'tr');
      const title = add(made, 'th', {scope: 'row'});
      for (const part of name.split(/(?<=[/_])|(?<=[.,])(?!\d)/)) { title.append(part); add(title, 'wbr'); }
      add(made, 'td', {}, kind);
      add(made, 'td', {class: 'n'}, showBytes(bytes));
    };
    for (const each of live.slice(0, MOST_LIVE)) row(each.name, each.kind, each.bytes);
    const rest = live.slice(MOST_LIVE);
    if (rest.length) row(`and ${rest.length} more`, '', sumOf(rest));
    const names = away.slice(0, 12).map(each => `${each.name} (${each.kind}, ${showBytes(each.bytes)})`);
    if (away.length > 12) names.push(`and ${away.length - 12} more`);
    this.away.textContent = away.length ? `In storage, not in RAM: ${showBytes(sumOf(away))} in ${countOf(away, 'tensor')}: ${names.join(', ')}.` : 'Nothing waits in storage.';
  }
}
