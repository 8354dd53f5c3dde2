"""SQS messages in and out."""
