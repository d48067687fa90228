//! Faults of the platform that the library handles, by their number in docs/testing.md. Random choices
//! have a fixed seed, which is reported.
//!
//! | fault | what | where |
//! |---|---|---|
//! | F1 | an outage with everything cached | `breakers`: recovery; the service has the rest |
//! | F2 | the platform hangs, with cached records | `cache::states` |
//! | F3 | an outage with nothing cached | `breakers`, `cache::states` |
//! | F4 to F8 | a thousand callers that leave, panic, fail, hang | `cache::flights`, `leaving` |
//! | F9 | half of all calls fail | [`storms`] |
//! | F10 | the schedule of retries | [`storms`] |
//! | F11 | `Retry-After` in all its forms | [`storms`] |
//! | F12 | an exhausted quota | [`spending`], `breakers`; days of 23 and 25 hours in the ledger's own tests |
//! | F13 | the ledger is never below the bill | [`spending`], `upstream` |
//! | F14 | a block in the middle of a batch | `batch`; it reports its results and does not resume, because batches are no jobs |
//! | F16 | bodies that are truncated or something else | [`bodies`], `cache::states`, `network` |
//! | F17 | a body that drips | [`bodies`] |
//! | F26 | nothing listens at an address, then something does | [`bodies`]; the resolver handles names that change their address |

mod bodies;
mod spending;
mod storms;
