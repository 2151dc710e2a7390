# Workers in containers: docs/WORKERS.md. `docker build -t leasefold .`; calculations/ holds your own.
FROM node:24.21.0-slim AS build
WORKDIR /src
COPY . .
RUN npm run build

FROM node:24.21.0-slim
WORKDIR /app
COPY --from=build /src/package.json /src/host.json ./
COPY --from=build /src/bin bin
COPY --from=build /src/dist dist
# Nothing is written but temporary files of queries, so the file system may be read-only beside /tmp.
USER node
EXPOSE 8080
ENTRYPOINT ["node", "bin/leasefold.js", "work"]
CMD ["--health", "8080"]
