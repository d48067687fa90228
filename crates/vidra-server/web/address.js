// The address bar holds what is shown, so that it can be kept, sent and gone back to.

const parameters = () => new URLSearchParams(location.search);

let here = location.search;

/** What the address says now is what is shown. */
export const arrived = () => {
  here = location.search;
};

/** Whether it says something else by now; where only its fragment is another, it does not. */
export const isElsewhere = () => location.search !== here;

/** What the address says of one thing; empty where nothing. */
export const told = (name) => parameters().get(name) ?? '';

/** The address of something to look at. */
export const linkTo = (id) => `/?${new URLSearchParams({ id })}`;

/** Writes down how it is looked at. Going back leads to what was looked at before, not to each key pressed. */
export function note(values) {
  const all = parameters();
  for (const [name, value] of Object.entries(values)) {
    if (value) all.set(name, value);
    else all.delete(name);
  }
  const query = all.toString();
  history.replaceState(null, '', query ? `/?${query}` : '/');
  arrived();
}
