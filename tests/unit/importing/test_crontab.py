"""crontab(5) as jobs."""

from __future__ import annotations

import re

import pytest
from hourbell.importing.crontab import DIFFERENCE, CrontabOptions, read_crontab, split_command
from hourbell.importing.plan import ImportedJob, Plan

from tests.seeds import T0


def read(text: str, **options) -> Plan:
    return read_crontab(text, CrontabOptions(**{"target": "agent", "timezone": "Europe/Paris", **options}), now=T0)


def only(text: str, **options) -> ImportedJob:
    plan = read(text, **options)
    assert plan.refused == ()
    (job,) = plan.jobs
    return job


def reason(line: str, **options) -> str:
    plan = read(line, **options)
    assert plan.jobs == ()
    (refused,) = plan.refused
    return refused.reason


def test_a_line_becomes_a_job_of_the_named_target():
    job = only("0 2 * * 1-5 /usr/local/bin/backup.sh --all\n")
    assert job.source == "line 1"
    assert job.definition == {
        "name": "crontab-backup.sh-a4235b63",
        "schedule": {"cron": "0 2 * * 1-5", "timezone": "Europe/Paris"},
        "target": "agent",
        "payload": {
            "command": "/usr/local/bin/backup.sh --all",
            "stdin": None,
            "environment": {},
            "user": None,
        },
        "tags": {"imported-from": "crontab"},
    }


@pytest.mark.parametrize(
    ("line", "cron"),
    [
        ("*/5 * * * * x", "*/5 * * * *"),
        ("0-59/7 9-17 1,15 JAN-mar Mon-FRI x", "0-59/7 9-17 1,15 JAN-mar Mon-FRI"),
        ("0 0 13 * 5 x", "0 0 13 * 5"),
        ("0 0 * * 7 x", "0 0 * * 7"),
        ("0\t0  *\t* \t0 x", "0 0 * * 0"),
        ("@daily x", "@daily"),
        ("@Midnight x", "@midnight"),
        ("@hourly\tx", "@hourly"),
        ("  0 0 1 1 * x", "0 0 1 1 *"),
        ("0 0 1 1 * x\r", "0 0 1 1 *"),
    ],
)
def test_schedules_are_kept_as_they_are_written(line: str, cron: str):
    job = only(line)
    assert job.definition["schedule"]["cron"] == cron
    assert job.definition["payload"]["command"] == "x"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("@reboot x", "@reboot is no time"),
        ("@fortnightly x", "is none of @annually"),
        ("0 0 * * x", "x is not crontab"),
        ("0 0 * * *", "no room for a command"),
        ("@daily", "no room for a command"),
        ("61 * * * * x", "minute"),
        ("0 0 31 2 * x", "never|no time|cron"),
        ("0 22-2 * * * x", "22-2 ends before it begins"),
        ("0 0 * * fri-sun x", "fri-sun ends before it begins"),
        ("5/15 * * * * x", "crons differ"),
        ("0~30 * * * * x", "a random time"),
        ("0 0 L * * x", "L is not crontab"),
        ("0 0 * * 5#2 x", "5#2 is not crontab"),
        ("0 0 ? * * x", r"\? is not crontab"),
        ("H 0 * * * x", "H is not crontab"),
        ("0 0 * foo * x", "'FOO' in the month"),
        ("0 0 foo * * x", "foo is not crontab|day of month"),
        ("*/0 * * * * x", "minute"),
        ("0 0 1,,2 * * x", "is not crontab"),
        ("gibberish", "neither five fields"),
    ],
)
def test_what_cron_would_not_run_like_this_is_refused_with_a_reason(line: str, why: str):
    assert re.search(why, reason(line))


def test_comments_and_blank_lines_are_nothing():
    assert read("# 0 0 * * * x\n\n   \n\t# y\n") == Plan(jobs=())


def test_environment_lines_hold_for_the_lines_below_them():
    plan = read('A=1\n0 0 * * * x\nA = 2\nB=\'  kept \'\nC = "it\'s"\n"D"=\n0 0 * * * y # not a comment\n')
    environments = [job.definition["payload"]["environment"] for job in plan.jobs]
    assert environments == [{"A": "1"}, {"A": "2", "B": "  kept ", "C": "it's", "D": ""}]
    assert plan.jobs[1].definition["payload"]["command"] == "y # not a comment"


