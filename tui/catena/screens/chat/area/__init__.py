"""Everything of one chat as one widget: conversation, panels and composer."""
