"""The transcript widget: scrolling, browsing, selection and search."""
