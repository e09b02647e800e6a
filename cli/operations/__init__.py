"""What operators do to a running platform: provisioning, replays, dead letters, credentials, ingestion."""
