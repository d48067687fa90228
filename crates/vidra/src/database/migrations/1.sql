-- The clock of all machines. Tests replace it.
CREATE FUNCTION vidra.clock() RETURNS timestamptz LANGUAGE sql AS 'SELECT clock_timestamp()';

-- The quota of a project: one row for each key, day and bucket.
CREATE TABLE vidra.quota_days (
    -- A fingerprint of the key, too short to reveal anything about it.
    key text NOT NULL,
    -- The date in California.
    day date NOT NULL,
    bucket text NOT NULL,
    -- The units of all grants, without those that were returned.
    used int NOT NULL DEFAULT 0 CHECK (used >= 0),
    -- Whether YouTube reported that the bucket is exhausted.
    exhausted boolean NOT NULL DEFAULT false,
    PRIMARY KEY (key, day, bucket)
);

-- The units that machines took in advance.
CREATE TABLE vidra.quota_grants (
    -- Chosen by the machine, so that a repeated request gets the same grant.
    id bigint PRIMARY KEY,
    key text NOT NULL,
    day date NOT NULL,
    bucket text NOT NULL,
    units int NOT NULL CHECK (units > 0),
    taken_at timestamptz NOT NULL,
    -- The units that were not spent. Null until the grant has ended.
    returned int CHECK (returned BETWEEN 0 AND units)
);

CREATE INDEX quota_grants_day ON vidra.quota_grants (day);

-- The rate limits of egress addresses, as leaky buckets.
CREATE TABLE vidra.egress_paces (
    address text NOT NULL,
    is_translation boolean NOT NULL,
    -- When the permits that were taken would end at the steady rate.
    spent_until timestamptz NOT NULL,
    PRIMARY KEY (address, is_translation)
);

-- The blocks of egress addresses.
CREATE TABLE vidra.egress_blocks (
    address text PRIMARY KEY,
    blocked_until timestamptz,
    reason text,
    -- The number of consecutive blocks.
    times int NOT NULL DEFAULT 0,
    no_translations_until timestamptz
);

-- The machines that use an egress address, so that each knows its share while the database does not answer.
CREATE TABLE vidra.egress_machines (
    address text NOT NULL,
    machine bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    PRIMARY KEY (address, machine)
);
