// A plot, drawn by uPlot, in a figure whose caption says in words what it shows.

import { number } from './format.js';

const HEIGHT = 180;

/** A figure with bars; what lies under the pointer is named below it. */
export function figure(page, title, data, { tell, tellX = number, steps, isLog = false, name, said }) {
  const whole = element('figure', 'card plot');
  const [caption, heading, words, canvas] = [
    element('figcaption'),
    element('h2'),
    element('p', 'quiet under'),
    element('div', 'canvas'),
  ];
  heading.textContent = title;
  words.textContent = said;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${title}: ${said}`);
  caption.append(heading, words);
  whole.append(caption, canvas);

  // A logarithm of nothing cannot be drawn.
  const [x, y] = data;
  const drawn = [x, isLog ? y.map((value) => (value === null ? null : Math.max(1, value))) : y];
  let plot = null;
  const draw = () => {
    const width = canvas.clientWidth;
    if (!width) return;
    plot?.destroy();
    plot = new uPlot(
      options({
        width,
        tell,
        tellX,
        steps,
        isLog,
        point: (at) => {
          words.textContent = at === null ? said : name(at);
        },
      }),
      drawn,
      canvas,
    );
  };
  const watch = new ResizeObserver(() =>
    plot ? plot.setSize({ width: canvas.clientWidth, height: HEIGHT }) : draw(),
  );
  watch.observe(canvas);
  addEventListener('themechange', draw, { signal: page.signal });
  page.signal.addEventListener('abort', () => {
    watch.disconnect();
    plot?.destroy();
  });
  return whole;
}

function options({ width, tell, tellX, steps, isLog, point }) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = {
    stroke: colour('muted'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { show: false },
    font: '12px system-ui, sans-serif',
  };
  return {
    width,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: {
        time: false,
        range: (_, least, most) => {
          const edge = Math.max(0.6, (most - least) * 0.02);
          return [least - edge, most + edge];
        },
      },
      y: isLog ? { distr: 3 } : { range: (_, __, most) => [0, Math.max(1, most)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, ticks) => ticks.map((tick) => tellX(tick)) },
      {
        ...axis,
        size: 58,
        ...(steps && { incrs: steps }),
        ...(isLog && { filter: powers, grid: { ...axis.grid, filter: powers } }),
        values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : tell(tick))),
      },
    ],
    series: [
      {},
      {
        fill: colour('accent'),
        stroke: colour('accent'),
        width: 0,
        points: { show: false },
        paths: uPlot.paths.bars({ size: [0.8, 28], radius: 0.1 }),
      },
    ],
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
  };
}

/** Of a logarithmic axis only the powers of ten are worth a line. */
const powers = (_, ticks) => ticks.map((tick) => (Number.isInteger(Math.log10(tick)) ? tick : null));

export function element(name, className = '') {
  const made = document.createElement(name);
  made.className = className;
  return made;
}
