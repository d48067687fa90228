-- Times are milliseconds since 1970. `owner` is the name of a caller's key, and empty without keys.

-- AUTOINCREMENT: the number of a deleted job is never used again, because workers cache numbers.
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    -- The request as JSON, without its sources.
    options TEXT NOT NULL,
    state TEXT NOT NULL,
    wait_reason TEXT,
    wait_until INTEGER,
    error_reason TEXT,
    error_message TEXT,
    created_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    -- The number of the last event.
    version INTEGER NOT NULL DEFAULT 0,
    source_count INTEGER NOT NULL,
    is_listed INTEGER NOT NULL DEFAULT 0,
    items INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    units INTEGER NOT NULL DEFAULT 0,
    -- Its rows are removed in several transactions.
    is_deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX deleted_jobs ON jobs (number) WHERE is_deleted;
CREATE INDEX jobs_of_owner ON jobs (owner, number);
CREATE INDEX jobs_by_state ON jobs (state, number);
CREATE INDEX active_jobs ON jobs (number) WHERE state IN ('queued', 'listing', 'running', 'waiting');

-- The playlists and channels of a job. Videos that are named one by one are items from the beginning.
CREATE TABLE sources (
    job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    -- Where listing continues. NULL before the first page.
    cursor TEXT,
    is_listed INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    lease INTEGER,
    process INTEGER,
    -- The last call whose units were counted: the fencing number of its lease, and its number under that lease.
    charged_lease INTEGER,
    charged_call INTEGER,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
CREATE INDEX unlisted_sources ON sources (job, position) WHERE NOT is_listed;
CREATE INDEX leased_sources ON sources (process) WHERE lease IS NOT NULL;

CREATE TABLE items (
    job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    -- NULL if YouTube does not reveal the video.
    video TEXT,
    -- 0 pending, 1 succeeded, 2 failed.
    state INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    message TEXT,
    transcript INTEGER REFERENCES transcripts (number) ON DELETE SET NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    -- The fencing number of the lease, and the process that holds it.
    lease INTEGER,
    process INTEGER,
    finished_at INTEGER,
    PRIMARY KEY (job, position)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX items_by_video ON items (job, video) WHERE video IS NOT NULL;
CREATE INDEX items_by_state ON items (job, state, position);
CREATE INDEX items_by_reason ON items (job, reason, position) WHERE reason IS NOT NULL;
CREATE INDEX ended_items ON items (job, position) WHERE state > 0;
CREATE INDEX free_items ON items (job, not_before, position) WHERE state = 0 AND lease IS NULL;
CREATE INDEX leased_items ON items (process) WHERE lease IS NOT NULL;
CREATE INDEX leased_items_of_job ON items (job) WHERE lease IS NOT NULL;
CREATE INDEX items_of_transcript ON items (transcript) WHERE transcript IS NOT NULL;

-- How many items of a job failed, by reason.
CREATE TABLE failures (
    job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    reason TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (job, reason)
) STRICT, WITHOUT ROWID;

-- The events of a job, numbered from 1 without gaps.
CREATE TABLE events (
    job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (job, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE idempotency_keys (
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    job INTEGER NOT NULL REFERENCES jobs (number) ON DELETE CASCADE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX old_idempotency_keys ON idempotency_keys (created_at);
CREATE INDEX idempotency_keys_of_job ON idempotency_keys (job);

-- What jobs wait for: the quota, budgets of callers, egress addresses.
CREATE TABLE resources (
    name TEXT PRIMARY KEY,
    reason TEXT NOT NULL,
    available_at INTEGER NOT NULL,
    -- JSON that only the owner of the resource reads.
    detail TEXT
) STRICT, WITHOUT ROWID;

-- The processes that use the file. Each holds a lock on a file with its number. AUTOINCREMENT never reuses a number.
CREATE TABLE processes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    started_at INTEGER NOT NULL
) STRICT;

-- Numbers. `lease` is the last fencing number; `burst` and `per_hour` are the pace of all egress addresses together.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO counters (name, value) VALUES ('lease', 0);

CREATE TABLE videos (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    channel TEXT NOT NULL,
    channel_id TEXT,
    duration INTEGER NOT NULL,
    published_at INTEGER,
    -- Where the date comes from: 'player' or 'data_api'. A date of the Data API expires.
    published_source TEXT,
    published_stored_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX expiring_dates ON videos (published_stored_at) WHERE published_source = 'data_api';

CREATE TABLE transcripts (
    number INTEGER PRIMARY KEY,
    video TEXT NOT NULL,
    language TEXT NOT NULL,
    is_auto_generated INTEGER NOT NULL,
    -- Empty unless it is a translation.
    translated_from TEXT NOT NULL,
    stored_at INTEGER NOT NULL,
    -- The owner of the job that stored it first. Empty for the service itself.
    owner TEXT NOT NULL,
    -- The length and the CRC-32 of the text before compression.
    length INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    text BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX transcripts_by_track ON transcripts (video, language, is_auto_generated, translated_from);
CREATE INDEX transcripts_by_age ON transcripts (stored_at);

-- The bytes of the transcripts of each owner.
CREATE TABLE owner_bytes (
    owner TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TRIGGER transcript_added AFTER INSERT ON transcripts BEGIN
    INSERT INTO owner_bytes (owner, bytes) VALUES (NEW.owner, length(NEW.text))
        ON CONFLICT (owner) DO UPDATE SET bytes = bytes + excluded.bytes;
END;
CREATE TRIGGER transcript_changed AFTER UPDATE OF text ON transcripts BEGIN
    UPDATE owner_bytes SET bytes = bytes + length(NEW.text) - length(OLD.text) WHERE owner = NEW.owner;
END;
CREATE TRIGGER transcript_removed AFTER DELETE ON transcripts BEGIN
    UPDATE owner_bytes SET bytes = bytes - length(OLD.text) WHERE owner = OLD.owner;
END;

-- Which transcript a request for a video has: languages, kind and translation decide the track.
CREATE TABLE transcript_requests (
    video TEXT NOT NULL,
    request TEXT NOT NULL,
    transcript INTEGER NOT NULL REFERENCES transcripts (number) ON DELETE CASCADE,
    PRIMARY KEY (video, request)
) STRICT, WITHOUT ROWID;
CREATE INDEX requests_of_transcript ON transcript_requests (transcript);
