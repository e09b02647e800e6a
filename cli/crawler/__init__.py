"""Collects documents for ingestion from files and folders."""
