-- The usage of callers: one row for each machine, day and caller. The counts of a machine only grow.
CREATE TABLE vidra.caller_usage (
    machine text NOT NULL,
    -- The date in California.
    day date NOT NULL,
    -- Empty for callers without a name, which are counted together.
    caller text NOT NULL,
    units bigint NOT NULL,
    searches bigint NOT NULL,
    requests bigint NOT NULL,
    transcripts bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (day, caller, machine)
);

CREATE INDEX caller_usage_updated_at ON vidra.caller_usage (updated_at);
