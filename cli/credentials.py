"""Where the portal is, and the token for it.

The address: `--url`, KAIKU_URL, the site's file, what `make cli` built in, or the only portal of a stored token.
The token: `--token-file`, KAIKU_TOKEN, or the file that `kaiku login` wrote for this address. What logs runs has a
token of its own: KAIKU_LOG_TOKEN, or the file that `kaiku login --runs` wrote.
"""

from __future__ import annotations

import json
import os

from cli.address import Address
from cli.built_in import PORTAL_URL
from cli.errors import NoSignIn, SignInNeeded, Usage
from cli.private_files import PrivateFolder, Unsafe, base_folder, content

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SITE_FILE = "/etc/kaiku/cli.json"
TOKEN_BYTES_MAX, FILE_BYTES_MAX = 512, 1 << 14
MEMBERS = ("portal", "token", "user", "name", "expires_at")


class Purpose:
    """What tokens are used for: the folder of their files, a variable with a token, and the command that gets one.

    The folder is under `~/.config/kaiku`, beside the settings of the collector's `run`, whose token sends.
    """

    def __init__(self, folder: str, variable: str, login: str) -> None:
        self.folder, self.variable, self.login = folder, variable, login


READING = Purpose("cli", "KAIKU_TOKEN", "kaiku login")
LOGGING = Purpose("runs", "KAIKU_LOG_TOKEN", "kaiku login --runs")


class Site:
    """What the administrators of this machine set in one file: `portal_url`, `ca_file`; each may be missing."""

    def __init__(self, portal_url: str = "", ca_file: str = "") -> None:
        self.portal_url, self.ca_file = portal_url, ca_file


def site_settings(path: str = SITE_FILE) -> Site:
    """The site's file. Raises Usage if it cannot be understood."""
    try:
        with open(path, "rb") as file:
            said = json.loads(file.read(FILE_BYTES_MAX))
    except FileNotFoundError:
        return Site()
    except (OSError, ValueError, RecursionError) as error:
        raise Usage(f"{path}: {error}") from error
    if not isinstance(said, dict):
        raise Usage(f"{path} is not an object")
    values = {name: said.get(name, "") for name in ("portal_url", "ca_file")}
    for name, value in values.items():
        if not isinstance(value, str):
            raise Usage(f"{path}: {name} is not text")
    return Site(**values)


