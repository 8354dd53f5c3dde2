"""Every limit in one place: the ones copied from elsewhere with their source, and our own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

# --- Amazon SQS, "Quotas related to messages" in the developer guide, read 2026-11 ---
SQS_MAX_DELAY_SECONDS = 900
SQS_BATCH = 10
SQS_MAX_MESSAGE_BYTES = 1_048_576
SQS_MAX_VISIBILITY_SECONDS = 43_200

# --- Amazon EventBridge, "PutEvents" in the API reference, read 2026-11 ---
EVENTBRIDGE_BATCH = 10

# --- AWS Lambda, "Lambda quotas", read 2026-11 ---
LAMBDA_MAX_TIMEOUT_SECONDS = 900
LAMBDA_MAX_RESPONSE_BYTES = 6_291_456

# --- Our own: jobs ---
PAYLOAD_MAX_BYTES = 262_144
NAME_MAX_LENGTH = 200
NOTE_MAX_LENGTH = 500
TAGS_MAX = 50
BATCH_MAX_JOBS = 1_000
BACKFILL_MAX = 10_000
SKIPS_MAX = 1_000
TIMEOUT_MIN_MS = 1_000
TIMEOUT_MAX_MS = 840_000  # PT14M: a minute below Lambda's own limit
WINDOW_MAX_MS = 86_400_000

# --- Our own: keys ---
KEY_GRACE_MAX_MS = 30 * 86_400_000

# --- Our own: quotas of tenants. What Postgres and every client can hold as an integer. ---
QUOTA_MAX = 2_000_000_000

# --- Our own: schedules ---
EVERY_MIN_MS = 1_000
EVERY_MAX_MS = 366 * 86_400_000
CRON_MAX_LENGTH = 1_000
EXCLUDE_MAX_DATES = 366
MAX_RUNS_LIMIT = 1_000_000_000
ZONE_MAX_LENGTH = 64
PREVIEW_MAX = 1_000
# A gap this long is a correction of the calendar (Samoa's skipped day), as in Debian's cron: nothing fires.
CALENDAR_GAP_SECONDS = 3 * 3_600

# --- Our own: instants. No arithmetic on one can leave what Python, Postgres and an id can hold. ---
MIN_INSTANT = datetime(1970, 1, 1, tzinfo=UTC)
MAX_INSTANT = datetime(2199, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)
DURATION_MAX_MS = 3_660 * 86_400_000

# --- Our own: execution ---
MAX_ATTEMPTS_LIMIT = 100
RETRY_DELAY_MAX_MS = 86_400_000
RETRY_MAX_AGE_MS = 30 * 86_400_000

# --- Our own: spread ---
SHARDS = 128
CELLS_MAX = 256

# How long whoever executes a run may be silent before another takes over, where nobody says otherwise.
LEASE = timedelta(seconds=60)

# A worker that fetches runs gets at most so many at once, and waits for the first at most so long: well below the 29 s
# that an HTTP API gives an answer.
LEASE_MAX_RUNS = 100
LEASE_MAX_WAIT_MS = 20_000
