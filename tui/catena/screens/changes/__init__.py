"""What agents changed in files: the review of hunks, and the page of all files they read or changed."""
