"""The `answerbus` command: its commands, the platform on one machine, operations, evaluations, generated pages."""
