// A video: its card, its transcript and its comments.

import { html, nothing } from './vendor/lit-html.js';
import { linkTo } from './address.js';
import { fetchJson } from './api.js';
import { knownFailure } from './batch-run.js';
import { comments } from './comments.js';
import { length, number } from './format.js';
import { videoPath } from './link.js';
import { boxes, load, partViewWithHeading } from './loading.js';
import { headingFor, isFatal, isHidden } from './reasons.js';
import { thumbnail, sized } from './thumbnail.js';
import { transcript } from './transcript.js';

export function videoPage(page, { videoId, playlistId }) {
  const video = load(page, () => fetchJson(videoPath(videoId), page));
  const spoken = transcript(page, videoId);
  const commentsView = comments(page, videoId);

  /** The error of the whole page. The Data API reports a private video as missing, but the player returns the real reason. */
  const problem = () => {
    if (video.problem?.reason !== 'video_not_found') return video.problem;
    return [spoken.problem, knownFailure(videoId)].find((it) => it && isHidden(it)) ?? video.problem;
  };
  const isUndecided = () => video.isLoading || (video.problem?.reason === 'video_not_found' && spoken.isLoading);
  /** The parts below wait for the video, because it would move them. */
  const rest = () => {
    if (isUndecided()) return html`<div class="transcript card">${boxes('lines')}</div>`;
    return problem() && isFatal(problem()) ? nothing : html`${spoken.view()}${commentsView()}`;
  };
  const main = () => {
    if (isUndecided()) return partViewWithHeading({ isLoading: true }, 'the video', `Video ${videoId}`, card, boxes('wide', 'line', 'line'));
    const failure = problem();
    const reload = failure && isFatal(failure) ? page.reload : video.reload;
    return partViewWithHeading({ ...video, problem: failure, reload }, 'the video', '', card);
  };
  return {
    get title() {
      return video.value?.title ?? (isUndecided() ? undefined : headingFor(problem()));
    },
    template: () => html`<div class="video">
      ${
        playlistId
          ? html`<p class="notice">This video is part of a playlist.
        <a href=${linkTo(playlistId)}>Show the whole playlist</a></p>`
          : nothing
      }
      <div class="about">${main()}</div>
      ${rest()}
    </div>`,
  };
}

function card(video) {
  return html`<article>
    <a class="watch" href="https://www.youtube.com/watch?v=${video.id}" target="_blank" rel="noopener noreferrer">
      ${thumbnail(sized(video.thumbnails, 640), video.id)}
      ${video.duration ? html`<span class="length">${video.durationFmt}</span>` : nothing}
      <span class="unseen">Watch on YouTube</span></a>
    <h1 dir="auto">${video.title}</h1>
    <p><a href=${linkTo(video.channelId)} dir="auto">${video.channel}</a> · <span class="quiet">${video.published}</span></p>
    ${numbers(
      [
        ['Views', 'views', video.viewsFmt, video.views],
        ['Likes', 'likes', video.likesFmt, video.likes],
        ['Comments', 'comments', video.commentsFmt, video.comments],
        ['Length', 'duration', length(video), video.duration],
      ],
      video.hidden,
    )}
    ${description(video.description)}
  </article>`;
}

/** A list of labelled numbers. A hidden count is shown as such; a tooltip has the exact number. */
export function numbers(list, hidden = []) {
  return html`<dl class="numbers">${list.map(
    ([name, field, text, value]) => html`<div><dt>${name}</dt>
    <dd title=${hidden.includes(field) ? 'Hidden by YouTube' : number(value)}>${hidden.includes(field) ? 'hidden' : text}</dd></div>`,
  )}</dl>`;
}

/** A description. A long one is collapsed. */
export function description(text) {
  if (!text?.trim()) return nothing;
  const body = html`<p class="written" dir="auto">${text}</p>`;
  const isLong = text.length > 400 || text.split('\n').length > 8;
  return isLong ? html`<details class="description"><summary>Description</summary>${body}</details>` : body;
}
