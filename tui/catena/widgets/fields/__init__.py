"""Fields that text is edited in: drawn safely, with vi's keys where they are wanted, and as rows of a form."""
