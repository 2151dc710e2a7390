// Workers in containers on machines of their own, for calculations that need a secret and more than an instance has.

using 'main.bicep'

param environmentName = 'work'
param regions = [
  { name: 'westeurope', short: 'we' }
]
param workerImage = 'registry.example/leasefold:1'
param workerProfile = 'D4'
param workerCores = 4
param keyVaultReferences = {
  QUOTES_TOKEN: 'https://quotes.vault.azure.net/secrets/token'
}
param alwaysReady = [
  { name: 'function:wake', instanceCount: 2 }
]
