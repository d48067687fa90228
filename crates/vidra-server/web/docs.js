// The API reference: Swagger UI with the OpenAPI document of this service.

import { filter } from './docs-filter.js';
import { repair, withoutNestedLinks } from './docs-repairs.js';

/**
 * Disables the validation of Swagger UI. It ignores the Unicode flag of patterns and rejects valid input.
 * The service validates the input and returns better messages.
 */
const withoutValidation = {
  statePlugins: { spec: { wrapActions: { validateParams: () => () => ({ type: 'validation disabled' }) } } },
};

/** Hides the choice of a server: the document has only the service that it comes from. */
const withoutServers = { components: { ServersContainer: () => null } };

const root = document.getElementById('swagger-ui');
repair(root);
SwaggerUIBundle({
  url: '/openapi.json',
  domNode: root,
  deepLinking: true,
  displayRequestDuration: true,
  // All examples can be executed.
  tryItOutEnabled: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
  plugins: [withoutValidation, withoutServers, filter, withoutNestedLinks],
  // JSON has the colours of the page, as in the explorer.
  syntaxHighlight: false,
  // Sends the document to no third party.
  validatorUrl: null,
});
