//! The failures of many items, grouped by their reason: a block of an address fails all items alike, and one
//! line is enough for it.

use std::time::Duration;

use tokio::time::Instant;
use vidra::{ErrorKind, Reason};

use super::{Exit, concerns_service, print_error, try_again};

/// The failure of one of several items.
#[derive(Debug, Clone)]
pub(crate) struct FailedItem {
    /// The short name of the item among others: its id, or its position.
    pub(crate) label: String,
    /// The name of the item by itself.
    pub(crate) name: String,
    /// The cause and the remedy, without the item.
    pub(crate) message: String,
    pub(crate) reason: Option<Reason>,
    pub(crate) retry_after: Option<Duration>,
}

/// The kind of the items.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ItemKind {
    /// Entries of a playlist.
    Entry,
    /// Requests of one command.
    Request,
    /// Arguments of a command.
    Id,
}

impl ItemKind {
    /// The number of items with their name.
    pub(crate) fn counted(self, count: usize) -> String {
        let (one, many) = match self {
            Self::Entry => ("entry", "entries"),
            Self::Request => ("request", "requests"),
            Self::Id => ("id", "ids"),
        };
        format!("{count} {}", if count == 1 { one } else { many })
    }
}

/// Failures in the order of their first occurrence, grouped by reason. Failures without a known reason are
/// grouped by their message.
#[derive(Debug, Default)]
pub(crate) struct FailureGroups(Vec<Group>);

#[derive(Debug)]
struct Group {
    items: Vec<FailedItem>,
    /// When a retry can help.
    until: Option<Instant>,
}

/// At most so many failures for the same reason get a line each.
const FEW: usize = 3;

/// At most so many items of a group are named.
const NAMED: usize = 10;

impl FailureGroups {
    pub(crate) fn add(&mut self, item: FailedItem) {
        let until = item.retry_after.and_then(|wait| Instant::now().checked_add(wait));
        let is_same = |group: &&mut Group| match (group.first().reason, item.reason) {
            (None, None) => group.first().message == item.message,
            (one, other) => one == other,
        };
        match self.0.iter_mut().find(is_same) {
            Some(group) => {
                group.until = group.until.max(until);
                group.items.push(item);
            }
            None => self.0.push(Group { items: vec![item], until }),
        }
    }

    /// Adds all failures of another run.
    pub(crate) fn join(&mut self, other: Self) {
        other.0.into_iter().flat_map(|group| group.items).for_each(|item| self.add(item));
    }

    /// How many items failed.
    pub(crate) fn len(&self) -> usize {
        self.0.iter().map(|group| group.items.len()).sum()
    }

    /// How many items failed because of the service and not because of the item.
    pub(crate) fn of_service(&self) -> usize {
        let of_service = self.0.iter().filter(|group| group.concerns_service());
        of_service.map(|group| group.items.len()).sum()
    }

    /// Prints all failures.
    pub(crate) fn print(&self, kind: ItemKind) {
        self.0.iter().flat_map(|group| group.lines(kind)).for_each(|line| print_error(&line));
    }

    /// Prints a line for each failure of the service.
    pub(crate) fn print_of_service(&self, kind: ItemKind) {
        let of_service = self.0.iter().filter(|group| group.concerns_service());
        of_service.for_each(|group| print_error(&group.line(kind)));
    }

    /// The exit code. A failure of the service decides; otherwise it is `Missing` if other items succeeded, and
    /// the worst failure if none did.
    pub(crate) fn exit(&self, have_others_succeeded: bool) -> Option<Exit> {
        let worst = self.0.iter().map(|group| group.exit()).max()?;
        let is_of_service = self.of_service() > 0;
        Some(if is_of_service {
            Exit::Upstream
        } else if have_others_succeeded {
            Exit::Missing
        } else {
            worst
        })
    }
}

impl Group {
    fn first(&self) -> &FailedItem {
        &self.items[0]
    }

    fn concerns_service(&self) -> bool {
        self.first().reason.is_some_and(concerns_service)
    }

    fn lines(&self, kind: ItemKind) -> Vec<String> {
        if !self.concerns_service() && self.items.len() <= FEW {
            let line = |item: &FailedItem| format!("{}: {}", item.name, item.message);
            return self.items.iter().map(line).collect();
        }
        vec![self.line(kind)]
    }

    /// The line for all items: how many, why, and when to try again.
    fn line(&self, kind: ItemKind) -> String {
        let FailedItem { name, message, reason, .. } = self.first();
        let is_same = self.items.iter().all(|item| item.message == *message);
        let why = match reason {
            // Messages about an item contain its id.
            Some(reason) if !is_same => reason.meaning().trim_end_matches('.'),
            _ => message,
        };
        let count = self.items.len();
        let mut line = format!("{} failed: {why}", kind.counted(count));
        if count == 1 {
            line += &format!(" ({name})");
        } else if !self.concerns_service() {
            let named: Vec<&str> =
                self.items.iter().take(NAMED).map(|item| item.label.as_str()).collect();
            let more = if count > NAMED { ", …" } else { "" };
            line += &format!(" ({}{more})", named.join(", "));
        }
        let wait = self.until.map(|until| until.saturating_duration_since(Instant::now()));
        if let Some(wait) = wait.filter(|wait| !wait.is_zero()) {
            line += &format!("; {}", try_again(wait));
        }
        line
    }

