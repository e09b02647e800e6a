#!/bin/sh
# Certificates for three nodes of NATS: an authority, and one certificate for all nodes, in a folder that only its owner
# enters. Needs openssl. Files that exist are kept; to renew, remove node.* (or all of them), run this again and restart
# the nodes one by one.
#   sh deploy/certificates.sh [FOLDER [NAME …]]     default: deploy/credentials/tls nats nats-2 nats-3 localhost
set -eu
folder=${1:-"$(dirname "$0")/credentials/tls"}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- nats nats-2 nats-3 localhost
DAYS=825
umask 077
mkdir -p "$folder"
cd "$folder"

if [ ! -e ca.crt ]; then
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj "/CN=answerbus bus" \
    -addext "basicConstraints=critical,CA:TRUE,pathlen:0" -addext "keyUsage=critical,keyCertSign,cRLSign" \
    -keyout ca.key -out ca.crt 2>/dev/null
  echo "made $folder/ca.crt"
fi
if [ ! -e node.crt ]; then
  names="IP:127.0.0.1"
  for name in "$@"; do names="$names,DNS:$name"; done
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout node.key -out node.csr 2>/dev/null
  # A node is a server for clients and other nodes, and a client of other nodes.
  printf 'subjectAltName=%s\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n' "$names" > node.ext
  openssl x509 -req -in node.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days "$DAYS" -extfile node.ext \
    -out node.crt 2>/dev/null
  rm -f node.csr node.ext
  echo "made $folder/node.crt"
fi
# Containers read what is mounted into them, whatever the user of their image; nobody else enters the folder.
chmod 444 ca.crt node.crt node.key
