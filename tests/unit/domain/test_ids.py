import subprocess
import sys
from collections import Counter
from datetime import timedelta
from uuid import UUID

import pytest
from hourbell.domain.errors import FieldError
from hourbell.domain.ids import (
    IdError,
    decode,
    due_hour_of,
    encode,
    job_cell,
    job_created_at,
    job_due_hour,
    new_id,
    new_job_id,
    run_id,
    run_scheduled_for,
    shard_of,
)
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.domain.clocks import JOB, OTHER_JOB, utc

NOW = utc("2026-11-29T16:42:00.123Z")


def test_a_job_id_tells_its_birth_cell_and_due_hour() -> None:
    due = due_hour_of(utc("2031-05-01T17:59:59Z"))
    job = new_job_id(NOW, cell=200, due_hour=due)
    assert (job_created_at(job), job_cell(job), job_due_hour(job)) == (NOW, 200, due)
    assert (job.version, job.variant) == (8, "specified in RFC 4122")


def test_a_job_born_warm_has_no_due_hour() -> None:
    assert job_due_hour(new_job_id(NOW)) == 0


def test_job_ids_sort_by_creation() -> None:
    ids = [new_job_id(NOW + timedelta(milliseconds=n)) for n in range(50)]
    assert ids == sorted(ids)


def test_all_of_the_entropy_that_fits_is_used() -> None:
    zeros, ones = (new_job_id(NOW, entropy=lambda size, byte=byte: byte * size) for byte in (b"\0", b"\xff"))
    assert (zeros.int ^ ones.int).bit_count() == 42


@pytest.mark.parametrize("wrong", [{"cell": 256}, {"cell": -1}, {"due_hour": 1 << 24}])
def test_what_does_not_fit_is_no_id(wrong: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="does not fit"):
        new_job_id(NOW, **wrong)


def test_a_run_id_is_the_same_wherever_it_is_computed() -> None:
    code = f"""
from uuid import UUID
from hourbell.domain.ids import encode, run_id
from hourbell.domain.instants import from_epoch_ms
print(encode("run", run_id(UUID({str(JOB)!r}), from_epoch_ms(1_800_000_000_123))))
"""
    elsewhere = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert elsewhere == "run_01mcc5rm3vgwdv4mbtwjqrc3j1"


def test_a_run_id_tells_its_time_and_differs_by_job_and_time() -> None:
    run = run_id(JOB, NOW)
    assert run_scheduled_for(run) == NOW
    assert len({run, run_id(OTHER_JOB, NOW), run_id(JOB, NOW + timedelta(milliseconds=1))}) == 3
    assert run.version == 8


def test_a_run_id_ignores_what_is_finer_than_a_millisecond() -> None:
    assert run_id(JOB, NOW) == run_id(JOB, NOW + timedelta(microseconds=999))


def test_other_ids_are_version_seven_and_sort_by_time() -> None:
    ids = [new_id(NOW + timedelta(milliseconds=n)) for n in range(50)]
    assert ids == sorted(ids)
    assert {value.version for value in ids} == {7}


def test_shards_are_even_and_fixed() -> None:
    counts = Counter(shard_of(new_job_id(NOW)) for _ in range(25_600))
    assert len(counts) == 128
    assert max(counts.values()) < 300
    assert (shard_of(JOB), shard_of(OTHER_JOB)) == (125, 79)


def test_shown_as_a_type_id() -> None:
    assert encode("job", UUID("0188bac7-4afa-78aa-bc3b-bd1eef28d881")) == "job_01h2xcejqtf2nbrexx3vqjhp41"


@given(st.integers(0, (1 << 42) - 1), st.sampled_from(["job", "run", "tgt", "key", "ten"]))
def test_what_is_shown_is_read_back(number: int, prefix: str) -> None:
    job = new_job_id(NOW, entropy=lambda _: number.to_bytes(6))
    assert decode(prefix, encode(prefix, job)) == job


GOOD = "01h2xcejqtf2nbrexx3vqjhp41"


@pytest.mark.parametrize(
    "value",
    [
        *(f"run_{GOOD}", GOOD, f"job_{GOOD.upper()}", f"job_{GOOD[:-1]}", f"job_{GOOD}0", "", "job_", "../../etc"),
        *(f"job_{GOOD[:-1]}{last}" for last in ("u", "\u0661", "\0", "-")),
        *("job_" + "z" * 26, "job_" + "0" * 26, None, 5, ["job"]),
    ],
    ids=ascii,
)
def test_anything_else_is_no_id(value: object) -> None:
    with pytest.raises(IdError) as caught:
        decode("job", value, field="job_id")
    assert isinstance(caught.value, FieldError)
    assert caught.value.field == "job_id"


def test_a_forged_run_id_cannot_leave_the_calendar() -> None:
    with pytest.raises(IdError):
        decode("run", "run_7zzzzzzzzzf2nbrexx3vqjhp41")
