// A plot, drawn by uPlot, in a figure whose caption is its text alternative.

import { number } from './format.js';

const HEIGHT = 180;

/**
 * A bar chart. `summary` is its text alternative, and `describe` returns the text for the bar under the pointer.
 * `format` and `formatX` format the labels of the axes.
 */
export function figure(page, title, data, { format, formatX = number, steps, isLog = false, describe, summary }) {
  const root = element('figure', 'card plot');
  const [caption, heading, text, canvas] = [
    element('figcaption'),
    element('h2'),
    element('p', 'quiet under'),
    element('div', 'canvas'),
  ];
  heading.textContent = title;
  text.textContent = summary;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${title}: ${summary}`);
  caption.append(heading, text);
  root.append(caption, canvas);

  // A logarithmic axis has no zero.
  const [x, y] = data;
  const drawn = [x, isLog ? y.map((value) => (value === null ? null : Math.max(1, value))) : y];
  let plot = null;
  const draw = () => {
    const width = canvas.clientWidth;
    if (!width || !globalThis.uPlot) return;
    plot?.destroy();
    plot = new uPlot(
      options({
        width,
        format,
        formatX,
        steps,
        isLog,
        point: (at) => {
          text.textContent = at === null ? summary : describe(at);
        },
      }),
      drawn,
      canvas,
    );
  };
  const observer = new ResizeObserver(() =>
    plot ? plot.setSize({ width: canvas.clientWidth, height: HEIGHT }) : draw(),
  );
  observer.observe(canvas);
  addEventListener('themechange', draw, { signal: page.signal });
  // The page does not wait for the library.
  document.getElementById('plot-library').addEventListener('load', draw, { signal: page.signal });
  page.signal.addEventListener('abort', () => {
    observer.disconnect();
    plot?.destroy();
  });
  return root;
}

function options({ width, format, formatX, steps, isLog, point }) {
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
        range: (_, min, max) => {
          const edge = Math.max(0.6, (max - min) * 0.02);
          return [min - edge, max + edge];
        },
      },
      y: isLog ? { distr: 3 } : { range: (_, __, max) => [0, Math.max(1, max)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, ticks) => ticks.map((tick) => formatX(tick)) },
      {
        ...axis,
        size: 58,
        ...(steps && { incrs: steps }),
        ...(isLog && { filter: powers, grid: { ...axis.grid, filter: powers } }),
        values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : format(tick))),
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

/** A logarithmic axis has labels and lines only at powers of ten. */
const powers = (_, ticks) => ticks.map((tick) => (Number.isInteger(Math.log10(tick)) ? tick : null));

export function element(name, className = '') {
  const made = document.createElement(name);
  made.className = className;
  return made;
}
