//! The folders in which a user's programs store data.

use std::env;
use std::path::PathBuf;

/// The folder for vidra in the folder that `variable` names (`$XDG_STATE_HOME/vidra`), or else in `usual`
/// below the home folder (`~/.local/state/vidra`).
pub(crate) fn user_folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    absolute(variable)
        .or_else(|| absolute("HOME").map(|home| home.join(usual)))
        .map(|folder| folder.join("vidra"))
}
