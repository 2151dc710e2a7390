// One region: what azd deploys, under the name of its environment, and what an installation by hand begins with.

using 'main.bicep'

param environmentName = readEnvironmentVariable('AZURE_ENV_NAME', 'dev')
param regions = [
  { name: 'northeurope', short: 'ne' }
]
