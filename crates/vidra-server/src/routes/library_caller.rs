//! The library, as the caller of a request may use it.

use std::sync::Arc;

use axum::Json;
use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use futures_util::{Stream, StreamExt, TryStreamExt, stream};
use serde::Serialize;
use vidra::{Bucket, Error, Reason};
use vidra_library::{Access, Library};
use vidra_mcp::ToolLibrary;

use crate::drain::Drain;
use crate::error_body::{ApiError, Result};
use crate::extract::{Query, invalid};
use crate::gate::{Caller, CallerId};
use crate::library::LibraryAccess;
use crate::slots::Slot;
use crate::state::{AppState, SharedSlot};

pub(super) const NO_STORE: (HeaderName, HeaderValue) =
    (header::CACHE_CONTROL, HeaderValue::from_static("no-store"));

/// The library, as the caller of a request may use it.
pub(super) struct LibraryCaller {
    pub(super) library: Library,
    pub(super) access: Access,
    /// The name of the caller's key. Empty without keys.
    pub(super) owner: String,
    pub(super) drain: Drain,
    pub(super) state: AppState,
    pub(super) caller: Option<CallerId>,
}

impl LibraryCaller {
    /// Takes a slot for a connection that follows a job.
    ///
    /// # Errors
    ///
    /// [`Reason::TooManyFollowers`].
    pub(super) fn follow(&self) -> Result<Slot<Option<CallerId>>> {
        self.state.follower_slot(self.caller.clone()).ok_or_else(|| {
            let message = "You follow too many jobs at the same time";
            ApiError::new(Reason::TooManyFollowers, message).with_retry_after(10)
        })
    }

    /// Takes a slot for a download of the results of a job.
    ///
    /// # Errors
    ///
    /// [`Reason::TooManyDownloads`], and [`Reason::Overloaded`] if all callers together have too many.
    pub(super) fn download(&self) -> Result<SharedSlot> {
        self.state.download_slot(self.caller.clone()).map_err(|reason| {
            let message = match reason {
                Reason::TooManyDownloads => "You download too many results at the same time",
                _ => "The service sends too many results of jobs at the same time",
            };
            ApiError::new(reason, message).with_retry_after(10)
        })
    }

    /// Takes a slot for a search in the library.
    ///
    /// # Errors
    ///
    /// [`Reason::TooManySearches`].
    pub(super) fn search(&self) -> Result<Slot<Option<CallerId>>> {
        self.state.search_slot(self.caller.clone()).ok_or_else(|| {
            let message = "You run too many searches at the same time";
            ApiError::new(Reason::TooManySearches, message).with_retry_after(1)
        })
    }

    /// Whether callers search only the videos of their own jobs and collections.
    pub(super) fn sees_own_only(&self) -> bool {
        self.state.library.as_ref().is_some_and(|it| it.access == LibraryAccess::Own)
    }

    /// Whose collections a request names: the caller's own, or for operators those of `owner`.
    ///
    /// # Errors
    ///
    /// [`Reason::OperatorKeyRequired`] if another caller names an owner.
    pub(super) fn owner_of(&self, query: &Query) -> Result<String> {
        // An empty owner has the collections of a time without keys.
        match query.given("owner") {
            None => Ok(self.owner.clone()),
            Some(owner) if owner == self.owner => Ok(owner.to_owned()),
            Some(owner) if self.access == Access::All => Ok(owner.to_owned()),
            Some(_) => {
                let message = "Only operators may use the collections of others";
                Err(ApiError::new(Reason::OperatorKeyRequired, message))
            }
        }
    }

    /// Refuses the name of a webhook that the service does not have.
    ///
    /// # Errors
    ///
    /// [`Reason::InvalidInput`].
    pub(super) fn check_webhook(&self, name: Option<&str>) -> Result<()> {
        let webhooks = &self.state.webhooks;
        match name {
            Some(name) if !webhooks.has(name) => {
                let known = webhooks.names().collect::<Vec<_>>().join(", ");
                let known = if known.is_empty() { "none" } else { &known };
                let fault = format!("webhook: this service has no such webhook; it has: {known}");
                Err(invalid("The request is not valid", fault))
            }
            _ => Ok(()),
        }
    }
}

impl LibraryCaller {
    /// # Errors
    ///
    /// [`Reason::LibraryOff`] if there is no library for this caller, and [`Reason::LibraryUnavailable`].
    fn new(extensions: &Extensions, state: &AppState) -> vidra::Result<Self> {
        let Some(config) = &state.library else {
            return Err(Error::new(Reason::LibraryOff, "The library is switched off"));
        };
        let (access, owner) = match (&state.keys, extensions.get::<Arc<Caller>>()) {
            (Some(_), Some(caller)) => {
                let name = caller.name.to_string();
                let own = || Access::Owner(name.clone());
                (if caller.is_operator { Access::All } else { own() }, name)
            }
            (None, _) if state.on_loopback => (Access::All, String::new()),
            // Anybody could read the jobs of everybody.
            _ => {
                let message = "The library is switched off for callers without keys";
                let detail = "library: without keys it works on loopback only";
                return Err(Error::new(Reason::LibraryOff, message).with_detail(detail));
            }
        };
        let (library, drain) = (config.file.get()?.clone(), state.drain.clone());
        let caller = extensions.get::<CallerId>().cloned();
        Ok(Self { library, access, owner, drain, state: state.clone(), caller })
    }
}

impl FromRequestParts<AppState> for LibraryCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &AppState) -> Result<Self> {
        Ok(Self::new(&parts.extensions, state)?)
    }
}

/// The library for the tools of a caller, or the reason why it cannot use it.
pub(crate) fn library_of_tools(
    state: &AppState,
    extensions: &Extensions,
) -> vidra::Result<ToolLibrary> {
    let caller = LibraryCaller::new(extensions, state)?;
    let sees_own_only = caller.sees_own_only();
    let account = extensions.get::<Arc<Caller>>();
    let daily_units = account.and_then(|it| it.account.allowance.limit(Bucket::Default));
    let LibraryCaller { library, access, owner, state, caller, .. } = caller;
    let reserve = state.library.as_ref().map_or(0, |it| it.worker.reserve_units);
    let slot =
        move || -> Option<Box<dyn Send>> { Some(Box::new(state.search_slot(caller.clone())?)) };
    Ok(ToolLibrary::new(library)
        .owned_by(owner, access, sees_own_only)
        .with_units(reserve, daily_units)
        .with_search_limit(slot))
}

/// The items of all pages, from the one with this cursor.
pub(super) fn all_pages<T: Send + 'static, F>(
    cursor: Option<String>,
    page: impl Fn(Option<String>) -> F + Send + 'static,
) -> impl Stream<Item = vidra::Result<T>> + Send + 'static
where
    F: Future<Output = vidra::Result<(Vec<T>, Option<String>)>> + Send + 'static,
{
    let pages = stream::try_unfold((page, Some(cursor)), |(page, cursor)| async move {
        let Some(cursor) = cursor else { return Ok(None) };
        let (items, next) = page(cursor).await?;
        Ok(Some((items, (page, next.map(Some)))))
    });
    pages.map_ok(|items| stream::iter(items).map(Ok)).try_flatten()
}

/// A changed job or collection. Its answer must not be cached.
pub(super) fn changed(value: impl Serialize) -> Response {
    ([NO_STORE], Json(value)).into_response()
}
