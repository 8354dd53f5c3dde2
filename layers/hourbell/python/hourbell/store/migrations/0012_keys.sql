-- Keys that tenants manage themselves: last use, and rotation with a grace in which the secret before still opens.

alter table api_key add column last_used_at timestamptz;
alter table api_key add column previous_sha256 bytea;
alter table api_key add column previous_expires_at timestamptz;
alter table api_key add constraint api_key_previous_check
check ((previous_sha256 is null) = (previous_expires_at is null));
create unique index api_key_previous_key on api_key (previous_sha256);

grant select, insert, update on api_key to hourbell_api;
grant update (last_used_at) on api_key to hourbell_authorizer;
