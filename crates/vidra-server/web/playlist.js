// A playlist: its totals, plots, a table of its videos, and the transcripts of all of them.

import { html, nothing } from './vendor/lit-html.js';
import { fetchJson } from './api.js';
import { batch } from './batch.js';
import { isPublic, number, plural, span } from './format.js';
import { playlistPath } from './link.js';
import { boxes, load, partViewWithHeading } from './loading.js';
import { headingFor } from './reasons.js';
import { thumbnail, sized } from './thumbnail.js';
import { plots } from './plots.js';
import { table } from './table.js';
import { description, numbers } from './video.js';

export function playlistPage(page, id) {
  let parts = null;
  const playlist = load(page, async () => {
    const list = await fetchJson(playlistPath(id), page);
    const many = list.videos.length > 1;
    parts = {
      plots: many ? plots(page, list.videos) : nothing,
      table: table(page, list),
      batch: batch(page, list),
    };
    return list;
  });
  return {
    playlistId: id,
    get title() {
      return playlist.value?.title ?? (playlist.problem && headingFor(playlist.problem));
    },
    template: () => html`<div class="playlist">${partViewWithHeading(
      playlist,
      'the playlist',
      `Playlist ${id}`,
      (list) => html`
      ${card(list)}
      ${list.videos.length ? html`${parts.plots}${parts.table()}${parts.batch()}` : html`<p class="notice">This playlist has no available videos.</p>`}`,
      boxes('headline', 'plot', 'plot', 'plot', 'plot'),
    )}
    </div>`,
  };
}

function card(list) {
  const counted = list.videos.filter((video) => isPublic(video, 'views'));
  const views = counted.reduce((sum, video) => sum + video.views, 0);
  const hiddenCount = list.videos.length - counted.length;
  const timed = list.videos.filter(({ duration }) => duration).length;
  const average = timed ? list.totalDuration / timed : 0;
  return html`<article class="card headline">
    ${thumbnail(sized(list.thumbnails, 320), list.id)}
    <div><p class="quiet">Playlist</p><h1 dir="auto">${list.title}</h1>
    ${numbers([
      ['Videos', 'videoCount', number(list.videoCount), list.videoCount],
      ['Total length', 'totalDuration', span(list.totalDuration), list.totalDuration],
      ['Average length', 'average', span(average), Math.round(average)],
      ['Views', 'views', number(views), views],
    ], list.videos.length && !counted.length ? ['views'] : [])}
    ${hiddenCount ? html`<p class="quiet">Does not include the hidden views of ${plural(hiddenCount, 'video')}.</p>` : nothing}
    ${list.unavailableCount ? html`<p class="quiet">${number(list.unavailableCount)} more are private or deleted.</p>` : nothing}
    ${description(list.description)}</div>
  </article>`;
}
