"""Files: written whole or not at all, and read without trust in who wrote them."""
