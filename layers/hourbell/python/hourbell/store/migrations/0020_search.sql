-- Search: jobs by words, tags, name prefix, target and state, each in the order of a page where it can be.

-- What a job is found by: the words of its name and of its tags' values, in small letters, and its tags whole. Words hold
-- no ASCII but letters and digits, tags begin with a colon, so that neither is taken for the other. A to Z alone have small letters
-- here: what becomes of others depends on the server's locale, and an index must not.
create function job_terms(of_name text, of_tags jsonb) returns tsvector language sql immutable parallel safe
return (
    select
        array_to_tsvector(
            array_remove(
                string_to_array(
                    translate(
                        lower(coalesce(of_name || ' ', '') || coalesce(string_agg(value, ' '), '') collate "C"),
                        e' !"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~\t\n\r', repeat(' ', 36)
                    ),
                    ' '
                ),
                ''
            ) || coalesce(array_agg(':' || key || ':' || value), array[]::text[])
        )
    from jsonb_each_text(of_tags)
);

alter table job add column terms tsvector generated always as (job_terms(name, tags)) stored;

-- Entries that wait to be put into the index are read by every search: few may.
create index job_terms_idx on job using gin (terms) with (gin_pending_list_limit = 512) where state <> 'deleted';
create index job_prefix_idx on job (tenant_id, name text_pattern_ops) where name is not null and state <> 'deleted';
create index job_state_idx on job (tenant_id, state, job_id) where state <> 'deleted';
create index job_of_target_idx on job (target_id, job_id) where state <> 'deleted';
drop index job_tags_idx;
drop index job_target_idx;

-- What PostgreSQL does not hold for leakproof (LIKE, words) cannot use an index under a row policy. A view that belongs to
-- the owner says the same itself: the rows of the tenant that the transaction named, and none before it named one.
create view searched_job as
select job_id, tenant_id, name, state, target_id, terms
from job
where tenant_id = current_tenant();

grant select on searched_job to hourbell_api;
