//! The table of metrics: `/metrics` declares these families and `docs/reference/metrics.md` lists them.

/// A metric family.
pub(crate) struct Metric {
    pub(super) name: &'static str,
    /// The type, as the text format names it: `counter`, `gauge` or `histogram`.
    pub(super) kind: &'static str,
    /// The names of its labels; `le` of a histogram is not among them.
    pub(super) labels: &'static [&'static str],
    pub(super) help: &'static str,
}

/// Declares the families and the list of them, so that none can be missing from the list.
macro_rules! metrics {
    ($($id:ident: $name:literal $kind:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub(super) static $id: Metric = Metric {
            name: $name,
            kind: $kind,
            labels: &[$($label),*],
            help: $help,
        };)*

        #[cfg(test)]
        static ALL: &[&Metric] = &[$(&$id),*];
    };
}

metrics! {
    BUILD_INFO: "vidra_build_info" "gauge" ["version"]
        "The version of the service; always 1.";
    REQUESTS: "vidra_requests_total" "counter" ["route", "method", "status"]
        "Completed requests. Status 499: the caller disconnected before the response.";
    REQUEST_DURATION: "vidra_request_duration_seconds" "histogram" ["route"]
        "Duration of requests, without those of vidra_stream_duration_seconds.";
    STREAM_DURATION: "vidra_stream_duration_seconds" "histogram" ["route"]
        "Duration of requests that may last for an hour: batches, streamed or not, and connections of AI agents.";
    REQUESTS_IN_FLIGHT: "vidra_requests_in_flight" "gauge" []
        "Requests without an answer yet, and streams that have not ended.";
    CONNECTIONS_OPEN: "vidra_connections_open" "gauge" []
        "Open connections.";
    CONNECTIONS_REFUSED: "vidra_connections_refused_total" "counter" ["reason"]
        "Connections that the service refused or closed early. Reasons: all_taken, address, no_resources, handshake, too_slow.";
    LIMITED: "vidra_limited_total" "counter" ["reason"]
        "Requests that the service refused because of a limit or an access rule, by the reason of the error: unknown_host, origin_not_allowed, caller_key_missing, caller_key_invalid, operator_key_required, caller_rate_limited, caller_budget_exhausted, too_many_batches, too_many_jobs, too_many_collections, too_many_searches, too_many_followers, too_many_downloads, library_limit_reached, overloaded (all slots are taken), upstream_failing (a circuit breaker is open), paced, quota_exhausted, search_quota_exhausted, upstream_rate_limited, translation_rate_limited, upstream_key_missing, upstream_key_rejected, blocked, database_unavailable, library_unavailable, shutting_down.";
    SLOTS_TAKEN: "vidra_slots_taken" "gauge" ["kind"]
        "Taken slots: fetch (uncached answers, --max-misses) or batch (--max-batches).";
    SLOTS: "vidra_slots_limit" "gauge" ["kind"]
        "All slots. If none is free, requests are refused as overloaded.";
    WAITING: "vidra_waiting" "gauge" ["what"]
        "Callers that wait: fetch (for a fetch in progress) or pace (for the pace of an egress address).";
    CACHE_ANSWERS: "vidra_cache_answers_total" "counter" ["resource", "outcome"]
        "Answers by resource and cache outcome: hit, stale, miss or coalesced.";
    CACHE_BYTES: "vidra_cache_bytes" "gauge" ["tier"]
        "Bytes in the cache by tier: memory (records), ready (rendered responses) or store.";
    CACHE_ENTRIES: "vidra_cache_entries" "gauge" ["tier"]
        "Entries in the cache by tier: memory (records), ready (rendered responses) or store.";
    STORE_FAILURES: "vidra_cache_store_failures_total" "counter" ["operation"]
        "Failures of the cache store: read, write, skipped (paused after a failure) or damaged (bad checksum). Callers see a miss.";
    STALE_AGE: "vidra_stale_age_seconds" "gauge" []
        "Greatest age of a stale answer that was served recently.";
    RENEWAL_FAILURES: "vidra_renewal_failures_in_a_row" "gauge" []
        "Consecutive failures of background renewals. It reveals an outage that cache hits hide.";
    UPSTREAM_CALLS: "vidra_upstream_calls_total" "counter" ["endpoint", "outcome"]
        "Calls to YouTube by endpoint and outcome: ok, refused (such as not found), key_rejected, quota_exhausted, rate_limited, blocked, failed, unreadable, timed_out, cut_short (by the caller's deadline) or not_sent.";
    UPSTREAM_DURATION: "vidra_upstream_call_duration_seconds" "histogram" ["endpoint"]
        "Duration of calls to YouTube.";
    UPSTREAM_RETRIES: "vidra_upstream_retries_total" "counter" []
        "Attempts beyond the first.";
    BREAKER_STATE: "vidra_breaker_state" "gauge" ["domain"]
        "State of each circuit breaker: 0 closed, 1 half-open, 2 open. Domains: data-api, search, feed, and for each egress address egress-N-player and egress-N-timedtext.";
    EGRESS_BLOCKED: "vidra_egress_blocked" "gauge" ["egress"]
        "1 while YouTube or the proxy rejects requests from this egress address.";
    BATCHES: "vidra_batches_under_way" "gauge" []
        "Running batches.";
    BATCH_ENTRIES: "vidra_batch_entries_total" "counter" ["status"]
        "Entries of batches by status: listed, and of these success and failed.";
    QUOTA_USED: "vidra_quota_used" "gauge" ["bucket"]
        "Units spent since the start of the platform's day.";
    QUOTA_LIMIT: "vidra_quota_limit" "gauge" ["bucket"]
        "Units that the platform grants a day.";
    QUOTA_GRANT_UNITS: "vidra_quota_grant_units_total" "counter" ["event"]
        "Units of a shared quota: taken in advance by this process, and returned unspent. Only with --database postgres://.";
    EGRESS_MACHINES: "vidra_egress_machines" "gauge" []
        "Machines that fetched transcripts from the same address within a minute. Only with --database postgres://.";
    DATABASE_FAILURES: "vidra_database_failures_total" "counter" []
        "Requests to the shared database that failed. Only with --database postgres://.";
    SHARED_FETCHES: "vidra_shared_fetches_total" "counter" ["outcome"]
        "Uncached records of a machine that shares fetches: fetched for all machines, waited for another machine, or fetched alone without a lease. taken_over counts the fetches that were taken over from another machine. Only with --cache redis://.";
    QUOTA_EXHAUSTED: "vidra_quota_exhausted" "gauge" ["bucket"]
        "1 from the time that a bucket is spent, or that YouTube says so, until midnight Pacific time.";
    DEGRADED: "vidra_degraded" "gauge" ["what"]
        "1 while a part of the service does not work, as /readyz reports. Parts: key_missing, key_rejected, quota_exhausted, searches_exhausted, ledger_failing, ledger_incomplete, spending_failing, spending_incomplete, database_failing, store_failing, spool_failing, library_failing, addresses_blocked, addresses_unreachable, breaker_open, certificate_expiring (within 7 days), certificate_expired, reload_failed.";
    ANSWER_BYTES: "vidra_large_answer_bytes" "gauge" ["place"]
        "Size of the large answers that are being built and sent, in memory and in temporary files (--max-answer-memory, --max-spool).";
    JOBS: "vidra_jobs" "gauge" ["state"]
        "Jobs in the library by state.";
    JOB_ITEMS: "vidra_job_items" "gauge" ["state"]
        "Items of all jobs in the library by state: pending, succeeded or failed. Deleting a job removes its items.";
    JOB_RESOURCES: "vidra_job_resources_waiting" "gauge" ["reason"]
        "Resources that jobs wait for, by the reason why they are unavailable: quotas, budgets, blocked or paced egress addresses.";
    COLLECTION_VIDEOS: "vidra_collection_videos" "gauge" ["owner", "collection", "state"]
        "Videos of a collection by state: pending, transcribed, failed or gone. Only the oldest 100 collections.";
    COLLECTION_UNITS: "vidra_collection_units_today" "gauge" ["owner", "collection"]
        "Quota units that a collection has cost on this quota day. Only the oldest 100 collections.";
    COLLECTION_SYNCED: "vidra_collection_synced" "gauge" ["owner", "collection"]
        "1 if the last sync of a collection completed, otherwise 0: it runs, waits or was cancelled. Only the oldest 100 collections.";
    COLLECTION_LAST_SYNC: "vidra_collection_last_sync_seconds" "gauge" ["owner", "collection"]
        "Start of the last sync of a collection in Unix time. Absent before the first one. Only the oldest 100 collections.";
    COLLECTION_NEXT_SYNC: "vidra_collection_next_sync_seconds" "gauge" ["owner", "collection"]
        "Time of the next sync of a collection in Unix time. Absent while it is paused. Only the oldest 100 collections.";
    WEBHOOK_ATTEMPTS: "vidra_webhook_attempts_total" "counter" ["webhook", "outcome"]
        "Attempts to send a message to a webhook: delivered, failed and tried again later, or given_up after 24 hours.";
    WEBHOOK_WAITING: "vidra_webhook_messages_waiting" "gauge" ["webhook"]
        "Messages that are not delivered yet.";
    LIBRARY_BYTES: "vidra_library_bytes" "gauge" []
        "Size of the library: of the file with its write-ahead log, or of the tables in PostgreSQL.";
    LIBRARY_TRANSACTIONS: "vidra_library_transactions_total" "counter" []
        "Write transactions of the library since the start of the service.";
    LIBRARY_WRITES: "vidra_library_writes_total" "counter" []
        "Writes of the library since the start of the service. Writes that wait share a transaction.";
    LIBRARY_KEPT: "vidra_library_kept_total" "counter" ["outcome"]
        "Transcripts that were fetched without a job, by what happened to them with --library-keep all: stored, or dropped because the library was too slow or failed.";
    LIBRARY_SLOW: "vidra_library_slow_transactions_total" "counter" []
        "Write transactions of the library that took more than one second.";
    CERTIFICATE_EXPIRY: "vidra_tls_certificate_expiry_seconds" "gauge" []
        "Expiry of the certificate in Unix time. Absent without TLS.";
    RELOADS: "vidra_reloads_total" "counter" ["file", "outcome"]
        "Reloads on SIGHUP by file (caller_keys, certificate, api_key) and outcome: success or failure. After a failure the old file stays in use.";
    LOG_DROPPED: "vidra_log_lines_dropped_total" "counter" []
        "Lines that the log dropped, because nobody read it.";
    RESIDENT_MEMORY: "process_resident_memory_bytes" "gauge" []
        "Resident memory of the process.";
    OPEN_FDS: "process_open_fds" "gauge" []
        "Open file descriptors.";
    MAX_FDS: "process_max_fds" "gauge" []
        "Maximum number of open file descriptors.";
    CPU_SECONDS: "process_cpu_seconds_total" "counter" []
        "CPU time of the process, user and system.";
    START_TIME: "process_start_time_seconds" "gauge" []
        "Start of the process in Unix time.";
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/metrics.md");

    const INTRODUCTION: &str = "\
# Metrics

`GET /metrics` returns these metrics in the text format of Prometheus. [operate.md](../guide/operate.md#metrics)
describes where the endpoint is and how to use it. Labels are words of the service, never text of a caller.

A test generates this page from `crates/vidra-server/src/metrics/table.rs`:
`VIDRA_UPDATE_DOCS=1 cargo test -p vidra-server --lib reference`.

| metric | type | labels | meaning |
|---|---|---|---|
";

    /// Run with `VIDRA_UPDATE_DOCS=1` to regenerate the file.
    #[test]
    fn the_reference_of_metrics_is_current() {
        let row = |metric: &&Metric| {
            let Metric { name, kind, labels, help } = metric;
            let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
            format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", "))
        };
        let current = INTRODUCTION.to_owned() + &ALL.iter().map(row).collect::<String>();
        if std::env::var_os("VIDRA_UPDATE_DOCS").is_some() {
            std::fs::write(FILE, &current).unwrap();
        }
        let written = std::fs::read_to_string(FILE).unwrap();
        assert!(
            written == current,
            "docs/reference/metrics.md is out of date: regenerate it with VIDRA_UPDATE_DOCS=1"
        );
    }
}
