"""Tables of predictions: each with the run that answered it, how methods keep their promise, and months of the site."""

from django.db import models

from analysis.predictions.quantities import Answer, Method, Quantity, Source
from jobs.models import Job, Project, User


class Prediction(models.Model):
    """What was predicted for the next run of a work with this partition, number of nodes and of GPUs, and time limit.

    `typical` in the unit of the quantity; `low` to `high` is to hold the next run in `promised_fraction` of all cases,
    all three null where the method states no range. `is_widened`: the range is at least as wide as earlier predictions
    of the site were off; `is_range_stated` is false where it is only kept, because its method missed its promise.
    `runs` are the earlier runs behind it. `is_shown`: it was stated; the others are kept to compare the methods.
    `fingerprint` (`quantities.fingerprint`) is the same for what is predicted again on the same day: while it is open
    only the first one is kept. `job` is the run that answered, `actual` what it took; with `EXCEEDED` at least that.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    cluster = models.CharField(max_length=64)
    work_key = models.CharField(max_length=32)
    source = models.CharField(max_length=16, choices=[(each.value, each.name) for each in Source])
    quantity = models.CharField(max_length=16, choices=[(each.value, each.name) for each in Quantity])
    partition = models.CharField(max_length=64)
    nodes = models.PositiveIntegerField()
    gpus = models.PositiveIntegerField()
    limit_s = models.FloatField(null=True)
    low = models.FloatField(null=True)
    typical = models.FloatField()
    high = models.FloatField(null=True)
    promised_fraction = models.FloatField(null=True)
    is_widened = models.BooleanField(default=False, db_default=False)
    is_range_stated = models.BooleanField(default=True, db_default=True)
    method = models.CharField(max_length=16, choices=[(each.value, each.name) for each in Method])
    method_version = models.PositiveSmallIntegerField()
    runs = models.PositiveIntegerField()
    is_shown = models.BooleanField()
    fingerprint = models.CharField(max_length=32)
    given_at = models.DateTimeField()
    answer = models.CharField(
        max_length=16, choices=[(each.value, each.name) for each in Answer], default=Answer.OPEN.value
    )
    job = models.ForeignKey(Job, on_delete=models.CASCADE, null=True, related_name="predictions")
    actual = models.FloatField(null=True)
    answered_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "work_key", "fingerprint"],
                condition=models.Q(job__isnull=True),
                name="open_prediction_once",
            ),
            # A run answers one prediction of each kind.
            models.UniqueConstraint(
                fields=["job", "source", "quantity", "method"],
                condition=models.Q(job__isnull=False),
                name="prediction_answered_once",
            ),
        ]
        indexes = [
            models.Index(fields=["user", "work_key", "given_at"], name="predictions_by_work"),
            models.Index(fields=["given_at"], name="predictions_by_time"),
            models.Index(
                fields=["answered_at"], name="answered_predictions", condition=models.Q(answered_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} by {self.method}: {self.answer}"


class MethodRecord(models.Model):
    """How one method kept its promise for one quantity within the last days, from the nightly calibration.

    `answered` counts each work's latest predictions, `ranged` and `inside` those whose promise is judged, as in
    `calibration.Record`. Ranges are as wide as the two factors say (`widening.Factors`), null while too few people
    have answers. It refers to nobody.
    """

    method = models.CharField(max_length=16)
    quantity = models.CharField(max_length=16)
    answered = models.PositiveIntegerField()
    ranged = models.PositiveIntegerField()
    inside = models.PositiveIntegerField()
    promised_fraction = models.FloatField(null=True)
    low_factor = models.FloatField(null=True)
    high_factor = models.FloatField(null=True)
    misses_promise = models.BooleanField()
    misses_since = models.DateTimeField(null=True)
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["method", "quantity"], name="method_record_once")]

    def __str__(self) -> str:
        return f"{self.method} of {self.quantity}"
