"""What `answerbus evaluate` measures: data sets, metrics, runs and reports."""
