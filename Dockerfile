# An image that contains only the static binary: no shell, no libraries, no package manager.
#
#   docker build -t vidra .
#   docker build -t vidra --build-arg FEATURES=otel .
#   docker buildx build --platform linux/amd64,linux/arm64 --sbom=true --provenance=true -t registry/vidra --push .
#
# The build stage runs on the machine's own architecture and cross-compiles, so arm64 needs no emulation. The base
# image is pinned by its exact version. To pin it by digest as well:
#
#   docker buildx imagetools inspect rust:1.95.0-bookworm --format '{{.Manifest.Digest}}'
#   docker build --build-arg RUST_IMAGE=rust:1.95.0-bookworm@sha256:… .
#
# scripts/check-deploy tests this file.

ARG RUST_IMAGE=rust:1.95.0-bookworm
FROM --platform=$BUILDPLATFORM ${RUST_IMAGE} AS build
# Docker sets it: the architecture of the image, not of this stage.
ARG TARGETARCH
# The C compiler for musl builds ring and mimalloc. The base image determines its version.
# hadolint ignore=DL3008
RUN case "$TARGETARCH" in \
      amd64) cpu=x86_64 gcc=gcc-x86-64-linux-gnu ;; \
      arm64) cpu=aarch64 gcc=gcc-aarch64-linux-gnu ;; \
      *) echo "there is no build for $TARGETARCH" >&2; exit 1 ;; \
    esac \
 && if [ "$(dpkg --print-architecture)" = "$TARGETARCH" ]; then gcc=gcc; fi \
 && dpkg --add-architecture "$TARGETARCH" \
 && apt-get update \
 && apt-get install -y --no-install-recommends "$gcc" libc6-dev "musl-dev:$TARGETARCH" \
 && rm -rf /var/lib/apt/lists/* \
 && rustup target add "$cpu-unknown-linux-musl" \
 && echo "$cpu-unknown-linux-musl" > /target \
 && ln -s "/usr/bin/$cpu-linux-gnu-gcc" /usr/local/bin/target-gcc \
 && printf '#!/bin/sh\nexec target-gcc -specs /usr/lib/%s-linux-musl/musl-gcc.specs "$@"\n' "$cpu" \
    > /usr/local/bin/musl-cc \
 && chmod 755 /usr/local/bin/musl-cc
ENV TARGET_CC=musl-cc \
    CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER=target-gcc \
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER=target-gcc
WORKDIR /src
# Without rust-toolchain.toml, because rustup would download another compiler than that of the image.
COPY Cargo.toml Cargo.lock ./
COPY crates crates
# Features of vidra-cli, separated by commas: otel.
ARG FEATURES=
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    target="$(cat /target)" \
 && cargo build --locked --release --target "$target" -p vidra-cli --features "$FEATURES" \
 && install -D "target/$target/release/vidra" /out/vidra \
 && install -d /out/state

FROM scratch
# Set by the build command: the version of the release, its commit, and the time in RFC 3339.
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
LABEL org.opencontainers.image.title="vidra" \
      org.opencontainers.image.description="A self-hosted data service for YouTube" \
      org.opencontainers.image.licenses="MIT" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${REVISION}" \
      org.opencontainers.image.created="${CREATED}" \
      org.opencontainers.image.base.name="scratch"
COPY LICENSE /LICENSE
COPY --from=build /out/vidra /usr/local/bin/vidra
# A new volume inherits its owner from this folder.
COPY --from=build --chown=65532:65532 /out/state /var/lib/vidra
# The binary contains the root certificates and the time zone of Los Angeles. The service writes only to the volume, so
# the root may be read-only.
#
# The service listens on all addresses of the container. It therefore starts only with caller keys
# (VIDRA_CALLER_KEYS_FILE) or with VIDRA_PUBLIC=true, which lets everybody use it.
# The allocator returns unused memory after 50 ms instead of a second. Without huge pages it can return less than 2 MB at a
# time.
ENV MIMALLOC_PURGE_DELAY=50 \
    MIMALLOC_ALLOW_THP=0 \
    VIDRA_LISTEN=0.0.0.0:3000 \
    VIDRA_STATE_DIR=/var/lib/vidra/state \
    VIDRA_CACHE=fs:/var/lib/vidra/cache \
    TMPDIR=/var/lib/vidra
VOLUME /var/lib/vidra
EXPOSE 3000
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/usr/local/bin/vidra", "health"]
ENTRYPOINT ["/usr/local/bin/vidra"]
CMD ["serve"]
