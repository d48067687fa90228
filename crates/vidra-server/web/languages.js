// The languages of captions, by their names.

/** Codes as YouTube writes them in captions. */
const CODES =
  'af am ar as az be bg bn bs ca cs cy da de el en en-GB en-US eo es es-419 es-ES et eu fa fi fil fr fr-CA ga gl gu ha he hi hr hu hy id is it ja jv ka kk km kn ko ky la lb lo lt lv mk ml mn mr ms my nb ne nl no or pa pl ps pt pt-BR pt-PT ro ru sd si sk sl so sq sr sv sw ta te tg th tk tr uk ur uz vi yo zh zh-CN zh-Hans zh-Hant zh-HK zh-TW zu';

let groups = null;

/** The user's own languages and all languages, each by name. */
export function languageGroups() {
  groups ??= makeGroups();
  return groups;
}

function makeGroups() {
  const names = new Intl.DisplayNames('en', { type: 'language' });
  const all = CODES.split(' ').map((code) => ({ code, name: names.of(code) }));
  all.sort((one, other) => one.name.localeCompare(other.name, 'en'));
  const bases = new Set(navigator.languages.map((code) => code.split('-')[0]));
  const own = all.filter(({ code }) => bases.has(code));
  return [
    ['Your languages', own],
    ['All languages', all.filter((language) => !own.includes(language))],
  ].filter(([, languages]) => languages.length);
}
