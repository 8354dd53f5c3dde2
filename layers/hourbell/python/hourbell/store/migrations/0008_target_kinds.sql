-- Targets in AWS: functions, queues, topics, event buses, state machines. The old code, which knows only 'http', goes on.

alter table target drop constraint target_kind_check;
alter table target add constraint target_kind_check check (
    kind in ('http', 'lambda', 'sqs', 'sns', 'eventbridge', 'step_functions')
);
