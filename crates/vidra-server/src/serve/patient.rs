//! A stream that ends by itself when its caller takes too long: to send the head of a request, to ask
//! again, or to take what is sent.
//!
//! One timer a connection, set anew only when it fires: a timer for each request would be a good part
//! of what an answer from the cache costs.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::{Limits, refusal};
use crate::drain::Drain;

/// What a connection is at, as its requests tell.
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    drain: Drain,
}

/// A request under way, until its answer has been handed over.
pub(super) struct Busy(Arc<Activity>);

impl Activity {
    pub(super) fn new(drain: Drain) -> Self {
        Self { begun: AtomicU64::new(0), ended: AtomicU64::new(0), drain }
    }

    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    fn is_busy(&self) -> bool {
        self.begun.load(Ordering::Relaxed) != self.ended.load(Ordering::Relaxed)
    }
}

impl Busy {
    pub(super) fn is_draining(&self) -> bool {
        self.0.drain.has_begun()
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// The stream of a connection.
pub(super) struct Patient<S> {
    stream: S,
    activity: Arc<Activity>,
    limits: Limits,
    /// Fires no later than the next limit is reached, which may have moved on by then.
    timer: Pin<Box<Sleep>>,
    /// How many requests had begun when it was last looked at.
    begun: u64,
    waiting_for: WaitingFor,
    /// Since when the caller has taken nothing of what is there for it.
    stalled_since: Option<Instant>,
    /// What is said in place of hyper's own words.
    instead: Option<(Vec<u8>, usize)>,
}

/// What the caller is to do next.
#[derive(Debug, Clone, Copy)]
enum WaitingFor {
    /// Nothing: its request is under way.
    Nothing,
    FirstByte(Instant),
    NextRequest(Instant),
    RestOfHead(Instant),
}

impl<S> Patient<S> {
    pub(super) fn new(stream: S, limits: &Limits, activity: Arc<Activity>) -> Self {
        Self {
            stream,
            activity,
            limits: limits.clone(),
            timer: Box::pin(sleep(limits.head_timeout)),
            begun: 0,
            waiting_for: WaitingFor::FirstByte(Instant::now()),
            stalled_since: None,
            instead: None,
        }
    }

    /// Takes up what requests have told since.
    fn look(&mut self) {
        let begun = self.activity.begun.load(Ordering::Relaxed);
        if begun != self.begun {
            self.begun = begun;
            self.waiting_for = WaitingFor::Nothing;
        }
    }

    fn has_read(&mut self, bytes: usize) {
        self.look();
        let is_first = !matches!(self.waiting_for, WaitingFor::RestOfHead(_));
        if bytes > 0 && is_first && !self.activity.is_busy() {
            self.waiting_for = WaitingFor::RestOfHead(Instant::now());
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let stalled = self.stalled_since.map(|since| since + self.limits.stall_timeout);
        let silent = match self.waiting_for {
            _ if self.activity.is_busy() => None,
            WaitingFor::Nothing => None,
            WaitingFor::FirstByte(since) | WaitingFor::RestOfHead(since) => {
                Some(since + self.limits.head_timeout)
            }
            WaitingFor::NextRequest(since) => Some(since + self.limits.idle_timeout),
        };
        stalled.into_iter().chain(silent).min()
    }

    /// An error once a limit is reached; until then the caller is waited for.
    fn poll_limits(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            let deadline = self.deadline();
            if deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            // No limit that begins from now on is shorter.
            let latest = now + self.limits.head_timeout;
            let next = deadline.map_or(latest, |deadline| deadline.min(latest));
            self.timer.as_mut().reset(next);
        }
    }

    /// The outcome of writing: nothing taken counts from when it began.
    fn written(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if written.is_ready() {
            self.stalled_since = None;
            return written;
        }
        self.stalled_since.get_or_insert_with(Instant::now);
        self.poll_limits(cx).map(Err)
    }

    /// Whether `bytes` are hyper's own words about a head that it could not read, which are said
    /// better.
    fn replaces(&mut self, bytes: &[u8]) -> bool {
        let Some(better) = refusal::completed(bytes) else { return false };
        self.instead.get_or_insert((better, 0));
        true
    }
}

impl<S: AsyncWrite + Unpin> Patient<S> {
    fn poll_instead(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while let Some((bytes, sent)) = &mut self.instead
            && *sent < bytes.len()
        {
            let written = Pin::new(&mut self.stream).poll_write(cx, &bytes[*sent..]);
            *sent += ready!(written)?;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patient<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(cx, buffer) {
            this.has_read(buffer.filled().len() - before);
            return Poll::Ready(read);
        }
        this.look();
        if matches!(this.waiting_for, WaitingFor::Nothing) && !this.activity.is_busy() {
            this.waiting_for = WaitingFor::NextRequest(Instant::now());
        }
        this.poll_limits(cx).map(Err)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patient<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.replaces(bytes) {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if let [bytes] = slices
            && self.replaces(bytes)
        {
            return Poll::Ready(Ok(bytes.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_instead(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
