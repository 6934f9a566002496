"""Linear models on codes, dense or sparse rows: liblinear's problems, and ternary coefficients."""

from kernelight.linear import replay, rounds
from kernelight.linear.classifier import LinearClassifier
from kernelight.linear.regressor import LinearRegressor
from kernelight.linear.ternary import TernaryClassifier

__all__ = ["LinearClassifier", "LinearRegressor", "TernaryClassifier", "replay", "rounds"]
