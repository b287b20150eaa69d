"""The table of tokens with which an operator of Slurm reads the comments of judged jobs."""

from __future__ import annotations

from django.db import models


class CommentToken(models.Model):
    """A read-only token of a program, for the comments of one cluster; only the SHA-256 of the secret is stored."""

    name = models.CharField(max_length=64, unique=True)
    cluster = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