    fn exit(&self) -> Exit {
        match self.first().reason.map(Reason::kind) {
            Some(ErrorKind::InvalidInput) => Exit::Usage,
            None | Some(ErrorKind::NotFound | ErrorKind::Forbidden) => Exit::Missing,
            Some(ErrorKind::Unreachable | ErrorKind::Timeout) => Exit::Network,
            Some(_) => Exit::Upstream,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(number: usize, reason: Reason, message: &str) -> FailedItem {
        let wait = (reason == Reason::Blocked).then_some(Duration::from_secs(900));
        FailedItem {
            label: number.to_string(),
            name: format!("{number}. A title"),
            message: message.to_owned(),
            reason: Some(reason),
            retry_after: wait,
        }
    }

    fn groups(items: &[(usize, Reason, &str)]) -> FailureGroups {
        let mut groups = FailureGroups::default();
        items.iter().for_each(|(number, reason, why)| groups.add(item(*number, *reason, why)));
        groups
    }

    fn lines(groups: &FailureGroups) -> Vec<String> {
        groups.0.iter().flat_map(|group| group.lines(ItemKind::Entry)).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn users_7_a_block_is_one_line_with_count_reason_and_time() {
        let blocked: Vec<_> =
            (1..=34).map(|number| (number, Reason::Blocked, "YouTube blocks us")).collect();
        let groups = groups(&blocked);
        let lines = lines(&groups);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let (why, when) = lines[0].split_once(" (at ").unwrap();
        assert_eq!(why, "34 entries failed: YouTube blocks us; try again in 15m");
        assert!(when.len() == "18:59 UTC)".len() && when.ends_with(" UTC)"), "{when}");
        assert_eq!((groups.len(), groups.of_service()), (34, 34));
        assert_eq!(groups.exit(true), Some(Exit::Upstream));
    }

    #[tokio::test(start_paused = true)]
    async fn users_7_few_failures_of_items_have_a_line_each_and_many_have_one() {
        let none = |number| (number, Reason::CaptionsDisabled, ["a", "b", "c", "d"][number - 1]);
        let three = groups(&[none(1), none(2), none(3)]);
        assert_eq!(lines(&three), ["1. A title: a", "2. A title: b", "3. A title: c"]);
        let four = groups(&[none(1), none(2), none(3), none(4)]);
        assert_eq!(lines(&four), ["4 entries failed: The video has no captions (1, 2, 3, 4)"]);
        assert_eq!(four.exit(true), Some(Exit::Missing));
        let mixed = groups(&[none(1), (2, Reason::Blocked, "blocked"), none(3)]);
        assert_eq!(lines(&mixed).len(), 3);
        assert_eq!(lines(&mixed)[..2], ["1. A title: a", "3. A title: c"]);
    }

    #[tokio::test(start_paused = true)]
    async fn users_7_a_block_of_one_entry_is_counted_too() {
        let one = groups(&[(2, Reason::Blocked, "YouTube blocks us; use another address")]);
        let lines = lines(&one);
        assert_eq!(lines.len(), 1, "{lines:?}");
        let start =
            "1 entry failed: YouTube blocks us; use another address (2. A title); try again in 15m";
        assert!(lines[0].starts_with(&format!("{start} (at ")), "{lines:?}");
        assert_eq!(one.exit(true), Some(Exit::Upstream));
    }

    #[tokio::test(start_paused = true)]
    async fn users_7_exit_codes_of_several_failures() {
        let table: [(&[Reason], bool, Option<Exit>); 9] = [
            (&[], true, None),
            (&[Reason::VideoPrivate], false, Some(Exit::Missing)),
            (&[Reason::InvalidInput], false, Some(Exit::Usage)),
            (&[Reason::InvalidInput], true, Some(Exit::Missing)),
            (&[Reason::VideoPrivate, Reason::Blocked], true, Some(Exit::Upstream)),
            (&[Reason::TimedOut, Reason::QuotaExhausted], true, Some(Exit::Upstream)),
            (&[Reason::TimedOut], true, Some(Exit::Missing)),
            (&[Reason::VideoPrivate, Reason::TimedOut], false, Some(Exit::Network)),
            (&[Reason::UpstreamFailed], false, Some(Exit::Upstream)),
        ];
        for (reasons, have_others_succeeded, exit) in table {
            let items: Vec<_> = reasons.iter().map(|reason| (1, *reason, "why")).collect();
            assert_eq!(groups(&items).exit(have_others_succeeded), exit, "{reasons:?}");
        }
    }
}
