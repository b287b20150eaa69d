"""The table of tokens with which a scheduler or another program reads the policy figures."""

from __future__ import annotations

from django.db import models


class PolicyToken(models.Model):
    """A read-only token of a program, not of a person; only the SHA-256 of the secret is stored."""

    name = models.CharField(max_length=64, unique=True)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.name
