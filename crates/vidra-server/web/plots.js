// The plots of a playlist.

import { element, figure } from './figure.js';
import { clock, isPublic, length, number, plural, short, views as viewsOf } from './format.js';

/** Steps in seconds that have readable labels. */
const TIMES = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 28800, 86400, 172800, 604800];

/** An element with all plots. They are destroyed when the user leaves the page. */
export function plots(page, videos) {
  const section = element('section', 'plots');
  section.setAttribute('aria-label', 'Plots');
  const positions = videos.map((_, at) => at + 1);
  const lengths = videos.map(({ duration }) => duration || null);
  const views = videos.map((video) => (isPublic(video, 'views') ? video.views : null));
  const describe = (at, text) => `${at + 1}. ${videos[at].title}: ${text}`;
  section.append(
    ...[
      figure(page, 'Length by position', [positions, lengths], {
        format: clock,
        steps: TIMES,
        describe: (at) => describe(at, length(videos[at])),
        summary: range(lengths, clock),
      }),
      figure(page, 'Views by position', [positions, views], {
        format: short,
        isLog: true,
        describe: (at) => describe(at, viewsOf(videos[at])),
        summary: range(views, short),
      }),
      lengthsFigure(
        page,
        lengths.filter((seconds) => seconds !== null),
      ),
      datesFigure(page, videos),
    ].filter(Boolean),
  );
  return section;
}

/** A histogram of lengths. Its steps grow, because most videos are short. */
function lengthsFigure(page, lengths) {
  if (!lengths.length) return null;
  const starts = [0, 1, 2, 5, 10, 15, 20, 30, 45, 60, 120, 240, 480].map((minutes) => minutes * 60);
  const counts = starts.map(
    (start, at) =>
      lengths.filter((length) => length >= start && length < (starts[at + 1] ?? Infinity)).length,
  );
  const last = counts.findLastIndex((count) => count > 0);
  const label = (at) => {
    if (at === 0) return `under ${brief(starts[1])}`;
    return at + 1 < starts.length
      ? `${brief(starts[at])}–${brief(starts[at + 1])}`
      : `over ${brief(starts[at])}`;
  };
  const middle = lengths.toSorted((one, other) => one - other)[Math.floor(lengths.length / 2)];
  return categories(
    page,
    'Distribution of lengths',
    starts.slice(0, last + 1).map((_, at) => label(at)),
    counts,
    `half are shorter than ${clock(middle)}`,
  );
}

const brief = (seconds) => (seconds < 3600 ? `${seconds / 60}m` : `${seconds / 3600}h`);

/** Uploads by month, or by year if they span more than six years. */
function datesFigure(page, videos) {
  // Excludes missing and implausible dates: YouTube started in 2005.
  const days = videos
    .map(({ publishedAt }) => new Date(publishedAt))
    .filter((day) => day > Date.UTC(2005) && day < Date.UTC(2100));
  if (!days.length) return null;
  const [first, last] = [Math.min(...days), Math.max(...days)].map((time) => new Date(time).toISOString());
  const years = Number(last.slice(0, 4)) - Number(first.slice(0, 4));
  const digits = years > 6 ? 4 : 7;
  const counts = new Map();
  for (
    let at = new Date(`${first.slice(0, digits)}${digits === 4 ? '-01' : ''}-01T00:00:00Z`);
    at.toISOString() <= last;
    digits === 4 ? at.setUTCFullYear(at.getUTCFullYear() + 1) : at.setUTCMonth(at.getUTCMonth() + 1)
  ) {
    counts.set(at.toISOString().slice(0, digits), 0);
  }
  for (const day of days) {
    const name = day.toISOString().slice(0, digits);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const summary =
    first.slice(0, 10) === last.slice(0, 10)
      ? `all on ${first.slice(0, 10)}`
      : `from ${first.slice(0, 10)} to ${last.slice(0, 10)}`;
  return categories(page, 'Upload dates', [...counts.keys()], [...counts.values()], summary);
}

/** A bar chart of counts by category. */
function categories(page, title, names, counts, summary) {
  return figure(page, title, [names.map((_, at) => at), names.map((_, at) => counts[at])], {
    format: (count) => (Number.isInteger(count) ? number(count) : ''),
    formatX: (at) => (Number.isInteger(at) ? (names[at] ?? '') : ''),
    describe: (at) => `${names[at]}: ${plural(counts[at], 'video')}`,
    summary,
  });
}

function range(values, format) {
  const known = values.filter((value) => value !== null);
  return known.length ? `from ${format(Math.min(...known))} to ${format(Math.max(...known))}` : 'no data';
}