def test_a_command_that_assigns_is_a_command():
    assert only("0 0 * * * A=1 x").definition["payload"]["command"] == "A=1 x"


def test_cron_tz_moves_the_lines_below_it():
    plan = read(
        "0 1 * * * x\nCRON_TZ=Asia/Kolkata\n0 2 * * * y\nCRON_TZ=Nowhere/Land\n0 3 * * * z\nCRON_TZ=UTC\n0 4 * * * q"
    )
    assert [job.definition["schedule"]["timezone"] for job in plan.jobs] == ["Europe/Paris", "Asia/Kolkata", "UTC"]
    assert [refused.source for refused in plan.refused] == ["line 4", "line 5"]
    assert "not a zone" in plan.refused[0].reason
    assert "below a CRON_TZ" in plan.refused[1].reason


def test_tz_is_only_what_the_command_sees():
    plan = read("TZ=Asia/Tokyo\n0 1 * * * x")
    assert plan.jobs[0].definition["schedule"]["timezone"] == "Europe/Paris"
    assert plan.jobs[0].definition["payload"]["environment"] == {"TZ": "Asia/Tokyo"}
    assert any(note.startswith("TZ is what commands see") for note in plan.notes)


def test_mail_is_ignored_and_said_once():
    plan = read("MAILTO=root\n0 1 * * * x\nMAILTO=\n0 2 * * * y")
    assert plan.notes == ("MAILTO is ignored: no mail is sent, each run has a record (hourbell runs list)", DIFFERENCE)
    assert plan.jobs[1].definition["payload"]["environment"] == {}


def test_random_delay_is_a_window():
    plan = read("RANDOM_DELAY=30\n0 1 * * * x\nRANDOM_DELAY=0\n0 2 * * * y")
    assert [job.definition.get("window") for job in plan.jobs] == ["PT30M", None]


@pytest.mark.parametrize(
    ("text", "command", "stdin"),
    [
        ("mail joe", "mail joe", None),
        ("mail joe%Hello%World", "mail joe", "Hello\nWorld\n"),
        ("cat%", "cat", ""),
        ("cat%a%", "cat", "a\n"),
        ("date +\\%F", "date +%F", None),
        ("date +\\%F%in \\% put", "date +%F", "in % put\n"),
        ("echo a\\b", "echo a\\b", None),
        ("echo \\\\%x", "echo \\\\", "x\n"),
    ],
)
def test_percent_signs_are_read_as_cron_reads_them(text: str, command: str, stdin: str | None):
    assert split_command(text) == (command, stdin)


def test_standard_input_is_in_the_payload_and_in_a_note():
    job = only("0 0 * * * mail joe%Hello")
    assert (job.definition["payload"]["command"], job.definition["payload"]["stdin"]) == ("mail joe", "Hello\n")
    assert job.notes == ("what follows the first % is the payload's stdin",)


def test_a_system_crontab_has_a_user_column():
    job = only("17 *\t* * *\troot\tcd / && run-parts /etc/cron.hourly", system=True)
    assert job.definition["payload"]["user"] == "root"
    assert job.definition["payload"]["command"] == "cd / && run-parts /etc/cron.hourly"
    assert reason("0 0 * * * root", system=True) == "it has no room for a user and a command"


def test_names_hold_when_lines_move_or_change_their_times():
    before = read("0 1 * * * /bin/a x\n0 2 * * * /bin/b y")
    after = read("# more\n5 5 * * * /bin/b y\n0 1 * * * /bin/a x")
    assert [job.name for job in before.jobs] == [job.name for job in reversed(after.jobs)]


def test_names_tell_commands_users_and_repetitions_apart():
    plan = read("0 1 * * * root x\n0 2 * * * root x\n0 1 * * * joe x\n0 1 * * * root y", system=True)
    assert len({job.name for job in plan.jobs}) == 4
    assert plan.jobs[1].name == f"{plan.jobs[0].name}-2"


def test_tags_and_prefix_are_the_users():
    job = only("0 1 * * * x", tags={"team": "ops"}, prefix="web-1")
    assert job.name.startswith("web-1-x-")
    assert job.definition["tags"] == {"imported-from": "crontab", "team": "ops"}


def test_the_dash_of_other_crons_is_left_out():
    job = only("-0 1 * * * x")
    assert job.definition["schedule"]["cron"] == "0 1 * * *"
    assert job.notes == ("the leading - (no syslog) has no meaning here",)
