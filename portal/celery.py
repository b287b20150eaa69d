"""The Celery application: steps on a short beat; PostgreSQL holds the work, Redis only the wake-up messages.

The parts of a worker end with it, also when it is killed, and a beat that ended alone is restarted.
"""

import logging
import os
from typing import Any

from celery import Celery, bootsteps
from celery.apps import worker as worker_program
from celery.beat import EmbeddedService
from celery.platforms import set_pdeathsig  # type: ignore[attr-defined]
from celery.signals import beat_embedded_init, celeryd_init, setup_logging
from celery.worker import WorkController
from django import conf
from kombu.transport import virtual
from kombu.transport.redis import Channel, QoS
from redis.exceptions import RedisError

from portal.logs import JsonLine

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")

BEAT_LOOK_S = 5.0
STANDARD_ERROR = 2

log = logging.getLogger(__name__)


class Nudges(QoS):
    """A message whose Redis connection was lost is done: it is not put back, and its acknowledgement may fail.

    Rows are the queue. kombu 5.7 ends the worker if it cannot put a message back, or acknowledge it on a connection
    that was closed meanwhile, and accepts no further one while one that it could not acknowledge counts as open.
    """

    def ack(self, delivery_tag: str) -> None:
        try:
            if not self.channel.closed:
                self._remove_from_indices(delivery_tag).execute()  # type: ignore[attr-defined]
        except (RedisError, OSError) as error:
            log.warning("a message is not acknowledged: %s", type(error).__name__)
        virtual.QoS.ack(self, delivery_tag)


Channel.QoS, Channel.do_restore = Nudges, False


class KeepBeat(bootsteps.StartStopStep):
    """Watches the beat of a worker that has one, because its process may be killed alone."""

    requires = ("celery.worker.components:Timer", "celery.worker.components:Beat")

    def __init__(self, worker: WorkController, beat: bool = False, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = beat
        self.look: Any = None
        self.own: Any = None

    def start(self, worker: Any) -> None:
        self.look = worker.timer.call_repeatedly(BEAT_LOOK_S, self.keep, (worker,))

    def keep(self, worker: Any) -> None:
        if (self.own or worker.beat).is_alive():
            return
        log.error("the beat ended and is restarted")
        self.own = EmbeddedService(worker.app, scheduler_cls=worker.scheduler)
        self.own.start()

    def stop(self, worker: WorkController) -> None:
        self.look.cancel()
        if self.own is not None:
            self.own.stop()


@setup_logging.connect
def keep_logging(**_: Any) -> None:
    """With a listener here Celery does not set up its own logging: LOGGING of the settings stays."""


@celeryd_init.connect
def say_lines_only(instance: Any, **_: Any) -> None:
    """If each line is an object: no banner, and the worker's message about its end as one line."""
    if conf.settings.LOG_FORMAT == "json":
        instance.quiet = True
        worker_program.safe_say = say_as_line  # type: ignore[attr-defined]


def say_as_line(text: str, *_: object) -> None:
    """Celery calls this within a signal handler, where locks and stream buffers must not be waited for."""
    made = log.makeRecord(log.name, logging.INFO, __file__, 0, text.strip(), (), None)
    os.write(STANDARD_ERROR, f"{JsonLine().format(made)}\n".encode())


@beat_embedded_init.connect
def end_with_the_worker(**_: Any) -> None:
    """Processes of the pool do this themselves; without it an orphaned beat would send for ever."""
    set_pdeathsig("SIGKILL")


application = Celery("kaiku")
application.config_from_object("portal.celery_settings:settings", namespace="CELERY")
application.autodiscover_tasks()
# By its name, because it needs Django, which is not set up yet when this module is read.
application.steps["worker"].update((KeepBeat, "portal.tasks:KeepSeen"))
