FROM python:3.13-slim-trixie

RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git libseccomp2 \
 && rm -rf /var/lib/apt/lists/* \
 && git config --system --add safe.directory '*'

# Two environments: ours is never changed at run time; tokenjam's is, by a user of its own who owns nothing else.
RUN python -m venv /opt/tjbench \
 && /opt/tjbench/bin/pip install --no-cache-dir uv \
 && /opt/tjbench/bin/pip uninstall -y pip
ENV UV_NO_CACHE=1 \
    UV_COMPILE_BYTECODE=1 \
    UV_NO_CONFIG=1

COPY pyproject.toml /src/
RUN echo "tokenjam; python_version < '3'" > /src/without-tokenjam.txt \
 && /opt/tjbench/bin/uv pip install --python /opt/tjbench/bin/python --only-binary :all: \
      --override /src/without-tokenjam.txt \
      --requirement /src/pyproject.toml --extra providers --extra datasets --extra action

# The ids are far from those that a host gives to its docker group: container actions see the host's docker socket.
ARG TOKENJAM=tokenjam
RUN groupadd --gid 47013 tokenjam \
 && useradd --uid 47013 --gid 47013 --no-create-home --shell /usr/sbin/nologin tokenjam \
 && /opt/tjbench/bin/uv venv --python /usr/local/bin/python /opt/tokenjam \
 && /opt/tjbench/bin/uv pip install --python /opt/tokenjam/bin/python --only-binary :all: "$TOKENJAM" \
 && chown -R --no-dereference tokenjam:tokenjam /opt/tokenjam

COPY LICENSE README.md entrypoint /src/
COPY tjbench /src/tjbench
RUN /opt/tjbench/bin/uv pip install --python /opt/tjbench/bin/python --no-deps /src \
 && mv /src/entrypoint /entrypoint \
 && rm -rf /src

ENV TJBENCH_TOKENJAM_PYTHON=/opt/tokenjam/bin/python
ENTRYPOINT ["/entrypoint"]
