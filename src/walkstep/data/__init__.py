"""What was observed: corpora, label sets, saved models; one reader for each format."""
