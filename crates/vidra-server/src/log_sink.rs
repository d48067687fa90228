//! A log that never blocks. Lines go into a bounded buffer, and a thread of their own writes them in large pieces.
//!
//! If nobody reads the log, the buffer fills up, and further lines are dropped and counted. Neither a request nor the
//! shutdown waits for the reader.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The maximum size of the lines that wait to be written.
const MAX_BUFFER_BYTES: usize = 1 << 20;

/// How long a line waits for others, so that they are written together. Waking a thread and writing one line costs as
/// much as a cached response.
const GROUP_TIME: Duration = Duration::from_millis(10);

/// The size of the lines that are written without waiting for others.
const GROUP_BYTES: usize = 64 << 10;

/// The maximum length of a line, with its line feed. Longer ones do not fit into the pipes of some collectors at once.
const MAX_LINE_BYTES: usize = 4096;

/// A buffered log. Clones share it.
#[derive(Clone)]
pub struct LogSink(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    /// Wakes the thread that writes.
    filled: Condvar,
    /// Wakes the threads that wait for the end of a write.
    written: Condvar,
    dropped: AtomicU64,
}

#[derive(Default)]
struct State {
    buffer: Vec<u8>,
    /// Whether the thread waits for the first line.
    is_idle: bool,
    /// Whether somebody waits for the end of the write.
    is_urgent: bool,
    /// Lines that were dropped since the log last reported it.
    unreported: u64,
}

