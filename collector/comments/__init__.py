"""Comments of judged jobs for Slurm's accounting: read from the portal and written with sacctmgr, by an operator."""
