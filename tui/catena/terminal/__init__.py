"""The terminal below Textual: driver, input filters, escape sequences, and other programs in it."""
