"""What agents changed in files: composed of what they reported, compared with the files, as hunks and as a patch."""
