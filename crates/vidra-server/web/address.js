// The URL and the history entry store the state of the page, so that bookmarks, shared links and the back button work.

const query = () => new URLSearchParams(location.search);

let current = location.search;

/** Records that the page shows the current URL. */
export const markShown = () => {
  current = location.search;
};

/** Whether the URL has changed since the last `markShown`. A change of the fragment alone does not count. */
export const hasChanged = () => location.search !== current;

/** A parameter of the URL, or an empty string. */
export const parameter = (name) => query().get(name) ?? '';

/** The URL of the page for a video, playlist or channel. */
export const linkTo = (id) => `/?${new URLSearchParams({ id })}`;

/** Changes parameters of the URL. It adds no history entry, so that the back button leaves the page. */
export function setParameters(values) {
  const all = query();
  for (const [name, value] of Object.entries(values)) {
    if (value) all.set(name, value);
    else all.delete(name);
  }
  const text = all.toString();
  history.replaceState(history.state, '', text ? `/?${text}` : '/');
  markShown();
}

/** A value of the history entry, or undefined. It survives back, forward and reload, but is not in the URL. */
export const remembered = (name) => history.state?.[name];

/** Stores a value in the history entry. */
export const remember = (name, value) => history.replaceState({ ...history.state, [name]: value }, '');
