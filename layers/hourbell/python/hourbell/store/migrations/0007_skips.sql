-- Occurrences that a user took out ahead of their time; whatever plans the job again passes over them.

alter table job add column skipped timestamptz[] not null default '{}';
