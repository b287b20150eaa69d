"""`kaiku`: a person's own jobs and advice in the terminal, one file for login nodes."""
