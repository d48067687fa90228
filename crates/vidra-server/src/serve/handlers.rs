//! Work of a connection on another runtime. It ends with the connection.

use std::future::{Future, pending};
use std::panic::resume_unwind;

use axum::body::Body;
use futures_util::stream;
use http_body::Body as _;
use http_body_util::{BodyExt, StreamBody};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::app::ResponseBody;

/// How many frames of a stream may wait for the connection. Their memory is in no budget.
const FRAMES: usize = 1;

/// Runs work on another runtime. Dropping the future cancels the work, and a panic of the work is raised here.
pub(super) async fn run_on<F>(runtime: &Handle, work: F) -> F::Output
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    let mut task = JoinSet::new();
    task.spawn_on(work, runtime);
    result_of(&mut task).await
}

/// Polls the body of a response on another runtime if it is a stream: a stream makes its items while it is polled. Bodies of a
/// known length are bytes in memory or in a file, and stay here.
pub(super) fn body_on(runtime: &Handle, body: ResponseBody) -> ResponseBody {
    match body {
        ResponseBody::Right(body) if body.size_hint().exact().is_none() => {
            ResponseBody::Right(stream_on(runtime, body))
        }
        ready => ready,
    }
}

fn stream_on(runtime: &Handle, mut body: Body) -> Body {
    let (sender, receiver) = mpsc::channel(FRAMES);
    let mut task = JoinSet::new();
    let forward = async move {
        while let Some(frame) = body.frame().await {
            let is_last = frame.is_err();
            if sender.send(frame).await.is_err() || is_last {
                return;
            }
        }
    };
    task.spawn_on(forward, runtime);
    let frames = stream::unfold((receiver, task), async |(mut receiver, mut task)| {
        let frame = receiver.recv().await;
        if frame.is_none() {
            // A panic must not look like the end of the stream.
            result_of(&mut task).await;
        }
        Some((frame?, (receiver, task)))
    });
    Body::new(StreamBody::new(frames))
}

/// Waits for the only task of a set.
async fn result_of<T: 'static>(task: &mut JoinSet<T>) -> T {
    match task.join_next().await {
        Some(Ok(done)) => done,
        Some(Err(error)) if error.is_panic() => resume_unwind(error.into_panic()),
        // The other runtime has ended, and the process is about to.
        Some(Err(_)) | None => pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::panic::AssertUnwindSafe;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::thread;
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::{FutureExt, StreamExt};
    use http_body::{Frame, SizeHint};
    use tokio::runtime::Builder;
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    fn body_of(items: impl futures_util::Stream<Item = &'static str> + Send + 'static) -> Body {
        Body::from_stream(items.map(|it| Ok::<_, std::io::Error>(Bytes::from(it))))
    }

    #[tokio::test]
    async fn work_returns_its_result_and_raises_its_panic() {
        let runtime = Handle::current();
        assert_eq!(run_on(&runtime, async { 1 }).await, 1);
        let panics = run_on(&runtime, async { panic!("planned") });
        assert!(AssertUnwindSafe(panics).catch_unwind().await.is_err());
    }

    #[tokio::test]
    async fn a_stream_arrives_whole_and_raises_its_panic() {
        let runtime = Handle::current();
        let whole = stream_on(&runtime, body_of(stream::iter(["a", "b", "c", "d", "e", "f"])));
        assert_eq!(whole.collect().await.unwrap().to_bytes(), "abcdef");
        let items = stream::iter([true, false]);
        let broken = items.map(|is_good| if is_good { "a" } else { panic!("planned") });
        let broken = stream_on(&runtime, body_of(broken)).collect();
        assert!(AssertUnwindSafe(broken).catch_unwind().await.is_err());
    }

    /// A body of one byte: whether the thread that polls it has the name `handlers`.
    struct OfThread {
        is_stream: bool,
        has_ended: bool,
    }

    impl http_body::Body for OfThread {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.has_ended {
                return Poll::Ready(None);
            }
            self.has_ended = true;
            let is_handler = thread::current().name() == Some("handlers");
            let byte = if is_handler { "1" } else { "0" };
            Poll::Ready(Some(Ok(Frame::data(Bytes::from(byte)))))
        }

        fn size_hint(&self) -> SizeHint {
            if self.is_stream { SizeHint::default() } else { SizeHint::with_exact(1) }
        }
    }

    #[tokio::test]
    async fn only_streams_are_polled_on_the_other_runtime() {
        let other = Builder::new_multi_thread().worker_threads(1).thread_name("handlers").build();
        let other = other.unwrap();
        for (is_stream, expected) in [(true, "1"), (false, "0")] {
            let body = Body::new(OfThread { is_stream, has_ended: false });
            let moved = body_on(other.handle(), ResponseBody::Right(body));
            assert_eq!(moved.collect().await.unwrap().to_bytes(), expected, "{is_stream}");
        }
        other.shutdown_background();
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_first_error() {
        let items = stream::iter([Ok("a"), Err(std::io::Error::other("planned")), Ok("b")]);
        let body = Body::from_stream(items.map(|it| it.map(Bytes::from)));
        let mut body = stream_on(&Handle::current(), body);
        let first = body.frame().await.unwrap().unwrap();
        assert_eq!(first.into_data().unwrap(), "a");
        body.frame().await.unwrap().unwrap_err();
        assert!(body.frame().await.is_none());
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_reader_and_waits_for_it() {
        let (held, ended) = oneshot::channel::<()>();
        let (made, mut count) = mpsc::unbounded_channel();
        let items = stream::repeat("a").inspect(move |_| {
            let _held = &held;
            made.send(()).unwrap();
        });
        let mut body = stream_on(&Handle::current(), body_of(items));
        body.frame().await.unwrap().unwrap();
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        // One is read, and one waits for room.
        let mut items = 0;
        while count.try_recv().is_ok() {
            items += 1;
        }
        assert_eq!(items, FRAMES + 2);
        drop(body);
        timeout(LONG, ended).await.expect("the stream ends").unwrap_err();
    }
}
