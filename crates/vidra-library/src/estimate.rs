//! The estimated cost of a job before it starts.

use serde::Serialize;
use vidra::{Pace, Result, Vidra};

use crate::job::{JobRequest, JobSource};

/// The estimated cost of a job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Estimate {
    /// The number of videos, at most. Dates can make it smaller.
    pub videos: u64,
    /// The quota units for listing, at most.
    pub units: u64,
    /// The hours at the pace of the service's addresses. The job takes less time if the library already has transcripts.
    pub hours: f64,
    /// The days of quota for the units, after the daily reserve for interactive requests. 0 without units.
    pub quota_days: u64,
}

/// The number of entries on a page of a list. Each page costs one unit.
const PAGE: u64 = 50;

/// How many playlists and channels are read.
const MAX_READ: u64 = 100;

impl Estimate {
    /// Estimates the cost of a job. `vidra` pays 1 unit for each playlist and channel whose size is not cached. Of more
    /// than 100 it reads the first 100, and assumes that the others are as long on average.
    ///
    /// # Errors
    ///
    /// The errors of [`Vidra::playlist_info`] and [`Vidra::channel`].
    pub async fn new(
        vidra: &Vidra,
        request: &JobRequest,
        sources: &[JobSource],
        units_per_day: u64,
    ) -> Result<Self> {
        let (mut videos, mut units) = (0, 0);
        let limit = request.limit.unwrap_or(u64::MAX);
        let (mut read, mut total) = (0, 0);
        for source in sources {
            units += u64::from(matches!(source, JobSource::Channel(_)));
            let size = match source {
                JobSource::Video(_) => {
                    videos += 1;
                    continue;
                }
                _ if read == MAX_READ => total / MAX_READ,
                JobSource::Playlist(id) => vidra.playlist_info(id).await?.item_count.unwrap_or(0),
                JobSource::Channel(channel) => vidra.channel(channel).await?.video_count,
            };
            if read < MAX_READ {
                (read, total) = (read + 1, total + size);
            }
            let wanted = size.min(limit.saturating_sub(videos));
            videos += wanted;
            units += wanted.div_ceil(PAGE).max(1);
        }
        let videos = videos.min(limit);
        let units = request.unit_budget.map_or(units, |budget| units.min(budget));
        // YouTube limits translations about ten times harder.
        let part = if request.transcript.translate.is_some() { 10 } else { 1 };
        let hours = background_pace(vidra)
            .map_or(0.0, |(burst, per_hour)| hours(videos, burst / part, (per_hour / part).max(1)));
        Ok(Self { videos, units, hours, quota_days: units.div_ceil(units_per_day.max(1)) })
    }
}

/// The burst and the hourly pace of all egress addresses together, as jobs may use them: they leave a fifth of the burst
/// to interactive requests. `None` without a limit.
pub(crate) fn background_pace(vidra: &Vidra) -> Option<(u64, u64)> {
    let addresses = vidra.addresses().all.max(1) as u64;
    let Pace { burst, per_hour } = vidra.transcript_pace()?;
    Some((u64::from(burst) * 4 / 5 * addresses, u64::from(per_hour) * addresses))
}

/// The hours that so many transcripts take after the burst.
fn hours(videos: u64, burst: u64, per_hour: u64) -> f64 {
    let hours = videos.saturating_sub(burst) as f64 / per_hour.max(1) as f64;
    (hours * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_takes_no_time() {
        assert_eq!(hours(240, 240, 1_000), 0.0);
        assert_eq!(hours(5_240, 240, 1_000), 5.0);
        assert_eq!(hours(5_480, 480, 2_000), 2.5);
    }
}
