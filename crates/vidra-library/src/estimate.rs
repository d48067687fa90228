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
    /// The hours at the pace of the service's addresses.
    pub hours: f64,
    /// The days of quota for the units, with the units that are left to interactive requests. 0 without units.
    pub quota_days: u64,
}

/// The number of entries on a page of a list. Each page costs one unit.
const PAGE: u64 = 50;

impl Estimate {
    /// Estimates the cost of a job. `vidra` pays 1 unit for each playlist and channel whose size is not cached.
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
        for source in sources {
            let size = match source {
                JobSource::Video(_) => {
                    videos += 1;
                    continue;
                }
                JobSource::Playlist(id) => vidra.playlist_info(id).await?.item_count.unwrap_or(0),
                JobSource::Channel(channel) => {
                    units += 1;
                    vidra.channel(channel).await?.video_count
                }
            };
            let wanted = size.min(limit.saturating_sub(videos));
            videos += wanted;
            units += wanted.div_ceil(PAGE).max(1);
        }
        let videos = videos.min(limit);
        let units = request.unit_budget.map_or(units, |budget| units.min(budget));
        let addresses = vidra.addresses().all.max(1) as u64;
        let hours = vidra.transcript_pace().map_or(0.0, |pace| hours(videos, addresses, pace));
        Ok(Self { videos, units, hours, quota_days: units.div_ceil(units_per_day.max(1)) })
    }
}

/// The hours that so many transcripts take after the burst. Jobs leave a fifth of the burst to interactive requests.
fn hours(videos: u64, addresses: u64, pace: Pace) -> f64 {
    let burst = u64::from(pace.burst) * 4 / 5 * addresses;
    let rate = f64::from(pace.per_hour.max(1)) * addresses as f64;
    let hours = videos.saturating_sub(burst) as f64 / rate;
    (hours * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_burst_takes_no_time() {
        let pace = Pace { burst: 300, per_hour: 1_000 };
        assert_eq!(hours(240, 1, pace), 0.0);
        assert_eq!(hours(5_240, 1, pace), 5.0);
        assert_eq!(hours(5_480, 2, pace), 2.5);
    }
}
