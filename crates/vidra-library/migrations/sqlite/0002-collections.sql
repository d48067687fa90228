CREATE TABLE collections (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    owner TEXT NOT NULL,
    name TEXT NOT NULL,
    -- The request as JSON, without its sources.
    options TEXT NOT NULL,
    is_paused INTEGER NOT NULL DEFAULT 0,
    -- Why it was paused, if not by its owner.
    pause_reason TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    next_sync INTEGER NOT NULL,
    -- The last sync, which may have been deleted since.
    synced_at INTEGER,
    sync_job INTEGER REFERENCES jobs (number) ON DELETE SET NULL,
    -- The last job that only tried videos again.
    retried_at INTEGER NOT NULL DEFAULT 0,
    -- Its rows are removed in several transactions.
    is_deleted INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX collections_by_name ON collections (owner, name) WHERE NOT is_deleted;
CREATE INDEX scheduled_collections ON collections (next_sync) WHERE NOT is_paused AND NOT is_deleted;
CREATE INDEX collections_of_job ON collections (sync_job) WHERE sync_job IS NOT NULL;
CREATE INDEX deleted_collections ON collections (number) WHERE is_deleted;

CREATE TABLE collection_sources (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
    position INTEGER NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    -- The id of a channel, as soon as it is known.
    channel TEXT,
    title TEXT,
    -- Whether its videos were listed once.
    is_listed INTEGER NOT NULL DEFAULT 0,
    -- The work of the present sync. NULL without one.
    -- 'feed': read the feed. 'feed_count': read the feed, and then the number of videos. 'count': read the number of
    -- videos. 'whole': read the whole list. 'new', 'changed' and 'audit': read the list until a video is known, because
    -- the feed was not complete, because the number has changed, or because it is time. 'search': search.
    task TEXT,
    -- Where a list continues. NULL before its first page.
    cursor TEXT,
    -- The expected number of videos: the last one that YouTube reported, plus those that were found since, minus those that
    -- are gone. -1 if YouTube hides it.
    count INTEGER,
    -- When YouTube reported it.
    counted_at INTEGER,
    -- How often it failed in a row.
    failures INTEGER NOT NULL DEFAULT 0,
    checked_at INTEGER,
    -- When its list was read last, and when the list or the number of videos showed last that nothing is missing.
    paged_at INTEGER,
    audited_at INTEGER,
    error_reason TEXT,
    error_message TEXT
) STRICT;
CREATE INDEX sources_of_collection ON collection_sources (collection, position);
CREATE INDEX sources_with_task ON collection_sources (collection, task, position) WHERE task IS NOT NULL;

-- The videos that a source has shown, also those that the collection does not include.
CREATE TABLE source_videos (
    source INTEGER NOT NULL REFERENCES collection_sources (number) ON DELETE CASCADE,
    video TEXT NOT NULL,
    -- 0 while a list is read for new videos: there may be others between this video and those that were known before.
    is_known INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (source, video)
) STRICT, WITHOUT ROWID;
CREATE INDEX sources_of_video ON source_videos (video, source);
CREATE INDEX unfinished_walks ON source_videos (source) WHERE NOT is_known;

CREATE TABLE collection_videos (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    collection INTEGER NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
    video TEXT NOT NULL,
    -- 0 pending, 1 with a transcript, 2 without one, 3 deleted or private.
    state INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    found_at INTEGER NOT NULL,
    -- When it was published, as far as that decides about further attempts. NULL if that is unknown.
    appeared_at INTEGER,
    tries INTEGER NOT NULL DEFAULT 0,
    next_try INTEGER,
    -- Since when a list no longer shows it, so that it may have been deleted.
    doubted_at INTEGER
) STRICT;
CREATE UNIQUE INDEX videos_of_collection ON collection_videos (collection, video);
CREATE INDEX collection_videos_in_order ON collection_videos (collection, number);
CREATE INDEX collection_videos_by_state ON collection_videos (collection, state, reason);
CREATE INDEX collection_videos_to_try ON collection_videos (collection, next_try) WHERE next_try IS NOT NULL;
CREATE INDEX doubted_videos ON collection_videos (collection, doubted_at) WHERE doubted_at IS NOT NULL;
CREATE INDEX collections_of_video ON collection_videos (video);

-- The units of a collection on each quota day.
CREATE TABLE collection_units (
    collection INTEGER NOT NULL REFERENCES collections (number) ON DELETE CASCADE,
    day TEXT NOT NULL,
    units INTEGER NOT NULL,
    PRIMARY KEY (collection, day)
) STRICT, WITHOUT ROWID;

ALTER TABLE jobs ADD COLUMN collection INTEGER REFERENCES collections (number) ON DELETE SET NULL;
CREATE INDEX jobs_of_collection ON jobs (collection, number) WHERE collection IS NOT NULL;
CREATE INDEX unfinished_syncs ON jobs (collection)
    WHERE collection IS NOT NULL AND state NOT IN ('completed', 'cancelled', 'failed');

-- When a date of the Data API should be read again.
ALTER TABLE videos ADD COLUMN refresh_at INTEGER;
CREATE INDEX dates_to_refresh ON videos (refresh_at) WHERE refresh_at IS NOT NULL;
