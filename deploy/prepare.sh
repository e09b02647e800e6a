#!/bin/sh
# Before the first `docker compose up`: writes what the containers need and nobody else may know to deploy/credentials.
# Needs a Docker engine and root; files that exist are kept, so that it may be run again.
#   api_keys            one key of the role client, one of the role operator
#   operator_key        the latter alone, with which Prometheus reads the backlog
#   postgres_password   and record_url, the address of the record with it
#   redis_password      and key_value_url, the address of Redis with it
#   *.nk, server/       the users of NATS (answerbus bus credentials)
set -eu
cd "$(dirname "$0")/.."
# The names of images, as `docker compose` reads them.
[ ! -f .env ] || for name in IMAGES PYTHON_IMAGE; do
  value=$(sed -n "s/^$name=//p" .env | tail -1)
  [ -z "$value" ] || export "$name=$value"
done
folder=deploy/credentials
mkdir -p "$folder"
# Nobody but root gets to the files. Their own mode lets every container read those that are mounted into it, whatever the
# user of its image.
chmod 700 "$folder"

random() { # letters and digits: they become parts of addresses
  od -An -N24 -tx1 /dev/urandom | tr -d ' \n'
}

write() { # NAME TEXT
  [ -e "$folder/$1" ] || { printf '%s\n' "$2" > "$folder/$1"; chmod 444 "$folder/$1"; echo "made $folder/$1"; }
}

write postgres_password "$(random)"
write redis_password "$(random)"
write record_url "postgresql://answerbus:$(cat "$folder/postgres_password")@postgres:5432/answerbus"
write key_value_url "redis://:$(cat "$folder/redis_password")@redis:6379/0"
write api_keys "web:client:$(random),ops:operator:$(random)"
# Empty where the keys were written by somebody else and have no operator `ops`: then Prometheus has no backlog.
write operator_key "$(sed -n 's/.*ops:operator:\([^,:]*\).*/\1/p' "$folder/api_keys")"

docker build --quiet --file deploy/Dockerfile --tag "${IMAGES:-answerbus}-gateway" --build-arg STAGE=gateway \
  --build-arg PYTHON_IMAGE="${PYTHON_IMAGE:-python:3.11-slim}" . > /dev/null
docker run --rm --user 0 --network none --volume "$PWD/$folder:/credentials" --env ANSWERBUS_LOG_FORMAT=console \
  "${IMAGES:-answerbus}-gateway" answerbus bus credentials --out /credentials --owner 10001
