#!/bin/bash
# What the image `postgres` documents that it does before its command, with the PostgreSQL of this machine.
set -euo pipefail
if [ ! -s "$PGDATA/PG_VERSION" ]; then
  read -r -a initdb_args <<<"${POSTGRES_INITDB_ARGS:-}"
  initdb -D "$PGDATA" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" "${initdb_args[@]}" --no-sync
  printf 'host all all all scram-sha-256\n' >>"$PGDATA/pg_hba.conf"
  printf "listen_addresses = '*'\n" >>"$PGDATA/postgresql.conf"
  export PGPASSWORD
  PGPASSWORD=$(cat "$POSTGRES_PASSWORD_FILE")
  pg_ctl -D "$PGDATA" -o "-c listen_addresses='' -c unix_socket_directories=/tmp" -w start
  createdb --host=/tmp --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
  pg_ctl -D "$PGDATA" -m fast -w stop
fi
exec "$@"
