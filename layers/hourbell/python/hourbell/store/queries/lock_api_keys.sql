-- Lets nobody else store a key until this transaction ends: who finds none may make the first.
lock table api_key in share row exclusive mode
