// Formats numbers, times and shell commands.

const whole = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const day = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeZone: 'UTC' });

export const number = (value) => whole.format(value);
export const short = (value) => compact.format(value);
export const plural = (count, one, many = `${one}s`) => `${number(count)} ${count === 1 ? one : many}`;

/** The day of a timestamp, or an empty string if it is missing or invalid. */
export function date(timestamp) {
  const time = Date.parse(timestamp ?? '');
  return Number.isNaN(time) ? '' : day.format(time);
}

/** Seconds as 3:34 or 1:02:03. */
export function clock(seconds) {
  const left = Math.max(0, Math.floor(seconds));
  const parts = [Math.floor(left / 3600), Math.floor(left / 60) % 60, left % 60];
  const [hours, minutes, rest] = parts.map((part) => String(part).padStart(2, '0'));
  return hours === '00' ? `${Number(minutes)}:${rest}` : `${Number(hours)}:${minutes}:${rest}`;
}

/** Seconds in words: 3 h 12 min. */
export function span(seconds) {
  const days = Math.floor(seconds / 86400);
  const hours = Math.floor(seconds / 3600) % 24;
  const minutes = Math.floor(seconds / 60) % 60;
  const parts = [
    [days, 'd'],
    [hours, 'h'],
    [minutes, 'min'],
    [Math.floor(seconds % 60), 's'],
  ];
  const largest = parts.filter(([count]) => count > 0).slice(0, 2);
  return largest.map(([count, unit]) => `${count} ${unit}`).join(' ') || '0 s';
}

/** Whether YouTube shows a count. */
export const isPublic = (video, name) => !video.hidden?.includes(name);

/** A count, or "hidden": the service returns 0 for a count that YouTube hides. */
export const count = (video, name, format = number) => (isPublic(video, name) ? format(video[name]) : 'hidden');

/** The views of a video with their unit. */
export const views = (video, format = number) =>
  isPublic(video, 'views') ? `${format(video.views)} ${video.views === 1 ? 'view' : 'views'}` : 'views hidden';

/** The length of a video. Live and upcoming videos have none. */
export const length = ({ duration }) => (duration ? clock(duration) : '–');

/** Quotes a word for a POSIX shell. */
export function quoted(word) {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
