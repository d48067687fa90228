//! Answers that arrive as server-sent events.

use bytes::Bytes;

use super::lines::LineBuffer;
use super::{Body, Service};
use crate::failure::Failure;

/// An answer that arrives as server-sent events.
pub(crate) struct EventStream<'a> {
    service: &'a Service,
    /// The number of entries in the playlist. `None` from an earlier release.
    pub(crate) total_videos: Option<u64>,
    body: Body,
    lines: LineBuffer,
    /// The listing calls before the stream began.
    calls_before: u64,
}

/// Adds the cost of the stream, also if it was not read to its end.
impl Drop for EventStream<'_> {
    fn drop(&mut self) {
        let calls = self.service.listing_calls().saturating_sub(self.calls_before);
        self.service.spending.add(calls);
    }
}

impl<'a> EventStream<'a> {
    pub(super) fn new(
        service: &'a Service,
        body: Body,
        total_videos: Option<u64>,
        calls_before: u64,
    ) -> Self {
        Self { service, total_videos, body, lines: LineBuffer::default(), calls_before }
    }

    /// The data of the next event, or `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failure> {
        loop {
            if let Some(data) = self.lines.next_data() {
                return Ok(Some(data));
            }
            self.service.check_length(&self.lines)?;
            match self.service.next_data(&mut self.body).await? {
                Some(data) => self.lines.push(&data),
                None => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures_util::{StreamExt, stream};
    use http_body::Frame;
    use http_body_util::{BodyExt, StreamBody};
    use tokio::time::{Instant, sleep, timeout};

    use super::super::{LONGEST_LINE, SILENCE, TokenArgs};
    use super::*;
    use crate::failure::Exit;

    fn remote() -> Service {
        Service::remote("http://host:1/", &TokenArgs { token: None }).unwrap()
    }

    /// A body that sends these parts, each after a delay in seconds, and never ends.
    fn endless(parts: Vec<(u64, &'static str)>) -> Body {
        let parts = stream::iter(parts).then(|(wait, part)| async move {
            sleep(Duration::from_secs(wait)).await;
            Ok(Frame::data(Bytes::from_static(part.as_bytes())))
        });
        StreamBody::new(parts.chain(stream::pending())).boxed_unsync()
    }

    fn events(service: &Service, body: Body) -> EventStream<'_> {
        EventStream::new(service, body, None, 0)
    }

    const DAY: Duration = Duration::from_secs(86_400);

    #[track_caller]
    fn is_interruption<T: std::fmt::Debug>(result: Result<T, Failure>, why: &str) {
        match result {
            Err(Failure::Message(Exit::Network, message)) => {
                assert_eq!(message, format!("the answer of http://host:1 broke off: {why}"));
            }
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn silent_service_times_out() {
        let service = remote();
        let mut stream = events(&service, endless(vec![(1, "data: {}\n\ndata: half")]));
        assert_eq!(stream.next().await.unwrap().unwrap(), "{}");
        let began = Instant::now();
        let next = timeout(DAY, stream.next()).await.expect("no hang");
        is_interruption(next, "no data for 60 s");
        assert_eq!(began.elapsed(), SILENCE);
        let read = timeout(DAY, service.read(endless(vec![(1, "["), (59, "1")]))).await;
        is_interruption(read.expect("no hang"), "no data for 60 s");
        assert_eq!(began.elapsed(), SILENCE * 3);
    }

    #[tokio::test(start_paused = true)]
    async fn heartbeats_keep_a_slow_stream_alive() {
        let service = remote();
        let mut parts = vec![(15, ":\n\n"); 1_000];
        parts.push((15, "event: result\nid: 1\ndata: {\"a\":"));
        parts.push((59, "1}\n\n"));
        let mut stream = events(&service, endless(parts));
        assert_eq!(stream.next().await.unwrap().unwrap(), "{\"a\":1}");
    }

    #[tokio::test(start_paused = true)]
    async fn overlong_line_is_rejected() {
        let service = remote();
        let body = || {
            let piece = Bytes::from(vec![b'x'; 1 << 20]);
            let pieces = vec![piece; (LONGEST_LINE >> 20) + 1].into_iter();
            let first = Bytes::from_static(b"{}\n");
            let pieces = std::iter::once(first).chain(pieces).map(|it| Ok(Frame::data(it)));
            StreamBody::new(stream::iter(pieces).chain(stream::pending())).boxed_unsync()
        };
        is_interruption(events(&service, body()).next().await, "a line is longer than 64 MB");
        let mut lines = vec![];
        let write = |line: &[u8]| {
            lines.push(line.to_vec());
            Ok(())
        };
        let read = service.read_lines(body(), write).await;
        is_interruption(read, "a line is longer than 64 MB");
        assert_eq!(lines, [b"{}"], "whole lines are written before");
    }
}
