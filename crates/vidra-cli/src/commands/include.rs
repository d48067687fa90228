//! The flag `--include`.

use vidra::Include;

use crate::values::words_of;

/// Which members of videos are requested beyond the usual ones.
#[derive(Debug, clap::Args)]
pub(crate) struct IncludeArgs {
    /// More members of each video, separated by commas
    ///
    /// They cost nothing more. details are tags, category, broadcast, language and more. chapters are read from the description. Tables show
    /// only some of them: --json has all
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = words_of(Include::ALL))]
    include: Vec<String>,
}

impl IncludeArgs {
    /// The names as the service expects them.
    pub(super) fn names(&self) -> Option<String> {
        (!self.include.is_empty()).then(|| self.include.join(","))
    }
}
