"""Segments in S3: written and verified, read whole or by one block.

Every failure names the object. S3 that cannot be reached, answers 5xx, takes too long or breaks off is
``ColdUnavailableError`` and worth another try; an object that is gone or altered is ``SegmentError`` and needs somebody
to look. No transaction is open while S3 is waited for.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from uuid import UUID

from hourbell.cold.errors import ColdUnavailableError, RecordError, SegmentError
from hourbell.cold.patience import in_time
from hourbell.cold.segment import BlockError, BlockRange, WrittenSegment, find_block, pick_record, read_block

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from typing import Self

T = TypeVar("T")

# What every key begins with: see ``segment_key``.
SEGMENTS = "cold/"

_MISSING = frozenset({"NoSuchKey", "NoSuchVersion", "404", "NotFound", "MethodNotAllowed", "405"})
_ALTERED = frozenset({"PreconditionFailed", "412", "InvalidRange", "416"})


class StoredObject(NamedTuple):
    """An object of the catalogue, as far as reading it goes. ``version``: S3's; None in a bucket without versions."""

    key: str
    version: str | None
    size: int
    sha256: bytes
    blocks: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ColdObjects:
    """The bucket of the cold tier. ``client`` answers the environment's S3 client.

    ``seconds``: what one operation may take; None: what its client lets it. ``until``: when the time for all of them is
    over, on the monotonic clock.
    """

    bucket: str
    client: Callable[[], Any]
    seconds: float | None = None
    until: float | None = None

    def within(self, seconds: float) -> Self:
        """The same bucket, for no longer than this."""
        return replace(self, until=monotonic() + seconds)

    def is_late(self) -> bool:
        """Whether the time that is left may not be enough for one more operation."""
        return self.until is not None and self.until - monotonic() < (self.seconds or 0)

    def put(self, segment: WrittenSegment) -> str | None:
        """Store a segment; its version once S3 has confirmed length and checksum.

        Raises:
            ColdUnavailableError: S3 did not take it.
            SegmentError: what S3 has is not what was sent.
        """
        version, size, checksum = self._answer(segment.key, partial(self._put, segment))
        if size != len(segment.body) or checksum not in (None, _base64(segment.sha256)):
            raise SegmentError(segment.key, "S3 holds something else than was written")
        return version

    def get(self, stored: StoredObject) -> bytes:
        """The whole object, verified against the catalogue.

        Raises:
            ColdUnavailableError, SegmentError.
        """
        body = self._read(stored)
        if len(body) != stored.size:
            raise SegmentError(stored.key, f"has {len(body)} bytes instead of {stored.size}")
        if sha256(body).digest() != stored.sha256:
            raise SegmentError(stored.key, "its SHA-256 is not the catalogue's")
        return body

    def get_blocks(self, stored: StoredObject, blocks: Sequence[BlockRange]) -> list[bytes]:
        """The lines of neighbouring blocks: one range read.

        Raises:
            ColdUnavailableError, SegmentError.
        """
        first, last = blocks[0].first, blocks[-1].last
        members = self._read(stored, BlockRange(first=first, last=last))
        lines = []
        for block in blocks:
            try:
                lines += read_block(members[block.first - first : block.last - first + 1])
            except BlockError as error:
                raise SegmentError(stored.key, f"bytes {block.first}-{block.last}: {error}") from error
        return lines

    def find(self, stored: StoredObject, job_id: UUID) -> bytes | None:
        """The record of one job; None: the segment does not hold it. At most one read.

        Raises:
            ColdUnavailableError, SegmentError.
        """
        block = find_block(stored.blocks, stored.size, job_id)
        if block is None:
            return None
        try:
            return pick_record(self.get_blocks(stored, [block]), job_id)
        except RecordError as error:
            raise SegmentError(stored.key, str(error)) from error

    def list_keys(self, *, older_than: datetime | None = None) -> Iterator[str]:
        """The keys of all segments that are there, in their order; of those only that S3 had before this moment.

        Raises:
            ColdUnavailableError.
        """
        with _translated(SEGMENTS):
            for page in self.client().get_paginator("list_objects_v2").paginate(Bucket=self.bucket, Prefix=SEGMENTS):
                for found in page.get("Contents", ()):
                    if older_than is None or found["LastModified"] < older_than:
                        yield found["Key"]

    def is_current(self, stored: StoredObject) -> bool:
        """Whether its newest version is what the catalogue says: S3 keeps all others for some days only.

        Raises:
            ColdUnavailableError.
        """
        try:
            found = self._answer(stored.key, partial(self._head, stored.key, None))
        except SegmentError:
            return False
        return found == (stored.size, _base64(stored.sha256)) or found == (stored.size, None)

    def read_versions(self, key: str) -> Iterator[bytes]:
        """What the object was, the latest version first; also of one that was deleted, as long as S3 keeps them.

        Raises:
            ColdUnavailableError.
        """
        with _translated(key):
            pages = self.client().get_paginator("list_object_versions").paginate(Bucket=self.bucket, Prefix=key)
            found = [one for page in pages for one in page.get("Versions", ()) if one["Key"] == key]
        for version in sorted(found, key=lambda one: one["LastModified"], reverse=True):
            yield self._read(StoredObject(key, version["VersionId"], 0, b"", b""))

    def delete(self, key: str) -> None:
        """Delete an object; its versions stay until the bucket's lifecycle removes them. Idempotent.

        Raises:
            ColdUnavailableError.
        """
        self._answer(key, lambda client: client.delete_object(Bucket=self.bucket, Key=key))

    def _put(self, segment: WrittenSegment, client: Any) -> tuple[str | None, int, str | None]:
        reply = client.put_object(
            Bucket=self.bucket,
            Key=segment.key,
            Body=segment.body,
            ContentType="application/gzip",
            ChecksumSHA256=_base64(segment.sha256),
        )
        version: str | None = reply.get("VersionId")
        return version, *self._head(segment.key, version, client)

    def _head(self, key: str, version: str | None, client: Any) -> tuple[int, str | None]:
        """Length and checksum."""
        found = client.head_object(Bucket=self.bucket, Key=key, ChecksumMode="ENABLED", **_version(version))
        return _length(key, found), found.get("ChecksumSHA256")

    def _read(self, stored: StoredObject, part: BlockRange | None = None) -> bytes:
        try:
            return self._read_version(stored.key, stored.version, part)
        except SegmentError:
            if stored.version is None:
                raise
        # A PUT that S3 carried out late made its version an old one, which S3 removes in time. One key, one content.
        return self._read_version(stored.key, None, part)

    def _read_version(self, key: str, version: str | None, part: BlockRange | None) -> bytes:
        wanted = {} if part is None else {"Range": f"bytes={part.first}-{part.last}"}

        def read(client: Any) -> tuple[dict[str, Any], bytes]:
            reply = client.get_object(Bucket=self.bucket, Key=key, **_version(version), **wanted)
            with closing(reply["Body"]) as body:
                _length(key, reply)
                return reply, body.read()

        reply, body = self._answer(key, read)
        if part is not None and "ContentRange" not in reply:
            # A server may answer a range with the whole (RFC 9110, section 14.2); the emulator does so for a version.
            return body[part.first : part.last + 1]
        return body

    def _answer(self, key: str, ask: Callable[[Any], T]) -> T:
        client = self.client()  # the first call makes it, which is no fault of S3
        left = [] if self.seconds is None else [self.seconds]
        if self.until is not None:
            left.append(self.until - monotonic())
        with _translated(key):
            return in_time(lambda: ask(client), max(0, min(left))) if left else ask(client)


def _base64(digest: bytes) -> str:
    return b64encode(digest).decode()


def _length(key: str, reply: Mapping[str, Any]) -> int:
    """What S3 says the length is; without it the body's end would be wherever the connection broke."""
    try:
        return int(reply["ContentLength"])
    except KeyError:
        raise ColdUnavailableError(f"{key}: the answer broke off in its head") from None


def _version(version: str | None) -> dict[str, str]:
    return {} if version is None else {"VersionId": version}


@contextmanager
def _translated(key: str) -> Iterator[None]:
    from botocore.exceptions import BotoCoreError, ClientError
    from urllib3.exceptions import HTTPError

    try:
        yield
    except ClientError as error:
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in _MISSING:
            raise SegmentError(key, "is missing") from error
        if code in _ALTERED:
            raise SegmentError(key, "is not as long as the catalogue says") from error
        raise ColdUnavailableError(f"{key}: {error}") from error
    except TimeoutError as error:
        raise ColdUnavailableError(f"{key}: no answer in time") from error
    except (BotoCoreError, HTTPError) as error:
        raise ColdUnavailableError(f"{key}: {error}") from error
