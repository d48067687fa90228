//! A stream that fails when its caller takes too long to send a request head, to send the next request, or
//! to read a response.
//!
//! Each connection has one timer, which is reset only when it fires. A timer per request would be a large
//! part of the cost of a cached response.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::Limits;
use super::activity::Activity;

/// The stream of a connection, with the timeouts of [`Limits`].
pub(super) struct TimeoutStream<S> {
    stream: S,
    activity: Arc<Activity>,
    limits: Limits,
    /// The shortest timeout: no deadline that starts now is earlier than that.
    shortest: Duration,
    /// Fires no later than the next deadline, which may have moved on by then.
    timer: Pin<Box<Sleep>>,
    /// How many requests had begun at the last look.
    begun: u64,
    waiting_for: WaitingFor,
    /// Since when a write waits for the caller.
    stalled_since: Option<Instant>,
}

/// The bytes that the caller has to send next while no request is in flight.
#[derive(Debug, Clone, Copy)]
enum WaitingFor {
    FirstByte(Instant),
    /// `None` until a read has to wait: most heads arrive whole, and need no look at the clock.
    RestOfHead(Option<Instant>),
    NextRequest,
}

impl<S> TimeoutStream<S> {
    pub(super) fn new(stream: S, limits: &Limits, activity: Arc<Activity>) -> Self {
        let Limits { head_timeout, idle_timeout, stall_timeout, .. } = *limits;
        let shortest = head_timeout.min(idle_timeout).min(stall_timeout);
        Self {
            stream,
            activity,
            limits: limits.clone(),
            shortest,
            timer: Box::pin(sleep(shortest)),
            begun: 0,
            waiting_for: WaitingFor::FirstByte(Instant::now()),
            stalled_since: None,
        }
    }

    /// Notices requests that have begun.
    fn update(&mut self) {
        let begun = self.activity.begun();
        if begun != self.begun {
            self.begun = begun;
            self.waiting_for = WaitingFor::NextRequest;
        }
    }

    fn on_read(&mut self, bytes: usize) {
        self.update();
        let is_first = !matches!(self.waiting_for, WaitingFor::RestOfHead(_));
        // HTTP/2 sends other frames between requests.
        let may_be_head = !self.activity.is_http2() || self.begun == 0;
        if bytes > 0 && is_first && may_be_head && !self.activity.is_busy() {
            self.waiting_for = WaitingFor::RestOfHead(None);
        }
    }

    fn on_pending_read(&mut self) {
        self.update();
        if let WaitingFor::RestOfHead(since) = &mut self.waiting_for {
            since.get_or_insert_with(Instant::now);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let stalled = self.stalled_since.into_iter().chain(self.activity.stalled_since()).min();
        let stalled = stalled.map(|since| since + self.limits.stall_timeout);
        let silent = match self.waiting_for {
            _ if self.activity.is_busy() => None,
            WaitingFor::FirstByte(since) => Some(since + self.limits.head_timeout),
            WaitingFor::RestOfHead(since) => since.map(|since| since + self.limits.head_timeout),
            WaitingFor::NextRequest => Some(self.activity.quiet_since() + self.limits.idle_timeout),
        };
        stalled.into_iter().chain(silent).min()
    }

    /// Resolves to an error when a deadline has passed.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            let deadline = self.deadline();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            let latest = now + self.shortest;
            let next = deadline.map_or(latest, |deadline| deadline.min(latest));
            self.timer.as_mut().reset(next);
        }
    }

    /// Applies the stall timeout to the result of a write.
    fn on_write<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.stalled_since = None;
            return written;
        }
        self.stalled_since.get_or_insert_with(Instant::now);
        self.poll_deadline(cx).map(Err)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimeoutStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, buffer) {
            this.on_read(buffer.filled().len() - before);
            return Poll::Ready(read);
        }
        this.on_pending_read();
        this.poll_deadline(cx).map(Err)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimeoutStream<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.on_write(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.on_write(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(cx);
        self.on_write(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = Pin::new(&mut self.stream).poll_shutdown(cx);
        self.on_write(cx, closed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;
    use crate::drain::Drain;

    /// Accepts every write and never flushes it, as TLS does when its caller reads nothing.
    struct Stuck;

    impl AsyncWrite for Stuck {
        fn poll_write(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            Poll::Ready(Ok(bytes.len()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Pending
        }
    }

    #[tokio::test(start_paused = true)]
    async fn flush_and_shutdown_time_out() {
        let limits = Limits::default();
        let activity = Arc::new(Activity::new(Drain::default(), false));
        let _request = activity.begin();
        let stream = || TimeoutStream::new(Stuck, &limits, Arc::clone(&activity));
        let begun = Instant::now();
        for ended in [stream().flush().await, stream().shutdown().await] {
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(begun.elapsed(), 2 * limits.stall_timeout);
    }
}
