"""The command line: one module per noun under `commands`, the local host, operations, evaluation, crawler and page generators."""
