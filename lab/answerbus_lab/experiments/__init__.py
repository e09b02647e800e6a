"""Experiments on live traffic: shadow runs of a candidate pipeline, their guards, and what they show."""
