"""Actions on whole conversations: finding, reading, moving and exporting them."""
