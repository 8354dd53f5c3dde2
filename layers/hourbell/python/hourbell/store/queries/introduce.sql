-- Says whose the transaction is: row policies show it that tenant's rows and no others, changes are recorded as that key's. Ends with the transaction.
select
    set_config('hourbell.tenant_id', %(tenant_id)s, true),
    set_config('hourbell.key_id', %(key_id)s, true),
    set_config('hourbell.request_id', %(request_id)s, true)
