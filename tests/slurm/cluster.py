"""A real Slurm with its accounting on one machine: four made-up LUMI-G nodes, everything in one folder, loopback only.

Every daemon runs in the foreground as a child of the tests, so nothing outlives them.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import signal
import socket
import stat
import subprocess
import tempfile
import time
from functools import cache
from pathlib import Path

from tests.parts import need
from tests.processes import PATIENCE_S, end, free_ports, wait_until

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
NODES = [f"nid{number:06d}" for number in range(5001, 5005)]
GPUS_PER_NODE = 8
CLUSTER, ACCOUNT, USER = "lumi", "project_465000001", "games"

# A requeued job waits until its first credential is void, by default two minutes, here ten seconds.
# One host stands for four nodes of 64 cores: config_overrides believes the sizes written here. Slurm kills nothing
# through control groups, so that the host's own are left alone.
SLURM_CONF = """\
ClusterName={cluster}
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ctld_port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={top}/munge.sock,cred_expire=10
CredType=cred/munge
MpiDefault=none
MailProg=/bin/true
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool/%n
SlurmctldPidFile={top}/slurmctld.pid
SlurmdPidFile={top}/slurmd-%n.pid
SlurmctldLogFile={top}/slurmctld.log
SlurmdLogFile={top}/slurmd-%n.log
SlurmdParameters=config_overrides
SlurmdTimeout=10
ReturnToService=2
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=1024
GresTypes=gpu
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={dbd_port}
AccountingStoragePass=socket={top}/munge.sock
AccountingStorageTRES=gres/gpu,gres/gpu:mi250
AccountingStorageEnforce=associations
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=2,bf_interval=2
KillWait=2
{nodes}
PartitionName=small-g Nodes=ALL Default=YES MaxTime=3-00:00:00
PartitionName=standard-g Nodes=ALL OverSubscribe=EXCLUSIVE MaxTime=2-00:00:00
"""
SLURMDBD_CONF = """\
AuthType=auth/munge
AuthInfo=socket={top}/munge.sock
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort={dbd_port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=localhost
StorageUser=root
StorageLoc=slurm_acct_db
PidFile={top}/slurmdbd.pid
LogFile={top}/slurmdbd.log
"""


@cache
def kept_database() -> Path:
    """Where the database of accounting is kept as the first cluster of this process made it: it takes seconds."""
    folder = Path(tempfile.mkdtemp(prefix="kaiku-slurm-database-", dir="/tmp"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder / "database"


class Cluster:
    """The daemons and the client commands; `top/slurm.conf` may be added to before the start."""

    def __init__(self) -> None:
        need("Slurm")
        # Unix sockets want a short path, and the jobs' user must be able to enter it.
        self.top = Path(tempfile.mkdtemp(prefix="kaiku-slurm-", dir="/tmp"))
        self.top.chmod(0o755)
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM", "SBATCH", "MYSQL"))}
        self.environment = kept | {
            "PATH": PATH,
            "SLURM_CONF": str(self.top / "slurm.conf"),
            "MYSQL_UNIX_PORT": str(self.top / "database.sock"),
        }
        try:
            self._configure()
        except BaseException:
            self.stop()
            raise

    def _configure(self) -> None:
        top, host = self.top, socket.gethostname().partition(".")[0]
        self.dbd_port, self.ctld_port, *ports = free_ports(2 + len(NODES))
        for folder in ("state", "dev", *(f"spool/{node}" for node in NODES)):
            (top / folder).mkdir(parents=True)
        for index in range(GPUS_PER_NODE):
            # A device of the "local and experimental" major: there is no driver behind it.
            os.mknod(top / f"dev/gpu{index}", stat.S_IFCHR | 0o666, os.makedev(240, index))
        values = {"top": top, "host": host, "cluster": CLUSTER, "dbd_port": self.dbd_port, "ctld_port": self.ctld_port}
        nodes = "\n".join(
            f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CoresPerSocket=64 RealMemory=491520"
            f" Gres=gpu:mi250:{GPUS_PER_NODE}"
            for node, port in zip(NODES, ports, strict=True)
        )
        (top / "slurm.conf").write_text(SLURM_CONF.format(**values, nodes=nodes))
        gres = f"Name=gpu Type=mi250 File={top}/dev/gpu[0-{GPUS_PER_NODE - 1}] Flags=amd_gpu_env\n"
        (top / "gres.conf").write_text("".join(f"NodeName={node} {gres}" for node in NODES))
        # Slurm 22.05 loads a plugin even where nothing uses it; the one for version 1 touches nothing.
        (top / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
        (top / "slurmdbd.conf").write_text(SLURMDBD_CONF.format(**values))
        (top / "slurmdbd.conf").chmod(0o600)
        (top / "munge.key").write_bytes(os.urandom(1024))
        (top / "munge.key").chmod(0o400)

    def start(self) -> None:
        top = self.top
        self.spawn(
            *["munged", "--foreground", "--force", f"--socket={top}/munge.sock", f"--key-file={top}/munge.key"],
            *[f"--{name}-file={top}/munge.{name}" for name in ("pid", "log", "seed")],
        )
        self._start_accounting()
        self.spawn("slurmctld", "-D")
        wait_until("slurmctld", lambda: is_open(self.ctld_port))
        for node in NODES:
            self.start_node(node)
        wait_until("nodes", lambda: self.run("sinfo", "-h", "-N", "-p", "small-g", "-o", "%T").split() == ["idle"] * 4)

    def _start_accounting(self) -> None:
        copy = ("cp", "--archive", "--sparse=always")
        if not kept_database().exists():
            self._make_accounting()
            # Ended in order, so that the files are whole.
            for name in ("slurmdbd", "mariadbd"):
                end(self.daemons.pop(name))
            self.run(*copy, f"{self.top}/database", str(kept_database()))
        else:
            self.run(*copy, str(kept_database()), f"{self.top}/database")
        self._serve_accounting()

    def _make_accounting(self) -> None:
        install = ["--auth-root-authentication-method=socket", "--auth-root-socket-user=root", "--skip-test-db"]
        self.run("mariadb-install-db", *self._database_options(), *install)
        self._serve_accounting()
        add = ("sacctmgr", "-iQ", "add")
        self.run(*add, "cluster", CLUSTER)
        self.run(*add, "account", ACCOUNT, f"cluster={CLUSTER}")
        self.run(*add, "user", USER, f"cluster={CLUSTER}", f"account={ACCOUNT}")

    def _database_options(self) -> list[str]:
        return ["--no-defaults", "--user=root", f"--datadir={self.top}/database", "--innodb-log-file-size=8M"]

    def _serve_accounting(self) -> None:
        top = self.top
        sockets = [f"--socket={top}/database.sock", f"--pid-file={top}/mariadbd.pid", "--skip-networking"]
        self.spawn("mariadbd", *self._database_options(), *sockets, "--innodb-flush-log-at-trx-commit=0")
        wait_until("mariadbd", (top / "database.sock").exists)
        self.spawn("slurmdbd", "-D")
        wait_until("slurmdbd", lambda: is_open(self.dbd_port) and self.is_fine("sacctmgr", "-n", "show", "cluster"))

    def start_node(self, node: str, *options: str) -> None:
        self.spawn("slurmd", "-D", "-N", node, *options, name=f"slurmd-{node}")

    def spawn(self, *command: str, name: str = "") -> None:
        name = name or command[0]
        with (self.top / f"{name}.out").open("ab") as output:
            self.daemons[name] = subprocess.Popen(
                command,
                env=self.environment,
                cwd=self.top,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    def run(self, *command: str) -> str:
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
        return done.stdout

    def is_fine(self, *command: str) -> bool:
        done = subprocess.run(command, env=self.environment, capture_output=True, timeout=PATIENCE_S, check=False)
        return done.returncode == 0

    def submit(self, script: Path, *options: str, arguments: tuple[str, ...] = (), user: str = USER) -> int:
        """A batch job of the sample user; its id."""
        common = (f"--uid={user}", f"--account={ACCOUNT}", "--chdir=/tmp", "--output=/dev/null", "--parsable")
        return int(self.run("sbatch", *common, *options, str(script), *arguments).split(";")[0])

    def state(self, job_id: int) -> str:
        return self.run("squeue", "-h", "-a", "-j", str(job_id), "-o", "%T").strip()

    def has_jobs(self) -> bool:
        """Whether any job waits, runs or ends."""
        done = subprocess.run(
            ["squeue", "-h", "-a"], env=self.environment, capture_output=True, timeout=PATIENCE_S, check=False
        )
        return done.returncode == 0 and bool(done.stdout)

    def stop(self) -> None:
        if "slurmctld" in self.daemons:
            self.is_fine("scancel", "--full", f"--account={ACCOUNT}")
            until = time.monotonic() + 1
            while time.monotonic() < until and self.has_jobs():
                time.sleep(0.1)
        # All of it is deleted: nothing needs to end in order.
        for daemon in self.daemons.values():
            daemon.kill()
        for daemon in self.daemons.values():
            daemon.wait()
        for pid in pids_of(f"SLURM_CONF={self.top}/slurm.conf"):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        shutil.rmtree(self.top, ignore_errors=True)


def is_open(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def pids_of(variable: str, *more: str) -> list[int]:
    """Processes with all these `NAME=value` in their environment."""
    wanted = {each.encode() for each in (variable, *more)}
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            is_one = wanted <= set((folder / "environ").read_bytes().split(b"\0"))
        except OSError:
            continue
        if is_one and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
