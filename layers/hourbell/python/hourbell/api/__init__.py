"""The HTTP API: bytes in, problem details or JSON out. Everything below it is a use case of ``hourbell.services``."""
