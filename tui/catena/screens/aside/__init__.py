"""The overlay of an aside."""
