//! The platform's error bodies, by reason.

use super::render::{Style, render};
use serde_json::{Value, json};
use std::ops::RangeInclusive;

mod catalogue;

/// An error of the platform.
#[derive(Clone, Debug)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    reason: Box<str>,
    domain: Box<str>,
    message: Box<str>,
    /// The kind and the name of the faulty location. May be empty or absent.
    location: Option<Box<(&'static str, String)>>,
    /// A link to documentation, which the platform sends for one reason only.
    extended_help: Option<&'static str>,
    rpc_status: Option<&'static str>,
    details: Option<Box<Value>>,
    /// A content type and a body, instead of everything above.
    raw: Option<&'static (&'static str, &'static str)>,
    style: Style,
}

impl ApiError {
    fn new(status: u16, domain: &str, reason: &str, message: &str) -> Self {
        Self {
            status,
            reason: reason.into(),
            domain: domain.into(),
            message: message.into(),
            location: None,
            extended_help: None,
            rpc_status: None,
            details: None,
            raw: None,
            style: Style::Today,
        }
    }

    fn at(mut self, parameter: &str) -> Self {
        self.location = Some(Box::new(("parameter", parameter.to_owned())));
        self
    }

    /// Renders the body in the style of 2019.
    fn of_2019(mut self) -> Self {
        self.style = Style::Of2019;
        self
    }

    /// The content type and the bytes of the body.
    pub(crate) fn body(&self) -> (&'static str, Vec<u8>) {
        if let Some(&(kind, text)) = self.raw {
            return (kind, text.into());
        }
        let mut first =
            json!({"message": self.message, "domain": self.domain, "reason": self.reason});
        if let Some((kind, location)) = self.location.as_deref() {
            first["location"] = location.as_str().into();
            first["locationType"] = (*kind).into();
        }
        if let Some(help) = self.extended_help {
            first["extendedHelp"] = help.into();
        }
        let mut error = json!({"code": self.status, "message": self.message, "errors": [first]});
        if let Some(status) = self.rpc_status {
            error["status"] = status.into();
        }
        if let Some(details) = &self.details {
            error["details"] = (**details).clone();
        }
        ("application/json; charset=UTF-8", render(json!({"error": error}), self.style))
    }

    pub(crate) fn out_of_range(name: &str, value: &str, bounds: &RangeInclusive<u32>) -> Self {
        let (low, high) = (bounds.start(), bounds.end());
        let message =
            format!("Invalid value '{value}'. Values must be within the range: [{low}, {high}]");
        Self::new(400, "global", "invalidParameter", &message).at(name)
    }

    pub(crate) fn invalid_value(name: &str, value: &str) -> Self {
        let message = format!("Invalid value at '{name}', \"{value}\"");
        let mut error = Self::new(400, "global", "badRequest", &message);
        error.rpc_status = Some("INVALID_ARGUMENT");
        error
    }

    pub(crate) fn unknown_parameter(name: &str) -> Self {
        let message = format!(
            "Invalid JSON payload received. Unknown name \"{name}\": Cannot bind query parameter. Field '{name}' could not be found in request message."
        );
        let mut error = Self::new(400, "global", "badRequest", &message);
        error.rpc_status = Some("INVALID_ARGUMENT");
        error
    }

    /// The error of a wrong combination of parameters, which names none of them.
    pub(crate) fn invalid_argument() -> Self {
        let message = "Request contains an invalid argument.";
        let mut error = Self::new(400, "global", "badRequest", message);
        error.rpc_status = Some("INVALID_ARGUMENT");
        error
    }

    pub(crate) fn missing_parameter(name: &str) -> Self {
        let message = format!("Required parameter: {name}");
        Self::new(400, "youtube.parameter", "missingRequiredParameter", &message).at(name)
    }

    /// The error of a missing filter, whose location is empty.
    pub(crate) fn missing_filter(expected: &str) -> Self {
        let message = format!("No filter selected. Expected one of: {expected}");
        Self::new(400, "youtube.parameter", "missingRequiredParameter", &message).at("").of_2019()
    }

    pub(crate) fn incompatible(names: &str) -> Self {
        let message = format!("Incompatible parameters specified in the request: {names}");
        Self::new(400, "youtube.parameter", "incompatibleParameters", &message).at("")
    }

    /// The platform does not fill in the template of this message.
    pub(crate) fn unknown_part() -> Self {
        Self::new(400, "youtube.part", "unknownPart", "'{0}'").at("part")
    }

    pub(crate) fn too_many(name: &str) -> Self {
        let message = "The request specifies an invalid filter parameter.";
        Self::new(400, "youtube.parameter", "invalidFilters", message).at(name)
    }

    pub(crate) fn page_token() -> Self {
        let message = "The request specifies an invalid page token.";
        Self::new(400, "youtube.parameter", "invalidPageToken", message).at("pageToken")
    }

    pub(crate) fn no_such_method() -> Self {
        let mut error = Self::new(404, "global", "notFound", "Requested entity was not found.");
        error.rpc_status = Some("NOT_FOUND");
        error
    }

    /// The error of a reason; an unknown reason gets a plain body that names it.
    pub(crate) fn by_reason(reason: &str) -> Self {
        catalogue::find(reason).unwrap_or_else(|| Self::new(400, "global", reason, reason))
    }

    /// Replaces the status.
    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }
}
