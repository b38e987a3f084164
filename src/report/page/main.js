'use strict';
// Fills the page: values of charts, the schedule in place of its picture, light and dark.
async function copyText(element) {
  try {
    await navigator.clipboard.writeText(element.textContent);
    return true;
  } catch (none) {  // not allowed, or not there: as by hand
    getSelection().selectAllChildren(element);
    return document.execCommand('copy');
  }
}
(() => {
  const data = JSON.parse(document.getElementById('report-data').textContent), root = document.documentElement;
  const list = document.getElementById('live-list'), live = list && new LiveList(list, new Moments(data.schedule));
  if (live) live.show(data.schedule.peak_s ?? 0);
  for (const box of document.querySelectorAll('[data-chart]')) {
    const chart = data.charts[box.dataset.chart];
    new ChartReader(box, chart, live && box.dataset.chart === 'ram' ? x => live.show(x * chart.x_unit) : null);
  }
  const schedule = document.getElementById('schedule-chart');
  if (schedule) new Schedule(schedule, data.schedule);

  for (const box of document.querySelectorAll('.command')) {
    const copy = box.querySelector('.copy'), code = box.querySelector('code');
    copy.hidden = false;
    copy.addEventListener('click', async () => { copy.textContent = await copyText(code) ? 'Copied' : 'Not copied'; });
  }

  const button = document.getElementById('theme'), dark = matchMedia('(prefers-color-scheme: dark)');
  const isDark = () => (root.dataset.theme || (dark.matches ? 'dark' : 'light')) === 'dark';
  const name = () => { button.textContent = isDark() ? 'Light' : 'Dark'; };
  button.hidden = false;
  button.addEventListener('click', () => {
    root.dataset.theme = isDark() ? 'light' : 'dark';
    try { localStorage.setItem('pantoum-theme', root.dataset.theme); } catch (none) { /* without storage it holds for this page */ }
    name();
  });
  dark.addEventListener('change', name);
  name();

  const links = new Map([...document.querySelectorAll('nav a')].map(link => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver(entries => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const link of links.values()) link.removeAttribute('aria-current');
      links.get(entry.target.id).setAttribute('aria-current', 'true');
    }
  }, {rootMargin: '-20% 0px -70% 0px'});
  for (const id of links.keys()) { const part = document.getElementById(id); if (part) seen.observe(part); }
  performance.mark('pantoum-ready');
})();
