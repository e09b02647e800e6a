ARG PYTHON_IMAGE
FROM ${PYTHON_IMAGE}
# None of the packages may start its server or make a database.
RUN printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d \
    && mkdir -p /etc/postgresql-common && echo 'create_main_cluster = false' > /etc/postgresql-common/createcluster.conf \
    && printf 'force-unsafe-io\n' > /etc/dpkg/dpkg.cfg.d/unsafe-io \
    && apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
        postgresql prometheus redis-server wget >/dev/null \
    && rm -rf /var/lib/apt/lists/*
# As in the images that these stand in for: the folders belong to the users that the compose file names.
RUN install -d -o postgres -g postgres -m 1777 /var/lib/postgresql/data \
    && install -d -o postgres -g postgres -m 3777 /var/run/postgresql \
    && install -d -o nobody -g nogroup -m 775 /prometheus
COPY entrypoint.sh /entrypoint.sh
# The nats-server of the Python package, and what answers in the place of Qdrant.
COPY nats-server /usr/local/bin/nats-server
ENTRYPOINT ["sh", "/entrypoint.sh"]
