// The top comments of a video.

import { html, nothing } from './vendor/lit-html.js';
import { fetchJson } from './api.js';
import { date, number, plural } from './format.js';
import { commentsPath } from './link.js';
import { boxes, load, partView } from './loading.js';
import { thumbnail } from './thumbnail.js';

export function comments(page, videoId) {
  const threads = load(page, () => fetchJson(commentsPath(videoId), page));
  return () => html`<section class="comments" aria-labelledby="comments-title">
    <h2 id="comments-title">Top comments</h2>
    ${partView(
      threads,
      'comments',
      (list) =>
        list.length ? html`<ol>${list.map(thread)}</ol>` : html`<p class="quiet">There are no comments.</p>`,
      boxes('line', 'line', 'line'),
    )}
  </section>`;
}

function thread({ topLevelComment, totalReplyCount, replies = [] }) {
  return html`<li>${comment(topLevelComment)}
    ${
      replies.length
        ? html`<details class="replies">
      <summary>${plural(totalReplyCount, 'reply', 'replies')}${
        replies.length < totalReplyCount ? `, the first ${replies.length}` : ''
      }</summary>
      <ol>${replies.map((reply) => html`<li>${comment(reply)}</li>`)}</ol>
    </details>`
        : nothing
    }</li>`;
}

function comment({ authorName, authorProfileImage, text, likeCount, publishedAt }) {
  return html`<article class="comment">
    ${thumbnail(authorProfileImage, authorName, 'round')}
    <div><p class="quiet"><strong dir="auto">${authorName || 'Unknown author'}</strong> · ${date(publishedAt)}${
      likeCount ? ` · ${number(likeCount)} ${likeCount === 1 ? 'like' : 'likes'}` : ''
    }</p>
    <p class="written" dir="auto">${text}</p></div>
  </article>`;
}
