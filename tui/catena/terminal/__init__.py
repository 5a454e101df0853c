"""The terminal below Textual: driver, input filters, escape sequences, and lending it to other programs."""
