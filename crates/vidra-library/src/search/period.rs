//! Periods of trends.

use jiff::Timestamp;
use jiff::civil::ISOWeekDate;
use jiff::tz::TimeZone;

/// The length of a period.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Period {
    /// A calendar month.
    #[default]
    Month,
    /// A week of ISO 8601, which begins on Monday.
    Week,
    /// A calendar year.
    Year,
}

impl Period {
    /// All lengths, with their words in requests.
    pub const ALL: [(&'static str, Self); 3] =
        [("month", Self::Month), ("week", Self::Week), ("year", Self::Year)];

    /// The name of the period of a time in UTC. Names are in the order of their periods.
    pub(crate) fn label(self, at: Timestamp) -> String {
        let date = at.to_zoned(TimeZone::UTC).date();
        match self {
            Self::Month => format!("{:04}-{:02}", date.year(), date.month()),
            Self::Week => {
                let week: ISOWeekDate = date.iso_week_date();
                format!("{:04}-W{:02}", week.year(), week.week())
            }
            Self::Year => format!("{:04}", date.year()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_period() {
        let table = [
            ("2026-03-26T18:30:00Z", "2026-03", "2026-W13", "2026"),
            ("2027-01-01T00:00:00Z", "2027-01", "2026-W53", "2027"),
            ("2024-12-30T23:59:59.999Z", "2024-12", "2025-W01", "2024"),
        ];
        for (at, month, week, year) in table {
            let at: Timestamp = at.parse().unwrap();
            let found = Period::ALL.map(|(_, period)| period.label(at));
            assert_eq!(found, [month, week, year]);
        }
    }
}
