-- Deletes the answers that no repetition is given any more.
delete from idempotent_request
where idempotent_request.created_at <= %(before)s
