"""Files, folders, sites and sitemaps as documents to submit."""
