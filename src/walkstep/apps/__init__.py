"""Estimators with scikit-learn's manners."""
