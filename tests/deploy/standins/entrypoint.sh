# One entry point for every server of the stand-in image; the name of the server is in the variable SERVER.
set -eu
case $SERVER in
  nats)
    # Flags alone are flags of nats-server.
    case ${1:--} in -*) set -- nats-server "$@" ;; esac ;;
  prometheus)
    set -- prometheus "$@" ;;
  redis)
    ;; # the compose file names the program
  postgres)
    data=/var/lib/postgresql/data
    PATH=$(echo /usr/lib/postgresql/*/bin):$PATH
    if [ ! -s "$data/PG_VERSION" ]; then
      chmod 700 "$data"
      initdb --pgdata="$data" --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" \
        --auth-local=trust --auth-host=scram-sha-256
      echo 'host all all all scram-sha-256' >> "$data/pg_hba.conf"
      pg_ctl -D "$data" -o "-c listen_addresses=" -w start
      createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB" 2>/dev/null || true
      pg_ctl -D "$data" -m fast -w stop
    fi
    set -- postgres -D "$data" -c listen_addresses='*' ;;
esac
exec "$@"
