"""Benchmark of confidence: probabilities, estimates of accuracy and prediction sets."""
