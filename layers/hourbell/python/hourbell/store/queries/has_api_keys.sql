-- Whether any key was ever made: revoked and expired ones count.
select exists(select from api_key)
