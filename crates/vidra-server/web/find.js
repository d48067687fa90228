// Finds a phrase in the lines of a transcript. Case, accents and white space do not matter, and a phrase may
// run over several lines.

/** Marks over Latin, Greek, Cyrillic, Hebrew and Arabic letters. Marks of other scripts are vowels. */
const ACCENTS = /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u065f\u0670]|\p{Cf}/gu;

/** Scripts that put no space between words, so that a line may end within one. */
const WITHOUT_SPACES = /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]/u;

function fold(text) {
  return text
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .replace(/[‘’ʼ]/g, "'")
    .replace(/[“”]/g, '"')
    .toLowerCase();
}

/**
 * The lines as one folded text. `origin[at]` is the origin of the unit `at` of that text: its line, and the start
 * and end of its letter in that line. A space between two lines has no origin.
 */
export function indexOf(lines) {
  let folded = '';
  const origin = [];
  const add = (text, from) => {
    folded += text;
    for (let at = 0; at < text.length; at += 1) origin.push(from);
  };
  lines.forEach(({ text }, line) => {
    if (folded && !folded.endsWith(' ')) add(' ', null);
    let start = 0;
    for (const letter of text) {
      const end = start + letter.length;
      const plain = fold(letter);
      if (/^\s+$/.test(plain)) {
        if (folded && !folded.endsWith(' ')) add(' ', { line, start, end });
      } else if (plain) add(plain, { line, start, end });
      // An accent that is a letter of its own belongs to the letter before it.
      else if (origin.at(-1)?.line === line) origin.at(-1).end = end;
      start = end;
    }
  });
  return { folded, origin };
}

/** All matches of a phrase, in order. Each has its parts: a line, and the start and end of the match in it. */
export function findAll({ folded, origin }, phrase) {
  const needle = fold(phrase).trim().replace(/\s+/g, ' ');
  if (!needle) return [];
  return [...folded.matchAll(patternOf(needle))].map(({ 0: found, index }) => {
    const parts = [];
    for (const from of origin.slice(index, index + found.length)) {
      if (!from) continue;
      if (parts.at(-1)?.line === from.line) parts.at(-1).end = from.end;
      else parts.push({ ...from });
    }
    return parts;
  });
}

function patternOf(needle) {
  const letters = [...needle].map((letter, at, all) => {
    const isInWord = at > 0 && WITHOUT_SPACES.test(letter) && WITHOUT_SPACES.test(all[at - 1]);
    return `${isInWord ? ' ?' : ''}${letter.replace(/[\^$\\.*+?()[\]{}|/]/, '\\$&')}`;
  });
  return new RegExp(letters.join(''), 'gu');
}
