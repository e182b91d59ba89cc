"""How good, and how sure: spans, label sets, significance."""
