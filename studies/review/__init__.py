"""The study of what an answer is worth: chosen questions beside random ones, and the estimate on the page."""
