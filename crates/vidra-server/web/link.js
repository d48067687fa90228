// Recognises plain identifiers, and names the requests of their pages. The service parses every other link.

/** The link that a plain identifier stands for, or null. The form is that of `POST /api/url/parse`. */
export function plainLink(id) {
  if (/^[\w-]{11}$/.test(id)) return { type: 'video', videoId: id };
  if (/^UC[\w-]{22}$/.test(id)) return { type: 'channel', channelId: id };
  if (/^@[\w.-]{3,30}$/.test(id)) return { type: 'channel', handle: id };
  if (/^(PL|UU|FL|OLAK5uy_)[\w-]{1,50}$/.test(id)) return { type: 'playlist', playlistId: id };
  return null;
}

export const parseRequest = (id) => ['/api/url/parse', { method: 'POST', body: { url: id } }];

export const videoPath = (id) => `/api/video/${id}`;
export const commentsPath = (id) => `/api/comments/${id}/top?limit=10`;
export const playlistPath = (id) => `/api/playlist/${id}`;
export const channelPath = (reference) => `/api/channel/${encodeURIComponent(reference)}`;
export const uploadsPath = (reference) => `${channelPath(reference)}/videos?limit=24`;

/** `parameters` are those of the query; empty ones are left out. */
export function transcriptPath(id, parameters = {}) {
  const given = Object.entries(parameters).filter(([, value]) => value);
  const query = new URLSearchParams(given).toString();
  return `/api/transcript/${id}${query && `?${query}`}`;
}

/** The requests that the page of a link sends first. */
export function pathsOf({ type, videoId, playlistId, channelId, handle }, lang) {
  switch (type) {
    case 'video':
      return [videoPath(videoId), transcriptPath(videoId, { lang }), commentsPath(videoId)];
    case 'playlist':
      return [playlistPath(playlistId)];
    default:
      return [channelPath(channelId ?? handle), uploadsPath(channelId ?? handle)];
  }
}
