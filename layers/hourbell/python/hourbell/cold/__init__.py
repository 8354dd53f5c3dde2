"""The cold tier's segments: their format, and the objects in S3 that hold them."""
