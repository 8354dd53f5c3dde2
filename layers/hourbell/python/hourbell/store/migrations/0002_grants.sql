-- What each kind of function may do. The roles themselves are made by store/bootstrap.py, as an administrator.

grant select on tenant, api_key to hourbell_api;
grant select, insert, update on target, job to hourbell_api;
grant select, insert, update, delete on due to hourbell_api;
grant select, insert, update on run to hourbell_api;
grant select, insert on missed to hourbell_api;
grant select on attempt to hourbell_api;

grant select on target, tenant to hourbell_scanner;
grant select, update on job to hourbell_scanner;
grant select, update, delete on due to hourbell_scanner;
grant select, insert, update on run, attempt, shard_lease to hourbell_scanner;
grant select, insert on missed to hourbell_scanner;

grant select on target to hourbell_worker;
grant select, update on job to hourbell_worker;
grant select, delete on due to hourbell_worker;
grant select, update on run to hourbell_worker;
grant select, insert, update on attempt to hourbell_worker;
