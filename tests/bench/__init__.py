"""Speed, as ratios: the platform's chain beside baselines run in the same minute on the same machine."""
