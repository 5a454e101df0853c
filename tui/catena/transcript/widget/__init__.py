"""The widget: scrolling, browsing, selection and search over the rows."""
