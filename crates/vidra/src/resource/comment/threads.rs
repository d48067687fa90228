//! The comment threads of a video, page by page.

use std::sync::Arc;

use super::{PAGE, threads_call, words_of};
use crate::cache::Cached;
use crate::comment::{Comment, CommentOrder, CommentQuery, CommentThread};
use crate::context::Context;
use crate::data_api::wire;
use crate::error::{ErrorKind, Result};
use crate::ident::{CommentId, VideoId};
use crate::list::Position;
use crate::resource::Services;
use crate::resource::lifetime::Resource;
use crate::resource::lookup::{self, Lookup};
use crate::resource::paged::{self, Items, PagedList, Progress, RecordPage, Records};

/// The comment threads of a video without an upper bound. The limit of the query does not count.
#[derive(Debug, Clone)]
pub(crate) struct Threads {
    pub(crate) video: VideoId,
    pub(crate) order: CommentOrder,
    pub(crate) all_replies: bool,
    /// The words that a thread must contain, in lower case.
    words: Vec<String>,
}

impl Threads {
    pub(crate) fn new(video: VideoId, query: &CommentQuery) -> Self {
        let words = words_of(query.search.as_deref().unwrap_or_default());
        Self { video, order: query.order, all_replies: query.all_replies, words }
    }
}

impl PagedList for Threads {
    type Item = CommentThread;

    /// A video can have far more comments than a playlist has entries.
    const MAX_PAGES: usize = 10_000;

    fn key(&self) -> String {
        let replies = if self.all_replies { "all" } else { "preview" };
        let (video, order) = (self.video, lookup::order_word(self.order));
        format!("threads/{video}/{order}/{replies}/{}", self.words.join(" "))
    }

    /// It costs 1 unit for each upstream page of 100 threads. With all replies, it costs 1 for each page of replies
    /// that YouTube did not send with a thread. A search costs what the pages that it reads cost.
    async fn read(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        from: &Position,
        limit: Option<usize>,
        progress: &mut Progress,
    ) -> Result<Cached<Items<CommentThread>>> {
        paged::read(services, ctx, self, Default::default(), from, limit, progress).await
    }
}

impl Records for Threads {
    type Item = CommentThread;

    const RESOURCE: Resource = Resource::Comments;
    const PAGE_SIZE: usize = PAGE;

    fn page(&self, token: &str) -> Lookup {
        Lookup::ThreadPage(self.video, self.order, token.to_owned())
    }

    fn is_filter(&self) -> bool {
        !self.words.is_empty()
    }

    async fn complete(
        &self,
        services: &Arc<Services>,
        ctx: &Context,
        mut thread: CommentThread,
    ) -> Result<(Option<CommentThread>, Option<Cached>)> {
        let record = match self.all_replies {
            true => add_replies(services, ctx, &mut thread).await?,
            false => None,
        };
        let is_listed = !self.is_filter() || thread.contains(&self.words);
        Ok((is_listed.then_some(thread), record))
    }
}

/// Adds the replies that YouTube did not send with the thread. Returns their record.
pub(super) async fn add_replies(
    services: &Arc<Services>,
    ctx: &Context,
    thread: &mut CommentThread,
) -> Result<Option<Cached>> {
    let Some(id) = CommentId::bare(&thread.id).filter(|_| !thread.has_all_replies()) else {
        return Ok(None);
    };
    match services.read_record(ctx, &Lookup::Replies(id)).await {
        Ok(record) => {
            thread.replies = record.decode::<Vec<Comment>>()?;
            Ok(Some(record))
        }
        // The thread was deleted after its page was made. The included replies are all there are.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Fetches the page with this token. It costs 1 unit.
pub(crate) async fn fetch(
    services: &Services,
    ctx: &Context,
    video: VideoId,
    order: CommentOrder,
    token: &str,
) -> Result<RecordPage<CommentThread>> {
    let call = threads_call(video, order, PAGE);
    let from_wire = |thread: wire::CommentThread| Some(CommentThread::from_wire(thread));
    RecordPage::fetch(services, ctx, call, token, from_wire).await
}
