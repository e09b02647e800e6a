"""From a bad answer to a regression case: triage of bad answers, gaps in the documents, suites of cases."""
