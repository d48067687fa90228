// Sends the first requests of the page while its other modules are still loading.

import { parameter } from './address.js';
import { prefetch } from './api.js';
import { parseRequest, pathsOf, plainLink } from './link.js';

const id = parameter('id').trim();
const link = plainLink(id);
if (link) for (const path of pathsOf(link, parameter('lang'))) prefetch(path);
else if (id) prefetch(...parseRequest(id));