impl LogSink {
    /// Starts the thread that writes to `out`. `report` is the line that says how many lines were dropped; it is
    /// written as soon as the output accepts lines again.
    ///
    /// # Errors
    ///
    /// An error of the system if it cannot start a thread.
    pub fn new(
        out: impl Write + Send + 'static,
        report: fn(u64) -> String,
    ) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            state: Mutex::default(),
            filled: Condvar::new(),
            written: Condvar::new(),
            dropped: AtomicU64::new(0),
        });
        let of_thread = Arc::clone(&shared);
        thread::Builder::new().name("log".to_owned()).spawn(move || of_thread.run(out, report))?;
        Ok(Self(shared))
    }

    /// Adds a line, which `write` appends to the buffer without its line feed. It takes no more time than `write`
    /// itself, because the lock is never held during a write to the output.
    pub fn add(&self, write: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.0.lock();
        if state.buffer.len() >= MAX_BUFFER_BYTES {
            state.unreported += 1;
            self.0.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let start = state.buffer.len();
        write(&mut state.buffer);
        shorten(&mut state.buffer, start);
        state.buffer.push(b'\n');
        let is_group_full = start < GROUP_BYTES && state.buffer.len() >= GROUP_BYTES;
        if std::mem::take(&mut state.is_idle) || is_group_full {
            self.0.filled.notify_one();
        }
    }

    /// The number of lines that were dropped, because the output was stuck.
    pub fn dropped(&self) -> u64 {
        self.0.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all lines are written, but not longer than `limit`: a stuck log must not prevent the end of the
    /// process.
    pub fn flush(&self, limit: Duration) {
        let deadline = Instant::now() + limit;
        let mut state = self.0.lock();
        state.is_urgent = true;
        self.0.filled.notify_one();
        while !(state.is_idle && state.buffer.is_empty()) {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.0.written.wait_timeout(state, left);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

impl Shared {
    fn run(&self, mut out: impl Write, report: fn(u64) -> String) {
        let mut lines = Vec::new();
        loop {
            let mut state = self.lock();
            state.is_idle = state.buffer.is_empty();
            self.written.notify_all();
            let wait = self.filled.wait_while(state, |state| state.buffer.is_empty());
            state = wait.unwrap_or_else(PoisonError::into_inner);
            state.is_idle = false;
            let is_short = |state: &mut State| state.buffer.len() < GROUP_BYTES && !state.is_urgent;
            let wait = self.filled.wait_timeout_while(state, GROUP_TIME, is_short);
            state = wait.unwrap_or_else(PoisonError::into_inner).0;
            state.is_urgent = false;
            std::mem::swap(&mut state.buffer, &mut lines);
            let dropped = std::mem::take(&mut state.unreported);
            drop(state);
            if dropped > 0 {
                lines.extend_from_slice(report(dropped).as_bytes());
                lines.push(b'\n');
            }
            if out.write_all(&lines).and_then(|()| out.flush()).is_err() {
                // A full disk or a closed pipe.
                let lost = lines.iter().filter(|byte| **byte == b'\n').count() as u64;
                self.dropped.fetch_add(lost, Ordering::Relaxed);
                self.lock().unreported += lost;
            }
            lines.clear();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shortens the line that begins at `start`. A JSON object stays one: it becomes the text of another.
fn shorten(buffer: &mut Vec<u8>, start: usize) {
    let length = buffer.len() - start;
    if length < MAX_LINE_BYTES {
        return;
    }
    let is_json = buffer.get(start) == Some(&b'{');
    // Escapes can make the text up to six times as long.
    let keep = if is_json { MAX_LINE_BYTES / 7 } else { MAX_LINE_BYTES - 1 };
    let line = String::from_utf8_lossy(&buffer[start..start + keep]).into_owned();
    buffer.truncate(start);
    if is_json {
        let text = serde_json::json!({
            "level": "WARN", "message": "log line too long", "bytes": length, "line": line,
        });
        buffer.extend_from_slice(text.to_string().as_bytes());
    } else {
        buffer.extend_from_slice(line.trim_end_matches('\u{fffd}').as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::mpsc;

    use super::*;

    /// An output that blocks until it is released, and keeps what it got.
    struct Slow {
        release: mpsc::Receiver<()>,
        written: Arc<Mutex<Vec<u8>>>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let _ = self.release.recv();
            self.written.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn slow() -> (LogSink, mpsc::Sender<()>, Arc<Mutex<Vec<u8>>>) {
        let ((sender, release), written) = (mpsc::channel(), Arc::default());
        let out = Slow { release, written: Arc::clone(&written) };
        (LogSink::new(out, |dropped| format!("{dropped} dropped")).unwrap(), sender, written)
    }

    #[test]
    fn review_s6_a_stuck_output_drops_lines_and_blocks_nobody() {
        let (log, release, written) = slow();
        let line = "x".repeat(1000);
        for _ in 0..3000 {
            log.add(|buffer| buffer.extend_from_slice(line.as_bytes()));
        }
        let dropped = log.dropped();
        assert!((900..2000).contains(&dropped), "{dropped}");
        log.flush(Duration::from_millis(1));
        drop(release);
        log.flush(Duration::from_secs(10));
        let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let is_report = |line: &&str| line.ends_with("dropped");
        assert_eq!(
            written.lines().filter(is_report).collect::<Vec<_>>(),
            [format!("{dropped} dropped")]
        );
        assert_eq!(written.lines().count() as u64, 3000 - dropped + 1, "all others are written");
    }

    #[test]
    fn review_s11_a_line_has_at_most_4_kb_and_json_stays_json() {
        let (log, release, written) = slow();
        drop(release);
        let path = "\u{1}é\"".repeat(20_000);
        let json = serde_json::json!({ "path": path }).to_string();
        for line in [json.as_str(), &path, "short", "{\"short\":1}"] {
            log.add(|buffer| buffer.extend_from_slice(line.as_bytes()));
        }
        log.flush(Duration::from_secs(10));
        let written = String::from_utf8(written.lock().unwrap().clone()).unwrap();
        let lines: Vec<&str> = written.lines().collect();
        assert!(lines.iter().all(|line| line.len() < MAX_LINE_BYTES));
        let shortened: serde_json::Value = serde_json::from_str(lines[0]).unwrap();
        assert_eq!(shortened["bytes"], json.len());
        assert_eq!(lines[2..], ["short", "{\"short\":1}"]);
    }
}