class Credentials:
    """The stored tokens of this person for one purpose, one file for each portal."""

    def __init__(self, environ: Mapping[str, str], purpose: Purpose = READING) -> None:
        self._environ, self.purpose = environ, purpose
        self.folder = PrivateFolder(base_folder(environ, "XDG_CONFIG_HOME", ".config"), purpose.folder)

    def address(self, named: str, site: Site) -> Address:
        """Where the portal is; `named` is the option. Raises Usage if nothing says so."""
        written = named or self._environ.get("KAIKU_URL", "") or site.portal_url or PORTAL_URL or self._only_portal()
        if not written:
            raise Usage("which portal? Set KAIKU_URL, or use --url https://…")
        return Address(written)

    def token(self, address: Address, token_file: str) -> str:
        """The token for this portal. Raises NoSignIn if there is none, or if others can read its file."""
        if token_file:
            return one_token(_read_file(token_file), token_file)
        if given := self.given():
            return one_token(given, self.purpose.variable)
        stored = self.stored(address)
        if not stored:
            raise SignInNeeded(f"not signed in at {address}")
        return stored["token"]

    def given(self) -> str:
        """The token in the environment, or empty."""
        return self._environ.get(self.purpose.variable, "")

    def stored(self, address: Address) -> dict[str, str]:
        """What `login` stored for this portal: portal, token, user, name, expires_at; empty if nothing."""
        try:
            said = json.loads(self.folder.read(_file_name(address), FILE_BYTES_MAX))
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise NoSignIn(f"{self.folder.path}: {_why(error)}") from error
        except Unsafe as error:
            raise NoSignIn(str(error)) from error
        except (ValueError, RecursionError):
            said = None
        if not isinstance(said, dict) or said.get("portal") != str(address):
            raise SignInNeeded("the stored token is damaged")
        found = {name: str(said.get(name) or "") for name in MEMBERS}
        return {**found, "token": one_token(found["token"], "the stored token")}

    def check_storing(self) -> None:
        """Raises NoSignIn if no token could be stored here: before somebody approves one."""
        try:
            self.folder.check_writing()
        except (OSError, Unsafe) as error:
            raise NoSignIn(f"no token can be stored in {self.folder.path}: {_why(error)}") from error

    def store(self, address: Address, *, token: str, user: str, name: str, expires_at: str) -> tuple[str, list[str]]:
        """Store a new token; returns the path and the tokens that it took the place of, which no file has any more.

        Raises NoSignIn if it cannot be stored, or if it is no token.
        """
        said = {"portal": str(address), "token": one_token(token, "the portal's answer"), "user": user, "name": name}
        file_name, written = _file_name(address), json.dumps({**said, "expires_at": expires_at}).encode("ascii")
        try:
            earlier = self.folder.replace(file_name, written, FILE_BYTES_MAX)
        except (OSError, Unsafe) as error:
            raise NoSignIn(f"the token cannot be stored in {self.folder.path}: {_why(error)}") from error
        return os.path.join(self.folder.path, file_name), _tokens(earlier, address)

    def forget(self, address: Address, token: str) -> None:
        """Delete the stored token of this portal, unless it is a newer one than this."""
        try:
            if token in _tokens([self.folder.read(_file_name(address), FILE_BYTES_MAX)], address):
                self.folder.remove(_file_name(address))
        except FileNotFoundError:
            return
        except (OSError, Unsafe) as error:
            raise NoSignIn(f"the token cannot be deleted: {_why(error)}") from error

    def _only_portal(self) -> str:
        """The portal of the only stored token; empty if there are none or several.

        Whoever gets the first token that logs runs is signed in to read, as a rule.
        """
        try:
            names = [name for name, _, _ in self.folder.files() if name.endswith(".json") and name[0] != "."]
            said = json.loads(self.folder.read(names[0], FILE_BYTES_MAX)) if len(names) == 1 else {}
        except (OSError, Unsafe, ValueError, RecursionError):
            names, said = [], {}
        portal = said.get("portal") if isinstance(said, dict) else None
        if not names and self.purpose is not READING:
            portal = Credentials(self._environ)._only_portal()
        return portal if isinstance(portal, str) else ""


def _read_file(path: str) -> str:
    """The content of a file that the person named; through a link they made, but never one that others can read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        return content(descriptor, path, FILE_BYTES_MAX).decode("ascii")
    except OSError as error:
        raise NoSignIn(f"{path}: {_why(error)}") from error
    except UnicodeDecodeError as error:
        raise NoSignIn(f"{path} does not contain exactly one token") from error
    except Unsafe as error:
        raise NoSignIn(str(error)) from error


def _tokens(files: list[bytes], address: Address) -> list[str]:
    """The tokens for this portal in files; another portal may share the name of a file."""
    found = []
    for written in files:
        try:
            said = json.loads(written)
            if said["portal"] == str(address):
                found.append(one_token(str(said["token"]), "the stored token"))
        except (LookupError, TypeError, ValueError, RecursionError, NoSignIn):
            continue
    return found


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def one_token(written: str, where: str) -> str:
    """A token as it is written somewhere. Raises NoSignIn if it is none, or several."""
    token = written.strip()
    if not 0 < len(token) <= TOKEN_BYTES_MAX or not token.isascii() or not token.isprintable() or " " in token:
        raise NoSignIn(f"{where} does not contain exactly one token")
    return token


def _file_name(address: Address) -> str:
    """A name without separators; two portals that differ in characters replaced here differ in `portal` inside."""
    scheme = "" if address.scheme == "https" else f"{address.scheme}_"
    plain = "".join(char if char.isalnum() or char in ".-" else "_" for char in f"{address.netloc}{address.prefix}")
    return f"{scheme}{plain[:200]}.json"
