//! Faults of the platform by their number in the table of reliability, those that the library answers
//! for. Where chance plays a part, its seed is fixed and told.
//!
//! | fault | what | where |
//! |---|---|---|
//! | F1 | an outage with everything known | `breakers`: recovery; the service has the rest |
//! | F2 | the platform hangs, with something known | `cache::states` |
//! | F3 | an outage with nothing known | `breakers`, `cache::states` |
//! | F4 to F8 | a thousand callers, who leave, panic, fail, hang | `cache::flights`, `leaving` |
//! | F9 | half of all calls fail | [`storms`] |
//! | F10 | the schedule of retries | [`storms`] |
//! | F11 | `Retry-After` in all its forms | [`storms`] |
//! | F12 | a spent day | [`spending`], `breakers`; days of 23 and 25 hours in the ledger's own tests |
//! | F13 | the ledger is never below the bill | [`spending`], `upstream` |
//! | F14 | a block in the middle of a batch | `batch`; results are told as they are, and nothing resumes: batches are no jobs |
//! | F16 | bodies that break off or are something else | [`bodies`], `cache::states`, `network` |
//! | F17 | a body that drips | [`bodies`] |
//! | F26 | an address where nobody is, and then somebody | [`bodies`]; names that change their address are the resolver's |

mod bodies;
mod spending;
mod storms;
