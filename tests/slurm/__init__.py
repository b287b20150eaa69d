import pytest

# Their assertions speak as those of a test do.
pytest.register_assert_rewrite("tests.slurm.cases_of_jobs", "tests.slurm.cases_of_nodes")
