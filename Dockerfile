# An image that holds the static binary and nothing else: no shell, no libraries, no package manager.
#
#   docker build -t vidra .
#
# scripts/check-deploy keeps this file true.

FROM rust:1.95-bookworm AS build
# The C compiler of musl builds ring and mimalloc. Its version is the base image's business.
# hadolint ignore=DL3008
RUN apt-get update \
 && apt-get install -y --no-install-recommends musl-tools \
 && rm -rf /var/lib/apt/lists/* \
 && rustup target add "$(uname -m)-unknown-linux-musl"
# Debian has no musl-gcc with the target in its name, which is what would be looked for on arm64.
ENV TARGET_CC=musl-gcc
WORKDIR /src
# Without rust-toolchain.toml, which would fetch another compiler than the image's.
COPY Cargo.toml Cargo.lock ./
COPY crates crates
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    target="$(uname -m)-unknown-linux-musl" \
 && cargo build --locked --release --target "$target" -p vidra-cli \
 && install -D "target/$target/release/vidra" /out/vidra \
 && install -d /out/state

FROM scratch
LABEL org.opencontainers.image.title="vidra" \
      org.opencontainers.image.description="A self-hosted data service for YouTube" \
      org.opencontainers.image.licenses="MIT"
COPY LICENSE /LICENSE
COPY --from=build /out/vidra /usr/local/bin/vidra
# A new volume takes its owner from here.
COPY --from=build --chown=65532:65532 /out/state /var/lib/vidra
# Root certificates and the zone of Los Angeles are inside the binary. Nothing is written outside the
# volume, so the root may be read-only.
#
# The service listens on all addresses of the container, and refuses to start that way until it is given
# keys of callers (VIDRA_CALLER_KEYS_FILE) or told that everybody may ask (VIDRA_PUBLIC=true).
ENV VIDRA_LISTEN=0.0.0.0:3000 \
    VIDRA_STATE_DIR=/var/lib/vidra/state \
    VIDRA_CACHE=fs:/var/lib/vidra/cache
VOLUME /var/lib/vidra
EXPOSE 3000
USER 65532:65532
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=5s --retries=3 CMD ["/usr/local/bin/vidra", "health"]
ENTRYPOINT ["/usr/local/bin/vidra"]
CMD ["serve"]
