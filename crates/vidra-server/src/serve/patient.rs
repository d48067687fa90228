//! A stream that ends by itself when its caller takes too long: to send the head of a request, to ask
//! again, or to take what is sent.
//!
//! One timer a connection, set anew only when it fires: a timer for each request would be a good part
//! of what an answer from the cache costs.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::{Limits, refusal};
use crate::drain::Drain;

/// What a connection is at, as its requests tell.
pub(super) struct Activity {
    begun: AtomicU64,
    ended: AtomicU64,
    opened: Instant,
    /// When the last request ended, in milliseconds since then.
    quiet_since: AtomicU64,
    drain: Drain,
    /// Of HTTP/2, where a caller can leave one answer lying while it takes others: for each that is
    /// under way since when nothing of it was taken.
    lying: Option<Mutex<Vec<Weak<Lying>>>>,
}

/// Since when the next piece of an answer lies there and is not taken.
type Lying = Mutex<Option<Instant>>;

/// A request under way, until its answer has been handed over.
pub(super) struct Busy {
    activity: Arc<Activity>,
    lying: Option<Arc<Lying>>,
    /// When it ended, where that is known before.
    ended: Option<Instant>,
}

impl Activity {
    pub(super) fn new(drain: Drain, is_http2: bool) -> Self {
        Self {
            begun: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            opened: Instant::now(),
            quiet_since: AtomicU64::new(0),
            drain,
            lying: is_http2.then(Mutex::default),
        }
    }

    pub(super) fn begin(self: &Arc<Self>) -> Busy {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let lying = self.lying.as_ref().map(|all| {
            let own = Arc::new(Lying::default());
            let mut all = lock(all);
            all.retain(|lying| lying.strong_count() > 0);
            all.push(Arc::downgrade(&own));
            own
        });
        Busy { activity: Arc::clone(self), lying, ended: None }
    }

    fn is_busy(&self) -> bool {
        self.begun.load(Ordering::Relaxed) != self.ended.load(Ordering::Relaxed)
    }

    fn quiet_since(&self) -> Instant {
        self.opened + Duration::from_millis(self.quiet_since.load(Ordering::Relaxed))
    }

    fn lying_since(&self) -> Option<Instant> {
        let all = lock(self.lying.as_ref()?);
        all.iter().filter_map(|lying| *lock(&*lying.upgrade()?)).min()
    }
}

impl Busy {
    pub(super) fn is_draining(&self) -> bool {
        self.activity.drain.has_begun()
    }

    /// Notes that the answer is there as a whole at that time: in HTTP/1 it is handed over there and then.
    pub(super) fn ends(&mut self, at: Instant) {
        self.ended = self.lying.is_none().then_some(at);
    }

    /// Notes that a piece of the answer lies there, or that there is none at the moment.
    pub(super) fn lies_there(&self, lies_there: bool) {
        if let Some(lying) = &self.lying {
            *lock(lying) = lies_there.then(Instant::now);
        }
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let Activity { opened, quiet_since, ended, .. } = &*self.activity;
        let now = self.ended.unwrap_or_else(Instant::now);
        let since_opened = now.saturating_duration_since(*opened);
        quiet_since.store(since_opened.as_millis() as u64, Ordering::Relaxed);
        ended.fetch_add(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The stream of a connection.
pub(super) struct Patient<S> {
    stream: S,
    activity: Arc<Activity>,
    limits: Limits,
    /// The shortest of them: no limit that begins from now on is reached before.
    shortest: Duration,
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

/// What the caller is to do next, where no request is under way.
#[derive(Debug, Clone, Copy)]
enum WaitingFor {
    FirstByte(Instant),
    /// Since when is noted once it is really waited for: most heads come whole, and to look at the
    /// clock for each of them would be for nothing.
    RestOfHead(Option<Instant>),
    NextRequest,
}

impl<S> Patient<S> {
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
            instead: None,
        }
    }

    /// Takes up what requests have told since.
    fn look(&mut self) {
        let begun = self.activity.begun.load(Ordering::Relaxed);
        if begun != self.begun {
            self.begun = begun;
            self.waiting_for = WaitingFor::NextRequest;
        }
    }

    fn has_read(&mut self, bytes: usize) {
        self.look();
        let is_first = !matches!(self.waiting_for, WaitingFor::RestOfHead(_));
        // In HTTP/2 much else is sent between requests.
        let may_be_head = self.activity.lying.is_none() || self.begun == 0;
        if bytes > 0 && is_first && may_be_head && !self.activity.is_busy() {
            self.waiting_for = WaitingFor::RestOfHead(None);
        }
    }

    fn has_to_wait(&mut self) {
        self.look();
        if let WaitingFor::RestOfHead(since) = &mut self.waiting_for {
            since.get_or_insert_with(Instant::now);
        }
    }

    fn deadline(&self) -> Option<Instant> {
        let stalled = self.stalled_since.into_iter().chain(self.activity.lying_since()).min();
        let stalled = stalled.map(|since| since + self.limits.stall_timeout);
        let silent = match self.waiting_for {
            _ if self.activity.is_busy() => None,
            WaitingFor::FirstByte(since) => Some(since + self.limits.head_timeout),
            WaitingFor::RestOfHead(since) => since.map(|since| since + self.limits.head_timeout),
            WaitingFor::NextRequest => Some(self.activity.quiet_since() + self.limits.idle_timeout),
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
            let latest = now + self.shortest;
            let next = deadline.map_or(latest, |deadline| deadline.min(latest));
            self.timer.as_mut().reset(next);
        }
    }

    /// The outcome of writing: nothing taken counts from when it began.
    fn written<T>(
        &mut self,
        cx: &mut Context<'_>,
        written: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
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
        this.has_to_wait();
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
        let flushed = match self.poll_instead(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.stream).poll_flush(cx),
            other => other,
        };
        self.written(cx, flushed)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let closed = match self.poll_instead(cx) {
            Poll::Ready(Ok(())) => Pin::new(&mut self.stream).poll_shutdown(cx),
            other => other,
        };
        self.written(cx, closed)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    /// Takes what is written, and never gets rid of it: as encryption does whose caller takes nothing.
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
    async fn the_end_of_a_connection_has_a_limit_too() {
        let limits = Limits::default();
        let activity = Arc::new(Activity::new(Drain::default(), false));
        let _busy = activity.begin();
        let patient = || Patient::new(Stuck, &limits, Arc::clone(&activity));
        let begun = Instant::now();
        for ended in [patient().flush().await, patient().shutdown().await] {
            assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
        }
        assert_eq!(begun.elapsed(), 2 * limits.stall_timeout);
    }
}
