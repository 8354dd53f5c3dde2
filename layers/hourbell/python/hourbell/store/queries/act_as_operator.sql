-- Lets the transaction see and make tenants; ends with the transaction.
select set_config('hourbell.operator', 'on', true)
