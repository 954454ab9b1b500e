(() => {
  'use strict';
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const folds = all('details');

  const theme = document.getElementById('theme');
  const dark = () => root.dataset.theme
    ? root.dataset.theme === 'dark'
    : matchMedia('(prefers-color-scheme: dark)').matches;
  const label = () => { theme.textContent = dark() ? 'Light' : 'Dark'; };
  theme.addEventListener('click', () => { root.dataset.theme = dark() ? 'light' : 'dark'; label(); });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', label);
  label();
  theme.hidden = false;

  const fold = document.getElementById('fold');
  fold.addEventListener('click', () => {
    const open = fold.getAttribute('aria-pressed') !== 'true';
    folds.forEach((one) => { one.open = open; });
    fold.setAttribute('aria-pressed', open);
    fold.textContent = open ? 'Fold all' : 'Unfold all';
  });
  fold.hidden = false;

  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    for (let one = target; one; one = one.parentElement) if (one.tagName === 'DETAILS') one.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener('hashchange', reveal);
  if (location.hash) reveal();

  let shut = [];
  addEventListener('beforeprint', () => {
    shut = folds.filter((one) => !one.open);
    shut.forEach((one) => { one.open = true; });
  });
  addEventListener('afterprint', () => shut.forEach((one) => { one.open = false; }));

  all('.command code').forEach((code) => {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = 'Copy';
    button.addEventListener('click', () => {
      getSelection().selectAllChildren(code);
      const done = () => { button.textContent = 'Copied'; setTimeout(() => { button.textContent = 'Copy'; }, 1500); };
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(done, () => {});
    });
    code.after(button);
  });

  const print = (value, unit) => unit === 'requests'
    ? value.toLocaleString('en', { maximumFractionDigits: 1 })
    : (value * 100).toFixed(1) + '%';

  all('figure.chart').forEach((figure) => {
    const at = figure.querySelector('.at output');
    let lines = null;
    const load = () => all('li[data-points]', figure).map((item) => {
      const parts = item.dataset.points.split(' ');
      const output = item.querySelector('output');
      return {
        output, rest: output.textContent,
        times: parts.filter((_, i) => i % 2 === 0).map(Number),
        values: parts.filter((_, i) => i % 2 === 1),
      };
    });
    all('svg.plot', figure).forEach((svg) => {
      const [left, right] = svg.dataset.x.split(' ').map(Number);
      const [from, to] = svg.dataset.t.split(' ').map(Number);
      const cursor = svg.querySelector('.cursor');
      const move = (event) => {
        lines = lines || load();
        const box = svg.getBoundingClientRect();
        const x = Math.min(right, Math.max(left, (event.clientX - box.left) * svg.viewBox.baseVal.width / box.width));
        const t = from + (x - left) / (right - left) * (to - from);
        cursor.setAttribute('x1', x);
        cursor.setAttribute('x2', x);
        at.textContent = 'at ' + t.toFixed(to - from < 60 ? 2 : 1) + ' s';
        lines.forEach(({ output, times, values }) => {
          let low = 0;
          let high = times.length;
          while (low < high) { const mid = (low + high) >> 1; if (times[mid] <= t) low = mid + 1; else high = mid; }
          const value = values[low - 1];
          const ended = low === times.length && t > times[low - 1];
          output.textContent = value === undefined || value === '-' || ended ? 'not recorded' : print(Number(value), figure.dataset.unit);
        });
      };
      const leave = () => {
        cursor.setAttribute('x1', -9);
        cursor.setAttribute('x2', -9);
        at.textContent = '';
        (lines || []).forEach(({ output, rest }) => { output.textContent = rest; });
      };
      svg.addEventListener('pointermove', move);
      svg.addEventListener('pointerdown', move);
      svg.addEventListener('pointerleave', leave);
    });
  });
})();
