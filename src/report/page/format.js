'use strict';
// Figures as the page's texts have them, and elements. Texts of a model enter as text nodes alone.
function showBytes(bytes) {
  if (bytes < 1024) return bytes + ' B';
  if (bytes < 1048576) return (bytes / 1024).toFixed(1) + ' KiB';
  if (bytes < 1073741824) return (bytes / 1048576).toFixed(2) + ' MiB';
  return (bytes / 1073741824).toFixed(2) + ' GiB';
}
function showSeconds(seconds) {
  if (seconds === 0) return '0 s';
  if (seconds < 1e-3) return (seconds * 1e6).toFixed(1) + ' us';
  if (seconds < 1) return (seconds * 1e3).toFixed(2) + ' ms';
  if (seconds < 120) return seconds.toFixed(2) + ' s';
  if (seconds < 7200) return Math.floor(seconds / 60) + 'm' + String(Math.floor(seconds % 60)).padStart(2, '0') + 's';
  return Math.floor(seconds / 3600) + 'h' + String(Math.floor(seconds / 60 % 60)).padStart(2, '0') + 'm';
}
function showJoules(joules) {
  if (joules === 0) return '0 J';
  if (joules < 1e-3) return (joules * 1e6).toFixed(2) + ' uJ';
  return joules < 1 ? (joules * 1e3).toFixed(2) + ' mJ' : joules.toFixed(2) + ' J';
}
// Round values in [least, most]: 1, 2 or 5 times a power of ten apart.
function tickStep(range, count) {
  const rough = range / count, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(factor => factor * power).find(step => rough <= step) || 10 * power;
}
function ticks(least, most, count) {
  const step = tickStep(most - least, count), found = [];
  for (let number = Math.ceil(least / step - 1e-9); number * step <= most + step * 1e-9 && found.length < 100; ++number) found.push(number * step);
  return {step, values: found};
}
function showTick(value, step) {
  if (value !== 0 && (Math.abs(value) >= 1e7 || step < 1e-5)) return Number(value.toPrecision(3)).toExponential().replace('e+', 'e');
  return (value === 0 ? 0 : value).toFixed(Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9))));
}
function showValue(value) {
  return value === null ? 'none' : Number(value.toPrecision(5)).toString();
}
const SVG = 'http://www.w3.org/2000/svg';
function draw(parent, tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}
function add(parent, tag, attributes, text) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  parent.appendChild(made);
  return made;
}
// A card beside (x, y) of `box`: the first line stands out.
function showCard(box, card, x, y, lines) {
  card.replaceChildren();
  lines.forEach((line, at) => add(card, at === 0 ? 'b' : 'span', {}, line));
  card.hidden = false;
  const left = x + 14 + card.offsetWidth > box.clientWidth ? x - 14 - card.offsetWidth : x + 14;
  card.style.left = Math.max(2, left) + 'px';
  card.style.top = Math.max(2, Math.min(y + 12, box.clientHeight - card.offsetHeight - 2)) + 'px';
}
