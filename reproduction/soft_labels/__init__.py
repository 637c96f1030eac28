"""The question that the paper leaves open: whether soft labels work better than hard ones."""
