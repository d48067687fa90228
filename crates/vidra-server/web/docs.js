// The API reference: Swagger UI with the OpenAPI document of this service.

/**
 * Disables the validation of Swagger UI. It ignores the Unicode flag of patterns and rejects valid input.
 * The service validates the input and returns better messages.
 */
const withoutValidation = {
  statePlugins: { spec: { wrapActions: { validateParams: () => () => ({ type: 'validation disabled' }) } } },
};

SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('swagger-ui'),
  deepLinking: true,
  displayRequestDuration: true,
  // All examples can be executed.
  tryItOutEnabled: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
  plugins: [withoutValidation],
  // Sends the document to no third party.
  validatorUrl: null,
});
