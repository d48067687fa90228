// The reference: Swagger UI over the document of this very service.

/**
 * Swagger UI would hold input against our patterns itself, but reads them without Unicode, so that it
 * refuses what is right. The service says better what is wrong.
 */
const leaveItToTheService = {
  statePlugins: { spec: { wrapActions: { validateParams: () => () => ({ type: 'left to the service' }) } } },
};

SwaggerUIBundle({
  url: '/openapi.json',
  domNode: document.getElementById('swagger-ui'),
  deepLinking: true,
  displayRequestDuration: true,
  // Every example is there to be tried.
  tryItOutEnabled: true,
  docExpansion: 'list',
  defaultModelsExpandDepth: 0,
  filter: true,
  plugins: [leaveItToTheService],
  // Neither the document nor what was tried goes to anybody else.
  validatorUrl: null,
});
