"""Reads the pages of web sites as documents: sitemaps, robots.txt, and which pages become documents."""
