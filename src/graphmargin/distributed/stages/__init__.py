"""The stages of a fit; each reads what earlier ones have left on storage."""
