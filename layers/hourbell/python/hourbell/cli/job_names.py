"""What the jobs of runs are called."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus

from hourbell.client import ApiError, Client, Run, UnreachableError


class JobNames:
    """Looks each job up once; the unnamed and the deleted go by their ids."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._names: dict[str, str] = {}

    def of(self, runs: Iterable[Run]) -> dict[str, str]:
        """By job id, what to call the jobs of these runs; ids, too, where the API does not say now."""
        job_ids = dict.fromkeys(run["job_id"] for run in runs)
        try:
            for job_id in job_ids:
                if job_id not in self._names:
                    self._names[job_id] = self._look_up(job_id)
        except (ApiError, UnreachableError):
            pass  # The rest is asked for with the next runs.
        return {job_id: self._names.get(job_id, job_id) for job_id in job_ids}

    def _look_up(self, job_id: str) -> str:
        try:
            return self._client.get_job(job_id)["name"] or job_id
        except ApiError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return job_id
            raise
