// Repairs of Swagger UI for users of keyboards and screen readers.

/** Attributes that its elements lack or have wrong. */
const ATTRIBUTES = [
  ['.copy-to-clipboard button', 'aria-label', 'Copy'],
  ['.close-modal', 'aria-label', 'Close'],
  ['.btn.authorize[aria-label="Apply credentials"]', 'aria-label', 'Authorize: apply credentials'],
  ['textarea.body-param__text', 'aria-label', 'Request body'],
  ['.parameters select:not([aria-label]), .parameters input:not([aria-label])', 'aria-label', 'Value'],
  // A box that scrolls can be scrolled by keyboard.
  ['pre.microlight', 'tabindex', '0'],
  // A table is not a landmark.
  ['table[role="region"]', 'role', 'table'],
  ['.modal-ux-header h3', 'aria-level', '2'],
  ['.auth-container h4', 'aria-level', '3'],
];

/** Repairs everything below `root`, now and after every change. */
export function repair(root) {
  let isScheduled = false;
  const apply = () => {
    isScheduled = false;
    for (const [selector, name, value] of ATTRIBUTES) {
      for (const element of root.querySelectorAll(selector)) {
        if (element.getAttribute(name) !== value) element.setAttribute(name, value);
      }
    }
  };
  new MutationObserver(() => {
    if (!isScheduled) requestAnimationFrame(apply);
    isScheduled = true;
  }).observe(root, { childList: true, subtree: true });
}

/** The plugin for Swagger UI: the path of an operation is text. It is in a button, which must not contain a link. */
export const withoutNestedLinks = {
  wrapComponents: {
    DeepLink:
      (_, { React }) =>
      ({ text }) =>
        React.createElement('span', null, text),
  },
};
