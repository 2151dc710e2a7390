# Workers in containers: docs/OPERATIONS.md. `docker build -t leasefold .`; calculations/ holds your own.
# The digest is that of the image for all platforms; Dependabot moves it with the tag.
FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6 AS build
WORKDIR /src
COPY . .
# An install script fetches what no lockfile hashes, and none is needed: this image has its Node.
RUN npm ci --workspaces=false --ignore-scripts && node scripts/build.mjs

FROM node:24.21.0-slim@sha256:0e0ff40c39bc087845bfb27465a0df4ea419520094bc35842ff83dd8cbe6f9b6
WORKDIR /app
COPY --from=build /src/package.json /src/host.json ./
COPY --from=build /src/bin bin
COPY --from=build /src/dist dist
# Nothing is written but temporary files of queries, so the file system may be read-only beside /tmp.
USER node
EXPOSE 8080
ENTRYPOINT ["node", "bin/leasefold.js", "work"]
CMD ["--health", "8080"]
