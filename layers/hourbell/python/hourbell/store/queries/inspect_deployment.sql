-- How the deployment stands, by the database; of tenants it says nothing.
select inspect_deployment() as deployment
