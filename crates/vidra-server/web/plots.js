// Plots of a playlist, drawn by uPlot. Each is a figure whose caption says in words what it shows.

import { clock, number, plural, short } from './format.js';

const HEIGHT = 180;

/** Steps of an axis of seconds that have a name. */
const TIMES = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

/** An element with all plots; they are taken down when the page is left. */
export function plots(page, videos) {
  const section = element('section', 'plots');
  section.setAttribute('aria-label', 'Plots');
  const places = videos.map((_, at) => at + 1);
  const lengths = videos.map(({ duration }) => duration);
  const views = videos.map((video) => (video.hidden?.includes('views') ? null : video.views));
  const named = (at, text) => `${at + 1}. ${videos[at].title}: ${text}`;
  section.append(...[
    figure(page, 'Length by place', [places, lengths], { tell: clock, steps: TIMES, name: (at) => named(at, clock(lengths[at])), said: range(lengths, clock) }),
    figure(page, 'Views by place', [places, views], { tell: short, isLog: true, name: (at) => named(at, `${number(views[at] ?? 0)} views`), said: range(views, short) }),
    lengthsFigure(page, lengths),
    datesFigure(page, videos),
  ].filter(Boolean));
  return section;
}

/** How many videos are how long. The steps grow, because lengths do. */
function lengthsFigure(page, lengths) {
  const starts = [0, 1, 2, 5, 10, 15, 20, 30, 45, 60, 120, 240, 480].map((minutes) => minutes * 60);
  const counts = starts.map((start, at) => lengths.filter((length) => length >= start && length < (starts[at + 1] ?? Infinity)).length);
  const last = counts.findLastIndex((count) => count > 0);
  const label = (at) => {
    if (at === 0) return `under ${brief(starts[1])}`;
    return at + 1 < starts.length ? `${brief(starts[at])}–${brief(starts[at + 1])}` : `over ${brief(starts[at])}`;
  };
  const middle = lengths.toSorted((one, other) => one - other)[Math.floor(lengths.length / 2)];
  return categories(page, 'Distribution of lengths', starts.slice(0, last + 1).map((_, at) => label(at)), counts, `half are shorter than ${clock(middle)}`);
}

const brief = (seconds) => (seconds < 3600 ? `${seconds / 60}m` : `${seconds / 3600}h`);

/** How many were uploaded when: by month, or by year where that is long. */
function datesFigure(page, videos) {
  const days = videos.map(({ publishedAt }) => new Date(publishedAt)).filter((day) => !Number.isNaN(day.getTime()));
  if (!days.length) return null;
  const [first, last] = [Math.min(...days), Math.max(...days)].map((time) => new Date(time).toISOString());
  const years = Number(last.slice(0, 4)) - Number(first.slice(0, 4));
  const digits = years > 6 ? 4 : 7;
  const counts = new Map();
  for (let at = new Date(`${first.slice(0, digits)}${digits === 4 ? '-01' : ''}-01T00:00:00Z`); at.toISOString() <= last; digits === 4 ? at.setUTCFullYear(at.getUTCFullYear() + 1) : at.setUTCMonth(at.getUTCMonth() + 1)) {
    counts.set(at.toISOString().slice(0, digits), 0);
  }
  for (const day of days) {
    const name = day.toISOString().slice(0, digits);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const said = first.slice(0, 10) === last.slice(0, 10) ? `all on ${first.slice(0, 10)}` : `from ${first.slice(0, 10)} to ${last.slice(0, 10)}`;
  return categories(page, 'Upload dates', [...counts.keys()], [...counts.values()], said);
}

/** Counts by name, side by side. */
function categories(page, title, names, counts, said) {
  return figure(page, title, [names.map((_, at) => at), names.map((_, at) => counts[at])], {
    tell: (count) => (Number.isInteger(count) ? number(count) : ''),
    tellX: (at) => (Number.isInteger(at) ? names[at] ?? '' : ''),
    name: (at) => `${names[at]}: ${plural(counts[at], 'video')}`,
    said,
  });
}

function range(values, tell) {
  const told = values.filter((value) => value !== null);
  return told.length ? `from ${tell(Math.min(...told))} to ${tell(Math.max(...told))}` : 'not told';
}

/** A figure with bars; what lies under the pointer is named below it. */
function figure(page, title, data, { tell, tellX = number, steps, isLog = false, name, said }) {
  const figure = element('figure', 'card plot');
  const [caption, heading, words, canvas] = [element('figcaption'), element('h2'), element('p', 'quiet under'), element('div', 'canvas')];
  heading.textContent = title;
  words.textContent = said;
  canvas.setAttribute('role', 'img');
  canvas.setAttribute('aria-label', `${title}: ${said}`);
  caption.append(heading, words);
  figure.append(caption, canvas);

  // A logarithm of nothing cannot be drawn.
  const [x, y] = data;
  const drawn = [x, isLog ? y.map((value) => value && Math.max(1, value)) : y];
  let plot = null;
  const draw = () => {
    const width = canvas.clientWidth;
    if (!width) return;
    plot?.destroy();
    plot = new uPlot(options({ width, tell, tellX, steps, isLog, point: (at) => { words.textContent = at === null ? said : name(at); } }), drawn, canvas);
  };
  const watch = new ResizeObserver(() => (plot ? plot.setSize({ width: canvas.clientWidth, height: HEIGHT }) : draw()));
  watch.observe(canvas);
  addEventListener('themechange', draw, { signal: page.signal });
  page.signal.addEventListener('abort', () => {
    watch.disconnect();
    plot?.destroy();
  });
  return figure;
}

function options({ width, tell, tellX, steps, isLog, point }) {
  const style = getComputedStyle(document.documentElement);
  const colour = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = { stroke: colour('muted'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false }, font: '12px system-ui, sans-serif' };
  return {
    width,
    height: HEIGHT,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: { x: { time: false, range: (_, least, most) => { const edge = Math.max(0.6, (most - least) * 0.02); return [least - edge, most + edge]; } }, y: isLog ? { distr: 3 } : { range: (_, __, most) => [0, Math.max(1, most)] } },
    axes: [
      { ...axis, grid: { show: false }, size: 28, values: (_, ticks) => ticks.map((tick) => tellX(tick)) },
      { ...axis, size: 58, ...(steps && { incrs: steps }), ...(isLog && { filter: powers, grid: { ...axis.grid, filter: powers } }), values: (_, ticks) => ticks.map((tick) => (tick === null ? '' : tell(tick))) },
    ],
    series: [{}, { fill: colour('accent'), stroke: colour('accent'), width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.8, 28], radius: 0.1 }) }],
    hooks: { setCursor: [(plot) => point(plot.cursor.idx ?? null)] },
  };
}

/** Of a logarithmic axis only the powers of ten are worth a line. */
const powers = (_, ticks) => ticks.map((tick) => (Number.isInteger(Math.log10(tick)) ? tick : null));

function element(name, className = '') {
  const made = document.createElement(name);
  made.className = className;
  return made;
}
