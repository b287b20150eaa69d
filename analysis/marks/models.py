"""Marks of what is to be done again: what changed, and how far a step has come."""

from django.db import models


class Noted(models.Model):
    """Something that changed and is to be done again; repeats are normal.

    Written with the change, in its transaction, and never waited for: the table has no constraint. Whoever does it
    again deletes the rows that were read before, by their keys, in the transaction that stores the result: a row that
    is committed meanwhile is found all the same, because no mark of time is passed.
    """

    noted_at = models.DateTimeField()

    class Meta:
        abstract = True


class SweepMark(models.Model):
    """How far a step has come: everything that changed before `at` was checked, or every row above `position`."""

    name = models.CharField(max_length=64, unique=True)
    at = models.DateTimeField(null=True)
    position = models.BigIntegerField(null=True)

    def __str__(self) -> str:
        return self.name
