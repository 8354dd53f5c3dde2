-- Runs in the hands of their targets and their owners: a result, and attempts that count anew after a redrive.

alter table run add column result text;
-- a redriven run starts over: the attempts it had before do not count against its limit, and it runs whatever has
-- become of its job's schedule since
alter table run add column redriven boolean not null default false;
alter table run add column attempts_before integer not null default 0;

grant update on attempt to hourbell_api;
