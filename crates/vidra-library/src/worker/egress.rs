//! The state of egress addresses as stored resources. Stored times are on the wall clock.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use vidra::{BreakerPause, EgressBlock, EgressState, Reason};

use crate::store::resources::Resource;

const PREFIX: &str = "egress/";

/// The longest plausible pause. A longer one comes from a wall clock that was set back.
const LONGEST: Duration = Duration::from_secs(3 * 3600);

/// Whether a resource is an egress address.
pub(super) fn is_address(resource: &Resource) -> bool {
    resource.name.starts_with(PREFIX)
}

/// The states as resources.
pub(super) fn resources(states: &[EgressState], now: Timestamp) -> Vec<Resource> {
    let end = |left: Duration| now.checked_add(left).unwrap_or(Timestamp::MAX).as_millisecond();
    let breaker = |it: &Option<BreakerPause>| it.map(|it| json!([it.times, end(it.left)]));
    let resource = |state: &EgressState| {
        let block = state.blocked.as_ref();
        let left = block.map_or(Duration::ZERO, |it| it.left);
        let detail = json!({
            "blocked": block.map(|it| json!([it.reason.code(), it.times, end(it.left)])),
            "player": breaker(&state.player),
            "timedtext": breaker(&state.timedtext),
            "spent": end(state.spent),
            "translations": end(state.translations_spent),
            "noTranslations": state.no_translations.map(end),
        });
        Resource {
            name: format!("{PREFIX}{}", state.address),
            reason: block.map_or(Reason::Paced, |it| it.reason),
            available_at: now.checked_add(left).unwrap_or(Timestamp::MAX),
            detail: Some(detail.to_string()),
        }
    };
    states.iter().map(resource).collect()
}

/// The states of stored resources.
pub(super) fn states(resources: &[Resource], now: Timestamp) -> Vec<EgressState> {
    let state = |resource: &Resource| {
        let address = resource.name.strip_prefix(PREFIX)?;
        let detail: Value = serde_json::from_str(resource.detail.as_deref()?).ok()?;
        let left = |value: &Value| {
            let end = Timestamp::from_millisecond(value.as_i64()?).ok()?;
            let left = end.duration_since(now).max(SignedDuration::ZERO);
            Duration::try_from(left).ok().filter(|left| *left <= LONGEST)
        };
        let times = |value: &Value| u32::try_from(value.as_u64()?).ok();
        let breaker =
            |value: &Value| Some(BreakerPause { times: times(&value[0])?, left: left(&value[1])? });
        let block = |value: &Value| {
            let reason = Reason::from_code(value[0].as_str()?)?;
            Some(EgressBlock { reason, times: times(&value[1])?, left: left(&value[2])? })
        };
        let mut state = EgressState::new(address);
        state.blocked = block(&detail["blocked"]);
        state.player = breaker(&detail["player"]);
        state.timedtext = breaker(&detail["timedtext"]);
        state.spent = left(&detail["spent"]).unwrap_or_default();
        state.translations_spent = left(&detail["translations"]).unwrap_or_default();
        state.no_translations = left(&detail["noTranslations"]);
        Some(state)
    };
    resources.iter().filter_map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_survive_a_restart_and_lose_the_time_between() {
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let seconds = |it| Duration::from_secs(it);
        let mut state = EgressState::new("socks5://proxy.example:1080");
        state.blocked = Some(EgressBlock { reason: Reason::Blocked, times: 2, left: seconds(900) });
        state.player = Some(BreakerPause { times: 1, left: seconds(30) });
        state.spent = seconds(600);
        state.no_translations = Some(seconds(60));
        let stored = resources(&[state.clone(), EgressState::new("direct")], now);
        assert_eq!(stored[0].available_at.as_second(), 1_800_000_900);
        assert!(stored.iter().all(is_address));
        assert_eq!(states(&stored, now), [state, EgressState::new("direct")]);
        let later = states(&stored, now.checked_add(seconds(100)).unwrap());
        assert_eq!(later[0].blocked.unwrap().left, seconds(800));
        assert_eq!((later[0].spent, later[0].no_translations), (seconds(500), Some(seconds(0))));
        // A clock that was set back by a day.
        let wrong = states(&stored, now.checked_sub(seconds(86_400)).unwrap());
        assert_eq!((wrong[0].blocked, wrong[0].spent), (None, seconds(0)));
    }

    #[test]
    fn damaged_details_are_ignored() {
        let resource = |detail: &str| Resource {
            name: "egress/direct".to_owned(),
            reason: Reason::Blocked,
            available_at: Timestamp::UNIX_EPOCH,
            detail: Some(detail.to_owned()),
        };
        assert!(states(&[resource("{")], Timestamp::UNIX_EPOCH).is_empty());
        let odd = states(
            &[resource(r#"{"blocked":["nonsense",1,1],"spent":"x"}"#)],
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(odd, [EgressState::new("direct")]);
    }
}
