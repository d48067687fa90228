-- The full-text tables of an index have its number in their names, because a new index is built beside the old one:
-- search_passages_N (a row a passage), search_seams_N (a row a border of two passages), search_words_N (a row a
-- transcript) and search_layouts_N (where the passages begin), with search_instances_N, a view of the occurrences of each token.
CREATE TABLE search_indexes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    -- The version of the rules that made the tokens. 0 if the index is being removed.
    version INTEGER NOT NULL,
    -- Whether searches use it. Those before it are being removed, and one after it is being built.
    is_active INTEGER NOT NULL
) STRICT;

-- Every transcript in an index, with everything that filters and orders need.
CREATE TABLE search_tracks (
    transcript INTEGER PRIMARY KEY REFERENCES transcripts (number) ON DELETE CASCADE,
    video TEXT NOT NULL,
    -- 0 by people, 1 recognised speech, 2 a translation.
    kind INTEGER NOT NULL,
    language TEXT NOT NULL,
    -- Whether it counts for its video if a search names no language: the best original track.
    is_counted INTEGER NOT NULL DEFAULT 0,
    channel TEXT,
    published_at INTEGER,
    duration INTEGER NOT NULL,
    words INTEGER NOT NULL
) STRICT;
CREATE INDEX search_tracks_of_video ON search_tracks (video);
CREATE INDEX search_tracks_of_channel ON search_tracks (channel);
-- All columns that the coverage of a search needs.
CREATE INDEX counted_tracks ON search_tracks (transcript, published_at, channel, duration, words) WHERE is_counted;

CREATE TRIGGER video_dated AFTER UPDATE OF published_at ON videos WHEN NEW.published_at IS NOT OLD.published_at BEGIN
    UPDATE search_tracks SET published_at = NEW.published_at WHERE video = NEW.id;
END;
