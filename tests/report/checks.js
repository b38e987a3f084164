// What the tests ask of an open page; each function gives a list of faults.
(() => {
  const parse = text => (text.match(/[\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4).reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const ratio = (one, other) => { const [a, b] = [light(one), light(other)].sort((x, y) => y - x); return (a + 0.05) / (b + 0.05); };
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour && !/, 0\)$|transparent/.test(colour)) return parse(colour);
    }
    return [255, 255, 255];
  };
  const seen = element => element.checkVisibility() && element.getClientRects().length > 0;
  const told = element => element.getAttribute('aria-label') || element.textContent.trim() || (element.labels && [...element.labels].map(each => each.textContent).join(''));
  const HAIR = 2.5;  // dots: boxes of letters have room above and below
  // What can be seen of each line of text: its box, cut where a box around it scrolls or hides.
  const linesOfText = () => {
    const found = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!node.textContent.trim() || !seen(parent) || parent.closest('script, .hidden, .skip')) continue;
      const text = node.textContent.trim().slice(0, 40);
      range.selectNodeContents(node);
      for (const {left, right, top, bottom} of parent.closest('svg') ? [parent.getBoundingClientRect()] : range.getClientRects()) {
        const box = {left, right, top, bottom, text, node};
        for (let at = parent; at && at !== document.body; at = at.parentElement) {
          if (getComputedStyle(at).overflowX === 'visible') continue;
          const around = at.getBoundingClientRect();
          box.left = Math.max(box.left, around.left); box.right = Math.min(box.right, around.right);
          box.top = Math.max(box.top, around.top); box.bottom = Math.min(box.bottom, around.bottom);
        }
        if (box.right - box.left > HAIR && box.bottom - box.top > HAIR) found.push(box);
      }
    }
    return found;
  };
  return {
    contrast() {
      const faults = new Set(), walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (!node.textContent.trim() || !seen(parent) || parent.closest('script')) continue;
        const style = getComputedStyle(parent), colour = parse(parent instanceof SVGElement ? style.fill : style.color), found = ratio(colour, behind(parent));
        if (found < 4.5) faults.add(`${parent.tagName} "${node.textContent.trim().slice(0, 30)}": ${found.toFixed(2)}`);
      }
      return [...faults];
    },
    names() { return [...document.querySelectorAll('a, button, input, select, [tabindex="0"], svg[role=img]')].filter(each => seen(each) && !told(each)).map(each => each.outerHTML.slice(0, 80)); },
    headings() {
      const levels = [...document.querySelectorAll('h1, h2, h3, h4')].map(each => Number(each.tagName[1])), faults = [];
      if (levels.filter(level => level === 1).length !== 1 || levels[0] !== 1) faults.push('one h1, first');
      levels.forEach((level, at) => { if (at && level > levels[at - 1] + 1) faults.push(`h${levels[at - 1]} is followed by h${level}`); });
      return faults;
    },
    landmarks() {
      const faults = ['main', 'nav', 'footer'].filter(name => document.querySelectorAll(name).length !== 1);
      if (!document.documentElement.lang) faults.push('lang');
      for (const section of document.querySelectorAll('section')) if (!document.getElementById(section.getAttribute('aria-labelledby'))) faults.push(`section ${section.id}`);
      for (const link of document.querySelectorAll('a[href^="#"]')) if (!document.getElementById(link.hash.slice(1))) faults.push(link.hash);
      return faults;
    },
    tables() {
      return [...document.querySelectorAll('table')].filter(table => !table.caption || [...table.querySelectorAll('th')].some(th => !th.scope)).map(table => table.textContent.slice(0, 40));
    },
    ids() { const all = [...document.querySelectorAll('[id]')].map(each => each.id); return all.filter((id, at) => all.indexOf(id) !== at); },
    handlers() { return [...document.querySelectorAll('*')].flatMap(each => each.getAttributeNames().filter(name => name.startsWith('on')).map(name => `${each.tagName} ${name}`)); },
    outside() {
      const wide = document.documentElement.clientWidth;
      return [...document.querySelectorAll('main *')].filter(each => seen(each) && !each.closest('.scroll, .static, nav, pre') && !(each instanceof SVGElement) && each.getBoundingClientRect().right > wide + 1)
        .map(each => `${each.tagName}.${each.className}`);
    },
    // Letters on letters: lines of text whose boxes share more than a hair.
    overprints() {
      const boxes = linesOfText(), faults = new Set();
      boxes.sort((a, b) => a.top - b.top);
      boxes.forEach((one, at) => {
        for (let next = at + 1; next < boxes.length && boxes[next].top < one.bottom - HAIR; ++next) {
          const other = boxes[next];
          if (one.node !== other.node && Math.min(one.right, other.right) - Math.max(one.left, other.left) > HAIR) faults.add(`"${one.text}" and "${other.text}" at ${Math.round(other.left)}, ${Math.round(other.top)}`);
        }
      });
      return [...faults];
    },
    // Words of tables, and options of commands there, that go on in the next line.
    brokenWords() {
      const faults = new Set(), walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT), range = document.createRange();
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (!node.parentElement.closest('td, th') || !seen(node.parentElement)) continue;
        for (const {0: word, index} of node.textContent.matchAll(/^--[\w-]+|[a-z]+/gi)) {
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          if (new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1) faults.add(word);
        }
      }
      return [...faults];
    },
    // Boxes that scroll to the side and do not show it.
    unseenScrolling() {
      return [...document.querySelectorAll('main *')].filter(each => seen(each) && each.scrollWidth > each.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(each).overflowX) && !/gradient/.test(getComputedStyle(each).backgroundImage))
        .map(each => `${each.tagName}.${each.className} ${each.textContent.trim().slice(0, 40)}`);
    },
    // Letters of a picture that lie outside of it.
    cutOff() {
      return [...document.querySelectorAll('svg text')].filter(seen).filter(each => {
        const text = each.getBoundingClientRect(), svg = each.ownerSVGElement.getBoundingClientRect();
        return text.left < svg.left - HAIR || text.right > svg.right + HAIR || text.bottom > svg.bottom + HAIR || text.top < svg.top - HAIR;
      }).map(each => each.textContent);
    },
  };
})()
