-- Messages to webhooks that were not delivered yet.
CREATE TABLE webhook_messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    -- The name of the destination.
    webhook TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    next_attempt INTEGER NOT NULL
) STRICT;
CREATE INDEX due_messages ON webhook_messages (webhook, next_attempt);

-- Since when a job waits without getting on, and whether its webhook knows.
ALTER TABLE jobs ADD COLUMN waiting_since INTEGER;
ALTER TABLE jobs ADD COLUMN is_wait_sent INTEGER NOT NULL DEFAULT 0;
-- The name of the destination that its changes are sent to.
ALTER TABLE jobs ADD COLUMN webhook TEXT;
