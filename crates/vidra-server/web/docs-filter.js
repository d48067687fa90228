// The filter of the API reference. That of Swagger UI knows tags only.

/** The text that the filter searches. `entry` is an operation with its path and method. */
function textOf(tag, entry) {
  const field = (name) => entry.getIn(['operation', name]) ?? '';
  const parameters = entry.getIn(['operation', 'parameters'])?.map((it) => it.get('name') ?? '').join(' ') ?? '';
  return [
    tag,
    entry.get('method'),
    entry.get('path'),
    field('summary'),
    field('description'),
    field('operationId'),
    parameters,
  ]
    .join(' ')
    .toLowerCase();
}

/** Keeps the operations that contain every word, and the tags that have any. */
function operationsWith(tags, phrase) {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  return tags
    .map((tag, name) =>
      tag.update('operations', (list) => list.filter((entry) => words.every((word) => textOf(name, entry).includes(word)))),
    )
    .filter((tag) => tag.get('operations').size > 0);
}

/** The input, with a label and the number of operations that are left. */
const input = (_, { React }) =>
  function FilterContainer({ specSelectors, layoutSelectors, layoutActions }) {
    // For a filter that is enabled and empty, Swagger UI passes `true`.
    const current = layoutSelectors.currentFilter();
    const phrase = typeof current === 'string' ? current : '';
    const tags = operationsWith(specSelectors.taggedOperations(), phrase);
    const count = tags.reduce((sum, tag) => sum + tag.get('operations').size, 0);
    const change = (event) => layoutActions.updateFilter(event.target.value || true);
    const make = React.createElement;
    return make(
      'div',
      { className: 'filter wrapper' },
      make('h2', { className: 'unseen' }, 'Operations'),
      make('label', { htmlFor: 'filter' }, 'Find an operation'),
      make('input', {
        id: 'filter',
        type: 'search',
        placeholder: 'A path, or words of a description',
        value: phrase,
        onChange: change,
      }),
      make('p', { role: 'status' }, phrase ? `${count} ${count === 1 ? 'operation' : 'operations'}` : ''),
    );
  };

/** The plugin for Swagger UI. */
export const filter = { fn: { opsFilter: operationsWith }, wrapComponents: { FilterContainer: input } };
