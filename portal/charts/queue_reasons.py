"""Why a job waits, in plain words, by the reason that Slurm states.

After "Job Reason Codes" and "Resource Limits" of Slurm's documentation (slurm.schedmd.com, 25.05), and squeue(1) of
22.05, which has no codes for some. What an administrator's limit is about is in its code, which is shown beside it.
"""

DOCUMENTATION = "https://slurm.schedmd.com/job_reason_codes.html"

IN_TURN = {
    "": "Slurm has not considered it yet in this round.",
    "Priority": "Jobs with a higher priority are ahead of it.",
    "Resources": "It is next, and waits until enough nodes or GPUs are free.",
    "Nodes required for job are DOWN": "All nodes that fit are in use, down, or reserved for jobs ahead of it.",
}
"""Here the queue alone delays a job, so earlier waits say something about it. By the start of the reason."""

BLOCKED = {
    "Dependency": "It waits for another job that it depends on.",
    "DependencyNeverSatisfied": "A job that it depends on did not end as required, so it never starts: cancel it.",
    "BeginTime": "Its earliest start (--begin, or some minutes after a requeue) has not come yet.",
    "JobHeldUser": "Its owner or a coordinator of the project holds it: scontrol release lets it start.",
    "JobHeldAdmin": "An administrator holds it: ask the support of the site.",
    "JobHoldMaxRequeue": "It was requeued too often and is held: scontrol release lets it start again.",
    "launch failed requeued held": "It could not be started and is held: scontrol release tries again.",
    "JobLaunchFailure": "It could not be started; the program or a file system may be missing.",
    "JobArrayTaskLimit": "As many tasks of the array run as it allows itself at a time (--array=...%N).",
    "ReqNodeNotAvail": "A node that it needs is reserved, for example for maintenance, or down.",
    "Reservation": "It waits for the reservation that it requested (--reservation).",
    "PartitionDown": "The partition starts no jobs at the moment.",
    "PartitionInactive": "The partition accepts no jobs at the moment.",
    "PartitionNodeLimit": "It requests more nodes than its partition allows, or than are up there.",
    "PartitionTimeLimit": "Its time limit is longer than its partition allows, so it never starts as it is.",
    "PartitionConfig": "It requests something that its partition does not allow.",
    "BadConstraints": "No node has what it requests, so it never starts as it is.",
    "NodeDown": "A node that it requested by name is down.",
    "Licenses": "It waits for a licence.",
    "InvalidAccount": "Its project may not run jobs here (any more).",
    "InvalidQOS": "Its QOS does not exist, or its project may not use it.",
    "AccountNotAllowed": "Its project may not use this partition.",
    "DeadLine": "It cannot end before its deadline (--deadline) any more.",
    "Cleaning": "It was requeued, and its previous run is still being cleaned up.",
    "QOSMaxJobsPerUserLimit": "As many jobs of its owner run as the QOS allows for one person at a time.",
    "QOSMaxGRESPerUser": "Its owner's running jobs hold as many GPUs as the QOS allows for one person at a time.",
    "QOSMaxNodePerUserLimit": "Its owner's running jobs hold as many nodes as the QOS allows for one person at a time.",
    "QOSMaxCpuPerUserLimit": "Its owner's running jobs hold as many cores as the QOS allows for one person at a time.",
    "QOSMaxWallDurationPerJobLimit": "Its time limit is longer than the QOS allows, so it never starts as it is.",
    "MaxJobsPerAccount": "As many jobs of the project run as the QOS allows at a time.",
    "MaxGRESPerAccount": "The project's running jobs hold as many GPUs as the QOS allows at a time.",
    "AssocMaxJobsLimit": "As many jobs of its owner run as the site allows in this project at a time.",
    "AssocGrpJobsLimit": "As many jobs of the project run as the site allows at a time.",
    "AssocGrpGRES": "The project's running jobs hold as many GPUs as the site allows at a time.",
    "AssocGrpNodeLimit": "The project's running jobs hold as many nodes as the site allows at a time.",
    "AssocGrpCpuLimit": "The project's running jobs hold as many cores as the site allows at a time.",
}
"""Here something else does; by the whole reason."""

BY_START = {
    "AssocGrp": "The project has reached a limit for all its jobs together.",
    "AssocMax": "It exceeds a limit for one person or one job in this project.",
    "Association": "The project has reached a limit of the site.",
    "QOSGrp": "All jobs of its QOS together have reached a limit.",
    "QOSMax": "It exceeds a limit of its QOS for one person or one job.",
    "QOSMin": "It requests less than its QOS demands.",
    "QOS": "Its QOS has reached a limit.",
    "Max": "The project has reached a limit of the QOS.",
    "BurstBuffer": "It waits for its burst buffer.",
}
"""Families of limits, the longer starts first where one begins with another."""

RUN_MINUTES = "The project's running jobs may still use as many hours as the site allows at a time."
MINUTES = "The hours of the project are used up, or do not suffice for this job."


def is_in_turn(reason: str) -> bool:
    """Whether only the queue delays a job.

    >>> is_in_turn("Priority"), is_in_turn("Dependency")
    (True, False)
    """
    return _in_turn(reason) is not None


def reason_text(reason: str) -> str:
    """A reason in plain words; empty for one that is not known here.

    >>> reason_text("Resources")
    'It is next, and waits until enough nodes or GPUs are free.'
    >>> reason_text("AssocGrpGRESMinutes")
    'The hours of the project are used up, or do not suffice for this job.'
    >>> reason_text("QOSMaxMemoryPerUser")
    'It exceeds a limit of its QOS for one person or one job.'
    >>> reason_text("Prolog")
    ''
    """
    known = _in_turn(reason) or BLOCKED.get(reason)
    if known:
        return known
    if reason.startswith("AssocGrp") and "RunMinutes" in reason:
        return RUN_MINUTES
    if reason.startswith("AssocGrp") and "Minutes" in reason:
        return MINUTES
    return next((text for start, text in BY_START.items() if reason.startswith(start)), "")


def _in_turn(reason: str) -> str | None:
    if reason in IN_TURN:
        return IN_TURN[reason]
    spaced = reason.replace("_", " ")
    return next((text for start, text in IN_TURN.items() if start and " " in start and spaced.startswith(start)), None)
