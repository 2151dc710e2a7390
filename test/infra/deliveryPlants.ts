import { type Plant, plant } from "./plant.ts";

const main = "infra/main.bicep";
const app = "infra/modules/functionApp.bicep";
const shared = "infra/shared.bicep";
const workers = "infra/modules/containerWorkers.bicep";
const workflow = ".github/workflows/deploy.yml";

/** Mistakes in what the templates deploy, and on the way to Azure. */
export const deliveryPlants: readonly Plant[] = [
  // What is deployed.
  plant(
    app,
    "publicNetworkAccess: 'Enabled'\n    virtual",
    "publicNetworkAccess: publicHttp ? 'Enabled' : 'Disabled'\n    virtual",
    "publish-path",
    /no package can be published/,
  ),
  plant(
    app,
    "scmIpSecurityRestrictionsUseMain: false",
    "scmIpSecurityRestrictionsUseMain: true",
    "publish-path",
    /published/,
  ),
  plant(
    shared,
    "  'ukwest'\n  'westcentralus'\n  'westus'\n]",
    "  'ukwest'\n  'westcentralus'\n]",
    "redundancy",
    /westus: Standard_ZRS/,
  ),
  plant(
    shared,
    "  'italynorth'\n  'spaincentral'\n]",
    "  'italynorth'\n]",
    "redundancy",
    /spaincentral: Standard_GZRS/,
  ),
  plant(
    app,
    "zoneRedundant && !contains(regionsWithoutZones, location)",
    "zoneRedundant",
    "redundancy",
    /westus: Standard_ZRS/,
  ),
  plant(
    workers,
    "for queue in ['packs', 'urgent']",
    "for queue in ['pack']",
    "scale-queue",
    /no queue is called leasefold-pack/,
  ),
  plant(
    workers,
    "              identity: identity.id\n",
    "",
    "scale-queue",
    /leasefold-packs asks as nobody/,
  ),
  plant(
    main,
    "    principalId: workers!.outputs.principalId\n",
    "    principalId: apps[0].outputs.principalId\n",
    "scale-queue",
    /-work-id has no role on the queue leasefold-urgent/,
  ),
  ...["toFirst", "appSubnets", "endpointSubnets, workerSubnet"].map((one) =>
    plant("infra/modules/network.bicep", `    dependsOn: [${one}]\n`, "", "peering-order", /race/),
  ),
  plant(
    main,
    "name: 'lf${unique}data'",
    "name: 'lf-${unique}data'",
    "resource-name",
    /storageAccounts cannot be called/,
  ),
  plant(
    main,
    "    prefix: '${prefix}-data'",
    "    prefix: '${prefix}-data-of-this-installation-and-more'",
    "resource-name",
    /privateEndpoints/,
  ),
  plant(
    main,
    "monitoring ? logs!.outputs.connectionString : ''",
    "logs!.outputs.connectionString",
    "deployment",
    /outputs/,
  ),
  // The way to Azure.
  plant("azure.yaml", "remoteBuild: false\n", "remoteBuild: true\n", "remote-build", /remoteBuild/),
  plant("azure.yaml", '">= 1.23.13"', '">= 1.23.5"', "azd-version", /at least 1\.23\.13/),
  plant(".funcignore", "\nnode_modules/*\n", "\nnode_modules\n", "remote-build", /node_modules\/\*/),
  plant(".funcignore", "\nnode_modules/*\n", "\nnode_modules\n", "package", /libduckdb\.so would be missing/),
  plant(".funcignore", "\n/package-lock.json\n", "\npackage\n", "package", /package\.json would be missing/),
  plant("azure.yaml", "  app:\n", "  backend:\n", "azd-service", /backend/),
  plant(".funcignore", "\n/test\n", "\n", "package", /test would be in the package/),
  plant(".funcignore", "\n/.azure\n", "\n", "package", /\.azure would be in the package/),
  plant(
    "infra/main.parameters.json",
    "${AZURE_ENV_NAME}",
    "dev",
    "azd-service",
    /azd finds what it deployed by the tag/,
  ),
  plant(".funcignore", "\n/calculations\n", "\n", "package", /calculations would be in the package/),
  plant(
    ".funcignore",
    "\n/calculations\n",
    "\ncalculations\n",
    "package",
    /dist\/calculations would be missing/,
  ),
  plant(".funcignore", "\n*.ts\n", "\n", "package", /any\.ts would be in the package/),
  plant(
    "docs/DEPLOY.md",
    "--no-save --force @duckdb/node-bindings-linux-x64@",
    "--no-save --force @duckdb/node-bindings-linux-x64@0.",
    "drift-version",
    /npm install --no-save --force @duckdb/,
  ),
  plant(".funcignore", "dist/starter", "dist/calculations", "package", /dist\/calculations would be missing/),
  plant(".funcignore", "dist/*.map", "dist/*", "package", /dist\/index\.cjs would be missing/),
  plant(workflow, "@3d3c42e5aac5ba805825da76410c181273ba90b1 # v7.0.1", "@v7", "workflow-pin", /checkout@v7/),
  plant(
    workflow,
    "client-id: ${{ vars.AZURE_CLIENT_ID }}",
    "creds: ${{ secrets.AZURE }}",
    "workflow-secret",
    /federation/,
  ),
  plant(workflow, "npm ci --ignore-scripts", "npm ci", "workflow-scripts", /no lockfile hashes/),
  plant(workflow, "permissions: {}\n", "", "workflow-permissions", /permissions/),
  plant(
    workflow,
    "client-id: ${{ vars.AZURE_PREVIEW_CLIENT_ID }}",
    "client-id: ${{ vars.AZURE_CLIENT_ID }}",
    "workflow-identity",
    /would hold the identity that deploys/,
  ),
  plant(
    workflow,
    "environment: preview",
    "environment: production",
    "workflow-identity",
    /run in production/,
  ),
  plant(
    workflow,
    "environment: production",
    "environment: staging",
    "workflow-identity",
    /environment production/,
  ),
  plant(workflow, '"$found" = "$GITHUB_SHA"', '"$found" = "$wanted"', "workflow-commit", /wait until/),
  plant(
    workflow,
    "        if: steps.there.outputs.commit != github.sha\n",
    "",
    "workflow-commit",
    /restarts the app/,
  ),
  plant(
    ".github/workflows/test.yml",
    "az bicep lint --file infra/main.bicep",
    "true",
    "workflow-bicep",
    /lint/,
  ),
  ...["      - name: What would change\n", "      - id: deploy\n"].map((step) =>
    plant(
      ".github/workflows/deploy.yml",
      `      - run: az bicep install --version v0.46.1 && echo "$HOME/.azure/bin" >> "$GITHUB_PATH"\n${step}`,
      step,
      "workflow-bicep",
      /fixed version/,
    ),
  ),
];
