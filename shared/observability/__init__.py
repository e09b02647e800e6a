"""Logs, metrics, traces, health probes and worker status."""
