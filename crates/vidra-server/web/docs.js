// The reference: Swagger UI over the document of this very service.

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
  // Neither the document nor what was tried goes to anybody else.
  validatorUrl: null,
});
