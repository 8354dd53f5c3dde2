"""The format: lines in, gzip members out, each found again by its id."""

from __future__ import annotations

import gzip
from datetime import timedelta
from uuid import UUID

import pytest
from hourbell.cold.errors import RecordError
from hourbell.cold.record import decode_record, encode_record, record_id
from hourbell.cold.segment import (
    BLOCK_RECORDS,
    BlockError,
    Salvage,
    blocks_after,
    find_block,
    pick_record,
    read_block,
    salvage,
    write_segment,
)
from hourbell.domain.cold import cold_hour, hour_start, last_hot_hour
from hourbell.domain.ids import due_hour_of

from tests.cold_jobs import cold_job
from tests.seeds import T0

HOUR = due_hour_of(T0)


def lines(count: int) -> list[bytes]:
    return sorted(encode_record(cold_job(T0 + timedelta(days=1))).encode() for _ in range(count))


@pytest.mark.parametrize("payload", ["{}", '{"a":"\\u0000\\n\\"ü💥"}', '"' + "x" * 100_000 + '"'])
def test_a_record_comes_back_to_the_letter(payload: str):
    job = cold_job(T0 + timedelta(days=3), payload=payload, name="nächtlich", tags='{"a":"b"}')
    line = encode_record(job)
    assert decode_record(line) == decode_record(line.encode()) == job
    assert record_id(line.encode()) == job.job_id
    assert "\n" not in line


@pytest.mark.parametrize(
    "line", [b"", b"{}", b"[]", b'{"v":1}', b"\xff", b'{"v":1,"job_id":"x"}', b'{"v":2,"job_id":"' + b"0" * 36 + b'"}']
)
def test_what_is_no_record_of_a_known_version_is_refused(line: bytes):
    with pytest.raises(RecordError):
        decode_record(line)
    with pytest.raises(RecordError):
        record_id(line)


@pytest.mark.parametrize("count", [1, BLOCK_RECORDS - 1, BLOCK_RECORDS, BLOCK_RECORDS + 1, 3 * BLOCK_RECORDS])
def test_a_segment_reads_as_one_gzip_file_and_by_its_blocks(count: int):
    written = write_segment(HOUR, made := lines(count))
    assert gzip.decompress(written.body).splitlines() == made
    ranges = list(blocks_after(written.blocks, len(written.body), None))
    assert [line for one in ranges for line in read_block(written.body[one.first : one.last + 1])] == made
    assert (written.first_id, written.last_id, written.jobs) == (record_id(made[0]), record_id(made[-1]), count)


def test_every_record_is_found_in_one_block_and_others_in_none():
    written = write_segment(HOUR, made := lines(2 * BLOCK_RECORDS + 7))
    for line in made:
        block = find_block(written.blocks, len(written.body), record_id(line))
        assert block is not None
        assert pick_record(read_block(written.body[block.first : block.last + 1]), record_id(line)) == line
    assert find_block(written.blocks, len(written.body), UUID(int=written.first_id.int - 1)) is None
    last = find_block(written.blocks, len(written.body), UUID(int=written.last_id.int + 1))
    assert last is not None
    assert pick_record(read_block(written.body[last.first :]), UUID(int=written.last_id.int + 1)) is None


def test_reading_goes_on_with_the_block_that_holds_the_id():
    written = write_segment(HOUR, made := lines(3 * BLOCK_RECORDS))
    ranges = list(blocks_after(written.blocks, len(written.body), record_id(made[BLOCK_RECORDS])))
    assert len(ranges) == 2
    assert ranges[-1].last == len(written.body) - 1


def test_the_same_lines_make_the_same_object_and_others_another_key():
    made = lines(5)
    assert write_segment(HOUR, made) == write_segment(HOUR, list(made))
    other = [made[0], *made[2:]]
    assert write_segment(HOUR, made).key != write_segment(HOUR, other).key
    assert write_segment(HOUR, made).key.startswith("cold/2027-05-09/12/job_")


def test_lines_out_of_order_or_twice_are_refused():
    made = lines(3)
    for wrong in ([], made[::-1], [made[0], made[0]]):
        with pytest.raises(ValueError, match="sorted by id, each once"):
            write_segment(HOUR, wrong)


@pytest.mark.parametrize("damage", ["flip", "cut", "two"])
def test_a_damaged_block_says_so(damage: str):
    written = write_segment(HOUR, lines(2 * BLOCK_RECORDS))
    block = next(blocks_after(written.blocks, len(written.body), None))
    member = bytearray(written.body[block.first : block.last + 1])
    if damage == "flip":
        member[len(member) // 2] ^= 1
    elif damage == "cut":
        del member[-1]
    else:
        member = bytearray(bytes(member) * 2)
    with pytest.raises(BlockError):
        read_block(bytes(member))


def test_a_job_is_cold_exactly_while_its_bucket_is_not_promoted():
    """One rule for both: whatever the loader takes up to ``last_hot_hour``, no create puts there."""
    for milliseconds in (-1, 0, 1, 3_599_999, 3_600_000):
        now = T0 + timedelta(milliseconds=milliseconds)
        for ahead in (
            timedelta(hours=2),
            timedelta(hours=2, minutes=59, seconds=59, milliseconds=999),
            timedelta(hours=3),
        ):
            scheduled_for = now + ahead
            hour = cold_hour(scheduled_for, now=now)
            assert (hour == 0) == (due_hour_of(scheduled_for) <= last_hot_hour(now))
            assert (hour == 0) == (hour_start(due_hour_of(scheduled_for)) <= now + timedelta(hours=2))


def test_an_hour_ends_before_its_last_instant_is_over():
    last = T0 + timedelta(minutes=59, seconds=59, milliseconds=999)
    assert due_hour_of(last) == HOUR
    assert due_hour_of(last + timedelta(milliseconds=1)) == HOUR + 1
    assert hour_start(HOUR) == T0


def test_each_block_is_salvaged_from_whatever_version_has_it_whole():
    records = lines(3 * BLOCK_RECORDS + 3)
    written = write_segment(HOUR, records)
    starts = [span.first for span in blocks_after(written.blocks, len(written.body), None)]

    def damaged(*blocks: int) -> bytes:
        body = bytearray(written.body)
        for block in blocks:
            body[starts[block] + 40] ^= 1
        return bytes(body)

    def salvaged(*bodies: bytes) -> Salvage:
        return salvage(written.blocks, len(written.body), bodies)

    first_of_the_third = record_id(records[2 * BLOCK_RECORDS])
    assert salvaged(damaged(0, 2), b"", damaged(1, 2, 3)) == Salvage(
        lines=records[: 2 * BLOCK_RECORDS] + records[3 * BLOCK_RECORDS :], lost=[first_of_the_third]
    )
    assert salvaged(damaged(0, 1), damaged(2, 3)) == Salvage(lines=records, lost=[])
    assert salvaged(written.body[: starts[1]]).lines == records[:BLOCK_RECORDS]
    # whole blocks of some other segment
    other = write_segment(HOUR, lines(len(records)))
    assert salvaged(other.body).lines == []
    # an index that names another first record
    stranger = UUID(int=record_id(records[BLOCK_RECORDS]).int - 1)
    index = written.blocks[:20] + stranger.bytes + written.blocks[36:]
    assert salvage(index, len(written.body), [written.body]).lost == [stranger]
