-- Moves the tenant's arrival time on, if the request comes no earlier than its pace allows; two requests never share one moment.
insert into tenant_request as known (tenant_id, tat)
values (%(tenant_id)s, %(now)s::timestamptz + %(interval)s)
on conflict (tenant_id) do update
    set tat = greatest(known.tat, %(now)s) + %(interval)s
    where known.tat <= %(now)s::timestamptz + %(tolerance)s
