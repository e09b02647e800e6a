"""Collects documents for ingestion from files, folders, web pages and sitemaps."""
