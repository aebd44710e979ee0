"""Labels carried over from one domain to another: guesses from many sides, weighed by evidence."""
