//! The egress addresses of transcripts: how long requests have to wait, and the state that survives a restart.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use super::Vidra;
use crate::error::Reason;
use crate::resilience::pace::Pace;
use crate::web::WebRequestKind;
use crate::web::egress::saved::EgressState;

impl Vidra {
    /// Whether a transcript request of this handle could be sent now (`None`), or why not, and for how long. With
    /// several egress addresses it is the wait of the address that becomes available first.
    ///
    /// The reason is one of [`Reason::Blocked`] and [`Reason::UpstreamRateLimited`] (YouTube rejects the address),
    /// [`Reason::Unreachable`] (the proxy does), [`Reason::Failing`] (an open circuit breaker), [`Reason::Paced`] (the
    /// rate limit; a background handle leaves a part of the burst) and, for translated transcripts,
    /// [`Reason::TranslationLimited`]. While another request probes an address, it is the usual time of a probe.
    ///
    /// It sends nothing, takes no permit and begins no probe. Requests that are sent meanwhile can extend the wait.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vidra::{Reason, TranscriptQuery, VideoId};
    ///
    #[doc = include_str!("../example.txt")]
    /// # let simulator = vidra_sim::Simulator::new();
    /// # simulator.block_after(0);
    /// # let transport = vidra::InProcess(simulator);
    /// # let pause = Duration::from_secs(900);
    /// # let vidra = vidra::Vidra::builder().transport(transport).web_url("http://sim.invalid").block_pause(pause).build()?;
    /// assert_eq!(vidra.transcript_wait(false), None);
    /// let id = VideoId::parse("txManualAsr")?;
    /// let error = vidra.transcript(id, &TranscriptQuery::default()).await.unwrap_err();
    /// assert_eq!(error.reason(), Reason::Blocked);
    /// let (reason, wait) = vidra.transcript_wait(false).unwrap();
    /// assert_eq!(reason, Reason::Blocked);
    /// assert!(wait > Duration::from_secs(890));
    /// # Ok(()) }
    /// ```
    pub fn transcript_wait(&self, translated: bool) -> Option<(Reason, Duration)> {
        let kind = if translated { WebRequestKind::Translation } else { WebRequestKind::Captions };
        self.services.web.egresses.wait(kind, self.urgency, Instant::now())
    }

    /// The number of machines that share a database and fetched transcripts from the same address within a minute, as this
    /// machine last read it. `None` without a shared database.
    pub fn egress_machines(&self) -> Option<u32> {
        self.services.web.shared.as_ref().map(|shared| shared.pool.machines())
    }

    /// The rate limit of transcript requests from one egress address. `None` if there is no limit.
    /// [`Vidra::addresses`] has the number of addresses.
    ///
    /// ```
    /// use vidra::{Pace, Pacing, Vidra};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> vidra::Result<()> {
    /// let pace = Pace { burst: 100, per_hour: 500 };
    /// let vidra = Vidra::builder().pacing(Pacing::At(pace)).build()?;
    /// assert_eq!(vidra.transcript_pace(), Some(pace));
    /// # Ok(()) }
    /// ```
    pub fn transcript_pace(&self) -> Option<Pace> {
        self.services.web.egresses.pace()
    }

    /// The state of each egress address that a restart must not forget, in the order of the settings. Store it after
    /// [`Vidra::egress_changes`] and at the end of the process, and pass it to [`Vidra::restore_egress_states`] of the
    /// next client. Otherwise a restarted process would send requests from a blocked address at once.
    pub fn egress_states(&self) -> Vec<EgressState> {
        self.services.web.egresses.states(Instant::now())
    }

    /// Restores the state of egress addresses that an earlier client had. It ignores addresses that this client does not
    /// have.
    ///
    /// It never shortens a pause and never lowers the spent part of the rate limit. A pause that is longer than this
    /// client would make it is cut to that.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vidra::{EgressBlock, EgressState, Reason};
    ///
    #[doc = include_str!("../example.txt")]
    /// let left = Duration::from_secs(600);
    /// let mut state = EgressState::new("direct");
    /// state.blocked = Some(EgressBlock { reason: Reason::Blocked, times: 1, left });
    /// vidra.restore_egress_states(&[state]);
    /// assert_eq!(vidra.addresses().blocked, 1);
    /// assert_eq!(vidra.egress_states()[0].blocked.unwrap().times, 1);
    /// # Ok(()) }
    /// ```
    pub fn restore_egress_states(&self, states: &[EgressState]) {
        self.services.web.egresses.restore(states, Instant::now());
    }

    /// Counts the changes of egress addresses: blocked, unreachable or resumed, translations limited, a circuit breaker
    /// opened or closed. Requests within the rate limit are not counted. A change may be seen late, but is never lost.
    ///
    /// All handles of a client share the count. It starts at zero.
    pub fn egress_changes(&self) -> watch::Receiver<u64> {
        self.services.web.egresses.signals.changes.subscribe()
    }
}
