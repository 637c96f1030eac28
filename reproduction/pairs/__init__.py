"""Two-class problems of UCI tables, which several experiments share."""
