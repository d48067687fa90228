// A channel: its card and its recent uploads.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo } from './address.js';
import { fetchJson } from './api.js';
import { channelPath, uploadsPath } from './link.js';
import { boxes, load, partView, partViewWithHeading } from './loading.js';
import { headingFor } from './reasons.js';
import { thumbnail, sized } from './thumbnail.js';
import { number, views } from './format.js';
import { numbers } from './video.js';

/** `reference` is an id, a handle or a link. */
export function channelPage(page, reference) {
  const channel = load(page, () => fetchJson(channelPath(reference), page));
  const uploads = load(page, () => fetchJson(uploadsPath(reference), page));
  return {
    get title() {
      return channel.value?.name ?? (channel.problem && headingFor(channel.problem));
    },
    template: () => html`<div class="channel">
      ${partViewWithHeading({ ...channel, reload: page.reload }, 'the channel', `Channel ${reference}`, card, boxes('headline'))}
      ${
        channel.value
          ? html`<section aria-labelledby="uploads-title">
        <h2 id="uploads-title">Recent uploads</h2>
        ${partView(
          uploads,
          'uploads',
          (list) =>
            list.length
              ? html`<ul class="tiles">${list.map(tile)}</ul>`
              : html`<p class="quiet">This channel has no uploads.</p>`,
          boxes('plot', 'plot'),
        )}
      </section>`
          : nothing
      }
    </div>`,
  };
}

function card(channel) {
  return html`<article class="card headline">
    ${thumbnail(sized(channel.thumbnails, 160), channel.id, 'round large')}
    <div><h1 dir="auto">${channel.name}</h1>
    <p class="quiet"><bdi>${channel.username}</bdi> ${channel.country ? `· ${channel.country}` : ''}</p>
    ${numbers(
      [
        ['Subscribers', 'subscribers', channel.subscribersFmt, channel.subscribers],
        ['Views', 'totalViews', channel.totalViewsFmt, channel.totalViews],
        ['Videos', 'videoCount', number(channel.videoCount), channel.videoCount],
      ],
      channel.hidden,
    )}
    <p class="row">${channel.uploadsPlaylistId ? html`<a class="button" href=${linkTo(channel.uploadsPlaylistId)}>All uploads as a playlist</a>` : nothing}
      <a class="button" href="https://www.youtube.com/channel/${channel.id}" target="_blank" rel="noopener noreferrer">On YouTube</a></p></div>
  </article>`;
}

function tile(video) {
  return html`<li><a class="tile" href=${linkTo(video.id)}>
    <span class="frame">${thumbnail(video.thumbnail, video.id)}${video.duration ? html`<span class="length">${video.durationFmt}</span>` : nothing}</span>
    <strong dir="auto">${video.title}</strong>
    <span class="quiet">${views(video, () => video.viewsFmt)} · ${video.uploadAge}</span></a></li>`;
}
